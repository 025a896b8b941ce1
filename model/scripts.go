package model

import (
	"retwis/model/internal/schema"

	_ "embed"
	"retwis/internal/redis/script"
)

var (
	//go:embed collection.lua
	collectionLua string
)

// The scripts that this package runs.
var (
	collectionScript = script.New(schema.EntriesLua, collectionLua)
)
