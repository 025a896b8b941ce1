package model

import (
	_ "embed"

	"github.com/redis/rueidis"
)

var (
	//go:embed entries.lua
	entriesLua string
	//go:embed register.lua
	registerLua string
	//go:embed write.lua
	writeLua string
	//go:embed delete.lua
	deleteLua string
)

// scripts are the scripts of a model. Each is sent by its digest, and in full to
// a server that does not know it.
type scripts struct {
	register, write, delete *rueidis.Lua
}

func newScripts() scripts {
	return scripts{
		register: rueidis.NewLuaScript(registerLua),
		write:    rueidis.NewLuaScript(entriesLua + writeLua),
		delete:   rueidis.NewLuaScript(entriesLua + deleteLua),
	}
}
