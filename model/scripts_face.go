package model

import (
	_ "embed"

	"retwis/internal/script"
)

var (
	//go:embed collection.lua
	collectionLua string
	//go:embed mark.lua
	markLua string
)

// The scripts that this package runs.
var (
	collectionScript = script.New(entriesLua, collectionLua)
	markScript       = script.New(markLua)
)
