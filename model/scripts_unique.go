package model

import (
	_ "embed"

	"retwis/internal/script"
)

var (
	//go:embed claim.lua
	claimLua string
	//go:embed swap.lua
	swapLua string
	//go:embed void.lua
	voidLua string
)

// The scripts that this package runs.
var (
	claimScript = script.New(entriesLua, claimLua)
	swapScript  = script.New(swapLua)
	voidScript  = script.New(entriesLua, voidLua)
)
