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
	//go:embed expired.lua
	expiredLua string
	//go:embed orphan.lua
	orphanLua string
	//go:embed counter.lua
	counterLua string
)

// The scripts of this package.
var (
	applyScript   = script.New(applyLua)
	raiseScript   = script.New(raiseLua)
	expiredScript = script.New(schema.EntriesLua, expiredLua)
	orphanScript  = script.New(schema.EntriesLua, orphanLua)
	counterScript = script.New(schema.EntriesLua, counterLua)
)
