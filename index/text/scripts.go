package text

import (
	_ "embed"
	"sync"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

var (
	//go:embed postings.lua
	postingsLua string
	//go:embed change.lua
	changeLua string
	//go:embed sealing.lua
	sealingLua string
	//go:embed seal.lua
	sealLua string
	//go:embed segment.lua
	segmentLua string
	//go:embed next.lua
	nextLua string
	//go:embed raise.lua
	raiseLua string
	//go:embed marks.lua
	marksLua string
	//go:embed finish.lua
	finishLua string
)

type scripts struct {
	change, sealing, seal, segment script.Script
	next, raise, marks, finish     script.Script // for a rebuild
}

var allScripts = sync.OnceValue(func() scripts {
	build := func(source string) script.Script { return partition.NewScript(postingsLua, source) }
	return scripts{
		change: build(changeLua).Retryable(), sealing: build(sealingLua).Retryable(), seal: build(sealLua).Retryable(),
		segment: script.New(segmentLua).Retryable(),
		next:    partition.NewScript(nextLua), raise: partition.NewScript(raiseLua), marks: partition.NewScript(marksLua), finish: partition.NewScript(finishLua),
	}
})
