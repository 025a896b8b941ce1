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
)
