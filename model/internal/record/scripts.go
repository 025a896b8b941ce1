package record

import (
	_ "embed"

	"retwis/internal/redis/script"
	"retwis/model/internal/schema"
)

var (
	//go:embed apply.lua
	applyLua string
	//go:embed raise.lua
	raiseLua string
	//go:embed delete.lua
	deleteLua string
	//go:embed sweep.lua
	sweepLua string
	//go:embed counter.lua
	counterLua string
	//go:embed touch.lua
	touchLua string
)

// The scripts that this package runs.
var (
	applyScript   = script.New(applyLua)
	raiseScript   = script.New(raiseLua)
	deleteScript  = script.New(schema.EntriesLua, deleteLua)
	sweepScript   = script.New(schema.EntriesLua, sweepLua)
	counterScript = script.New(schema.EntriesLua, counterLua)
	touchScript   = script.New(schema.EntriesLua, touchLua)
)
