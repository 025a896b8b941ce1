package record

import (
	_ "embed"

	"retwis/internal/redis/script"
	"retwis/model/internal/schema"
)

var (
	//go:embed refer.lua
	referLua string
	//go:embed direct.lua
	directLua string
	//go:embed digest.lua
	digestLua string
	//go:embed revise.lua
	reviseLua string
	//go:embed write.lua
	writeLua string
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
	writeScript   = script.New(schema.EnterLua, directLua, schema.PlacesLua, digestLua, referLua, writeLua)
	reviseScript  = script.New(schema.EnterLua, digestLua, reviseLua)
	raiseScript   = script.New(raiseLua)
	deleteScript  = script.New(schema.EntriesLua, deleteLua)
	sweepScript   = script.New(schema.EntriesLua, sweepLua)
	counterScript = script.New(schema.EntriesLua, counterLua)
	touchScript   = script.New(schema.EntriesLua, touchLua)
)
