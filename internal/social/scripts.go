package social

import (
	_ "embed"

	"retwis/internal/script"
)

// Each script may be sent again when its answer was lost: repeating it does no
// harm. Its file says what KEYS, ARGV and the reply are.
var (
	//go:embed create.lua
	createSource string
	createScript = script.New(createSource).Retryable()

	//go:embed create_post.lua
	createPostSource string
	createPostScript = script.New(createPostSource).Retryable()

	//go:embed claim.lua
	claimSource string
	claimScript = script.New(claimSource).Retryable()

	//go:embed session_add.lua
	sessionAddSource string
	sessionAddScript = script.New(sessionAddSource).Retryable()

	//go:embed session_clear.lua
	sessionClearSource string
	sessionClearScript = script.New(sessionClearSource).Retryable()

	//go:embed password_replace.lua
	passwordReplaceSource string
	passwordReplaceScript = script.New(passwordReplaceSource).Retryable()

	//go:embed follow.lua
	followSource string

	//go:embed unfollow.lua
	unfollowSource string

	//go:embed push.lua
	pushSource string
	pushScript = script.New(pushSource).Retryable()

	//go:embed page.lua
	pageSource string
	pageScript = script.New(pageSource).Retryable()

	//go:embed people.lua
	peopleSource string
	peopleScript = script.New(peopleSource).Retryable()

	//go:embed set_aside.lua
	setAsideSource string
	setAsideScript = script.New(setAsideSource).Retryable()

	//go:embed repair_list.lua
	repairListSource string
	repairListScript = script.New(repairListSource).Retryable()

	//go:embed hdel_if.lua
	hdelSource string
	hdelScript = script.New(hdelSource).Retryable()

	//go:embed fill.lua
	fillSource string
	fillScript = script.New(fillSource).Retryable()

	//go:embed drop_user.lua
	dropUserSource string
	dropUserScript = script.New(dropUserSource).Retryable()

	//go:embed session_drop.lua
	sessionDropSource string
	sessionDropScript = script.New(sessionDropSource).Retryable()

	//go:embed mirror.lua
	mirrorSource string
	mirrorScript = script.New(mirrorSource).Retryable()

	//go:embed counter_up.lua
	counterUpSource string
	counterUpScript = script.New(counterUpSource).Retryable()
)
