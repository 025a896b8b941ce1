package model

import (
	_ "embed"

	"github.com/redis/rueidis"

	"retwis/index"
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
	register, write, delete, sweep *rueidis.Lua
	counter, collection, mark      *rueidis.Lua
	choose, count                  *rueidis.Lua
	claim, swap, void              *rueidis.Lua // of unique values in other partitions
	align, gone, stray             *rueidis.Lua // of upkeep
	migrateBegin, migrateEnd       *rueidis.Lua
	order                          *rueidis.Lua
}

func newScripts() scripts {
	return scripts{
		register:     rueidis.NewLuaScript(registerLua),
		write:        rueidis.NewLuaScript(entriesLua + writeLua),
		delete:       rueidis.NewLuaScript(entriesLua + deleteLua),
		sweep:        rueidis.NewLuaScript(entriesLua + sweepLua),
		counter:      rueidis.NewLuaScript(entriesLua + counterLua),
		collection:   rueidis.NewLuaScript(entriesLua + collectionLua),
		mark:         rueidis.NewLuaScript(markLua),
		choose:       rueidis.NewLuaScript(index.LuaLess() + selectLua),
		count:        rueidis.NewLuaScript(entriesLua + countLua),
		claim:        rueidis.NewLuaScript(entriesLua + claimLua),
		swap:         rueidis.NewLuaScript(swapLua),
		void:         rueidis.NewLuaScript(entriesLua + voidLua),
		align:        rueidis.NewLuaScript(entriesLua + alignLua),
		gone:         rueidis.NewLuaScript(entriesLua + goneLua),
		stray:        rueidis.NewLuaScript(entriesLua + strayLua),
		order:        rueidis.NewLuaScript(orderLua),
		migrateBegin: rueidis.NewLuaScript(migrateBeginLua),
		migrateEnd:   rueidis.NewLuaScript(migrateEndLua),
	}
}
