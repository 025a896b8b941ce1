package social

import (
	_ "embed"

	"github.com/redis/rueidis"
)

// Each script may be sent again when its answer was lost: repeating it does no
// harm. Its file says what KEYS, ARGV and the reply are.
var (
	//go:embed create.lua
	createSource string
	createScript = rueidis.NewLuaScriptRetryable(createSource)

	//go:embed create_post.lua
	createPostSource string
	createPostScript = rueidis.NewLuaScriptRetryable(createPostSource)

	//go:embed claim.lua
	claimSource string
	claimScript = rueidis.NewLuaScriptRetryable(claimSource)

	//go:embed session_add.lua
	sessionAddSource string
	sessionAddScript = rueidis.NewLuaScriptRetryable(sessionAddSource)

	//go:embed session_clear.lua
	sessionClearSource string
	sessionClearScript = rueidis.NewLuaScriptRetryable(sessionClearSource)

	//go:embed password_replace.lua
	passwordReplaceSource string
	passwordReplaceScript = rueidis.NewLuaScriptRetryable(passwordReplaceSource)

	//go:embed follow.lua
	followSource string

	//go:embed unfollow.lua
	unfollowSource string

	//go:embed push.lua
	pushSource string
	pushScript = rueidis.NewLuaScriptRetryable(pushSource)

	//go:embed page.lua
	pageSource string
	pageScript = rueidis.NewLuaScriptRetryable(pageSource)

	//go:embed people.lua
	peopleSource string
	peopleScript = rueidis.NewLuaScriptRetryable(peopleSource)

	//go:embed set_aside.lua
	setAsideSource string
	setAsideScript = rueidis.NewLuaScriptRetryable(setAsideSource)

	//go:embed repair_list.lua
	repairListSource string
	repairListScript = rueidis.NewLuaScriptRetryable(repairListSource)

	//go:embed hdel_if.lua
	hdelSource string
	hdelScript = rueidis.NewLuaScriptRetryable(hdelSource)

	//go:embed fill.lua
	fillSource string
	fillScript = rueidis.NewLuaScriptRetryable(fillSource)

	//go:embed drop_user.lua
	dropUserSource string
	dropUserScript = rueidis.NewLuaScriptRetryable(dropUserSource)

	//go:embed session_drop.lua
	sessionDropSource string
	sessionDropScript = rueidis.NewLuaScriptRetryable(sessionDropSource)

	//go:embed mirror.lua
	mirrorSource string
	mirrorScript = rueidis.NewLuaScriptRetryable(mirrorSource)

	//go:embed counter_up.lua
	counterUpSource string
	counterUpScript = rueidis.NewLuaScriptRetryable(counterUpSource)
)
