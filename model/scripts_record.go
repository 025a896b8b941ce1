package model

import (
	_ "embed"

	"retwis/internal/script"
)

var (
	//go:embed register.lua
	registerLua string
	//go:embed write.lua
	writeLua string
	//go:embed delete.lua
	deleteLua string
	//go:embed sweep.lua
	sweepLua string
	//go:embed counter.lua
	counterLua string
)

// The scripts that this package runs.
var (
	registerScript = script.New(registerLua)
	writeScript    = script.New(entriesLua, writeLua)
	deleteScript   = script.New(entriesLua, deleteLua)
	sweepScript    = script.New(entriesLua, sweepLua)
	counterScript  = script.New(entriesLua, counterLua)
)
