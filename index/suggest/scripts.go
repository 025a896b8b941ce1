package suggest

import (
	_ "embed"
	"sync"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

var (
	//go:embed value.lua
	valueLua string
	//go:embed topk.lua
	topkLua string
	//go:embed add.lua
	addLua string
	//go:embed remove.lua
	removeLua string
	//go:embed adopt.lua
	adoptLua string
	//go:embed complete.lua
	completeLua string
	//go:embed list.lua
	listLua string
	//go:embed children.lua
	childrenLua string
	//go:embed rebuild_list.lua
	rebuildListLua string
	//go:embed verify.lua
	verifyLua string
	//go:embed finish.lua
	finishLua string
)

type scripts struct {
	add, remove, adopt, complete, list, children, rebuildList, verify, finish script.Script
}

// standardScripts are the scripts of every index, except in tests.
var standardScripts = sync.OnceValue(func() scripts { return newScripts(valueLua + topkLua) })

func newScripts(shared string) scripts {
	build := func(source string) script.Script { return partition.NewScript(shared, source) }
	return scripts{
		add: build(addLua), remove: build(removeLua), adopt: build(adoptLua), complete: build(completeLua), list: build(listLua),
		children: build(childrenLua), rebuildList: build(rebuildListLua), verify: build(verifyLua), finish: engine.NewFinish(shared, finishLua),
	}
}
