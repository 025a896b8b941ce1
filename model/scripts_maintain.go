package model

import (
	_ "embed"

	"retwis/internal/script"
)

var (
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

// The scripts that this package runs.
var (
	alignScript        = script.New(entriesLua, alignLua)
	goneScript         = script.New(entriesLua, goneLua)
	strayScript        = script.New(entriesLua, strayLua)
	orderScript        = script.New(orderLua)
	migrateBeginScript = script.New(migrateBeginLua)
	migrateEndScript   = script.New(migrateEndLua)
)
