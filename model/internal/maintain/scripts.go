package maintain

import (
	"retwis/model/internal/schema"

	_ "embed"
	"retwis/internal/redis/script"
)

var (
	//go:embed align.lua
	alignLua string
	//go:embed gone.lua
	goneLua string
	//go:embed orphan.lua
	orphanLua string
	//go:embed migrate_drop.lua
	migrateDropLua string
	//go:embed order.lua
	orderLua string
	//go:embed migrate_begin.lua
	migrateBeginLua string
	//go:embed migrate_end.lua
	migrateEndLua string
)

// The scripts that this package runs.
var (
	alignScript        = script.New(schema.EntriesLua, alignLua)
	goneScript         = script.New(schema.EntriesLua, goneLua)
	orphanScript       = script.New(schema.EntriesLua, orphanLua)
	migrateDropScript  = script.New(migrateDropLua)
	orderScript        = script.New(orderLua)
	migrateBeginScript = script.New(migrateBeginLua)
	migrateEndScript   = script.New(migrateEndLua)
)
