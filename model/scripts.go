package model

import (
	_ "embed"

	"retwis/internal/redis/script"
)

//go:embed collection.lua
var collectionLua string

var collectionScript = script.New(collectionLua)
