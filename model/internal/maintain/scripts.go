package maintain

import (
	"retwis/model/internal/schema"

	_ "embed"
	"retwis/internal/redis/script"
)

var (
	//go:embed look.lua
	lookLua string
	//go:embed migrate_drop.lua
	migrateDropLua string
	//go:embed order.lua
	orderLua string
	//go:embed migrate_begin.lua
	migrateBeginLua string
	//go:embed migrate_end.lua
	migrateEndLua string
)

// The scripts of this package.
var (
	lookScript         = script.New(schema.EntriesLua, lookLua)
	migrateDropScript  = script.New(migrateDropLua)
	orderScript        = script.New(orderLua)
	migrateBeginScript = script.New(migrateBeginLua)
	migrateEndScript   = script.New(migrateEndLua)
)
