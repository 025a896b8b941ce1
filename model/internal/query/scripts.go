package query

import (
	"retwis/model/internal/schema"

	_ "embed"
	"retwis/internal/ordered"
	"retwis/internal/script"
)

var (
	//go:embed select.lua
	selectLua string
	//go:embed count.lua
	countLua string
)

// The scripts that this package runs.
var (
	selectScript = script.New(ordered.LuaLess, selectLua)
	countScript  = script.New(schema.EntriesLua, countLua)
)
