package check

import (
	_ "embed"

	"retwis/internal/script"
)

// Each script may be sent again when its reply was lost: repeating it changes
// nothing. Its file documents KEYS, ARGV and the reply.
var (
	//go:embed set_aside.lua
	setAsideSource string
	setAsideScript = script.New(setAsideSource).Retryable()

	//go:embed drop_user.lua
	dropUserSource string
	dropUserScript = script.New(dropUserSource).Retryable()

	//go:embed session_drop.lua
	sessionDropSource string
	sessionDropScript = script.New(sessionDropSource).Retryable()

	//go:embed counter_up.lua
	counterUpSource string
	counterUpScript = script.New(counterUpSource).Retryable()
)
