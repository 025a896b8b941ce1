package directory

import (
	_ "embed"

	"retwis/internal/redis/script"
)

// Each script may be sent again when its reply was lost: repeating it changes nothing.
var (
	//go:embed reserve.lua
	reserveSource string
	reserveScript = script.New(reserveSource).Retryable()

	//go:embed close.lua
	closeSource string
	closeScript = script.New(closeSource).Retryable()

	//go:embed copy.lua
	copySource string
	copyScript = script.New(copySource).Retryable()

	//go:embed reopen.lua
	reopenSource string
	reopenScript = script.New(reopenSource).Retryable()

	//go:embed trim.lua
	trimSource string
	trimScript = script.New(trimSource).Retryable()
)
