package unique

import (
	"retwis/model/internal/schema"

	_ "embed"
	"retwis/internal/redis/script"
)

var (
	//go:embed claim.lua
	claimLua string
	//go:embed swap.lua
	swapLua string
	//go:embed void.lua
	voidLua string
)

// The scripts of this package.
var (
	claimScript = script.New(schema.EntriesLua, claimLua)
	swapScript  = script.New(swapLua)
	voidScript  = script.New(schema.EntriesLua, voidLua)
)
