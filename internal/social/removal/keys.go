package removal

import "retwis/internal/social/storage"

// ownKeys are the keys of a user whose contents are not stored elsewhere too: they are simply
// deleted. Add new keys of that kind here.
//
// The other tables mirror other keys. They are emptied entry by entry, so that both sides are
// removed; what is left of them is deleted at the end.
var (
	ownKeys = []func(uid int64) string{
		storage.HomeKey, storage.BookmarksKey, storage.MutedKey, storage.DismissedKey, storage.NotificationsKey,
		storage.SessionsKey, storage.LoginsKey, storage.LoginPlacesKey, storage.ImportKey, storage.ImportEntriesKey,
		storage.ImportedKey,
	}
	mirroredKeys = []func(uid int64) string{
		storage.ProfileKey, storage.ProfileRepliesKey, storage.ArchiveKey, storage.RepostedKey, storage.LikedKey,
		storage.FollowingKey, storage.FollowersKey, storage.FollowingTagsKey,
		storage.BlockedKey, storage.BlockersKey,
	}
)

// secretFields are the fields of a user that are removed when the account is closed. The others are
// deleted with the hash.
var secretFields = []string{
	"password", "auth", "role", "totp", "totp_new", "totp_step", "recovery", "code_tries", "passkeys", "reset",
}
