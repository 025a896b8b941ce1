package query

import (
	_ "embed"

	"retwis/internal/ordered"
	"retwis/internal/redis/script"
)

var (
	//go:embed at_once.lua
	atOnceLua string
	//go:embed select.lua
	selectLua string
	//go:embed intersect.lua
	intersectLua string
	//go:embed count.lua
	countLua string
)

// The scripts of this package.
var (
	selectScript    = script.New(ordered.LuaLess, atOnceLua, selectLua)
	intersectScript = script.New(atOnceLua, intersectLua)
	countScript     = script.New(countLua)
)
