package text

import (
	_ "embed"

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
)

type scripts struct {
	change, sealing, seal, segment script.Script
}

func newScripts() scripts {
	of := func(source string) script.Script { return partition.NewScript(postingsLua, source) }
	return scripts{
		change: of(changeLua).Retryable(), sealing: of(sealingLua).Retryable(), seal: of(sealLua).Retryable(),
		segment: script.New(segmentLua).Retryable(),
	}
}
