package removal

import "retwis/internal/social/layout"

// ownKeys are the keys of a user that hold nothing that is also
// stored elsewhere: they are deleted as they are. Add a new key of that kind here.
//
// Those that come after ownKeys mirror other keys. They are emptied entry by entry, so
// that both sides go; what is left of them is deleted at the end.
var (
	ownKeys = []func(uid int64) string{
		layout.HomeKey, layout.BookmarksKey, layout.MutedKey, layout.DismissedKey, layout.NotificationsKey,
		layout.SessionsKey, layout.LoginsKey, layout.LoginPlacesKey, layout.ImportKey, layout.ImportEntriesKey,
		layout.ImportedKey,
	}
	mirroredKeys = []func(uid int64) string{
		layout.ProfileKey, layout.ProfileRepliesKey, layout.ArchiveKey, layout.RepostedKey, layout.LikedKey,
		layout.FollowingKey, layout.FollowersKey, layout.FollowingTagsKey,
		layout.BlockedKey, layout.BlockersKey,
	}
)

// secretFields are the fields of a user that are removed when the account is closed.
// The others go with the hash.
var secretFields = []string{
	"password", "auth", "role", "totp", "totp_new", "totp_step", "recovery", "code_tries", "passkeys", "reset",
}
