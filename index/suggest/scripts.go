package suggest

import (
	_ "embed"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/internal/script"
)

var (
	//go:embed heads.lua
	headsLua string
	//go:embed add.lua
	addLua string
	//go:embed remove.lua
	removeLua string
	//go:embed adopt.lua
	adoptLua string
	//go:embed block.lua
	blockLua string
	//go:embed complete.lua
	completeLua string
	//go:embed children.lua
	childrenLua string
	//go:embed mend.lua
	mendLua string
	//go:embed verify.lua
	verifyLua string
	//go:embed finish.lua
	finishLua string
)

// scripts are those of an index.
type scripts struct {
	add, remove, block, adopt, complete, children, mend, verify, finish script.Script
}

func newScripts(heads string) scripts {
	of := func(source string) script.Script { return partition.NewScript(heads, source) }
	return scripts{
		add: of(addLua), remove: of(removeLua), block: of(blockLua), adopt: of(adoptLua), complete: of(completeLua), children: of(childrenLua),
		mend: of(mendLua), verify: of(verifyLua), finish: engine.NewFinish(heads, finishLua),
	}
}
