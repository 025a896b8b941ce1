package model

import (
	_ "embed"

	"retwis/internal/ordered"
	"retwis/internal/script"
)

var (
	//go:embed entries.lua
	entriesLua string
	//go:embed register.lua
	registerLua string
	//go:embed write.lua
	writeLua string
	//go:embed delete.lua
	deleteLua string
	//go:embed sweep.lua
	sweepLua string
	//go:embed counter.lua
	counterLua string
	//go:embed collection.lua
	collectionLua string
	//go:embed mark.lua
	markLua string
	//go:embed select.lua
	selectLua string
	//go:embed count.lua
	countLua string
	//go:embed claim.lua
	claimLua string
	//go:embed swap.lua
	swapLua string
	//go:embed void.lua
	voidLua string
	//go:embed align.lua
	alignLua string
	//go:embed gone.lua
	goneLua string
	//go:embed stray.lua
	strayLua string
	//go:embed order.lua
	orderLua string
	//go:embed migrate_begin.lua
	migrateBeginLua string
	//go:embed migrate_end.lua
	migrateEndLua string
)

// scripts are the scripts of a model. Each is sent by its digest, and in full to
// a server that does not know it.
type scripts struct {
	register, write, delete, sweep script.Script
	counter, collection, mark      script.Script
	choose, count                  script.Script
	claim, swap, void              script.Script // of unique values in other partitions
	align, gone, stray             script.Script // of upkeep
	migrateBegin, migrateEnd       script.Script
	order                          script.Script
}

func newScripts() scripts {
	return scripts{
		register:     script.New(registerLua),
		write:        script.New(entriesLua, writeLua),
		delete:       script.New(entriesLua, deleteLua),
		sweep:        script.New(entriesLua, sweepLua),
		counter:      script.New(entriesLua, counterLua),
		collection:   script.New(entriesLua, collectionLua),
		mark:         script.New(markLua),
		choose:       script.New(ordered.LuaLess, selectLua),
		count:        script.New(entriesLua, countLua),
		claim:        script.New(entriesLua, claimLua),
		swap:         script.New(swapLua),
		void:         script.New(entriesLua, voidLua),
		align:        script.New(entriesLua, alignLua),
		gone:         script.New(entriesLua, goneLua),
		stray:        script.New(entriesLua, strayLua),
		order:        script.New(orderLua),
		migrateBegin: script.New(migrateBeginLua),
		migrateEnd:   script.New(migrateEndLua),
	}
}
