package removal

import "retwis/internal/social/storage"

var (
	// ownKeys are the keys of a user whose contents are stored nowhere else. They are deleted. Add
	// new keys of that kind here.
	ownKeys = []func(uid int64) string{
		storage.HomeKey, storage.BookmarksKey, storage.MutedKey, storage.DismissedKey, storage.NotificationsKey,
		storage.SessionsKey, storage.LoginsKey, storage.LoginPlacesKey, storage.ImportKey, storage.ImportEntriesKey,
		storage.ImportedKey,
	}
	// mirroredKeys are the keys of a user whose contents are mirrored in other keys. They are
	// emptied entry by entry, together with their mirrors, and deleted at the end.
	mirroredKeys = []func(uid int64) string{
		storage.ProfileKey, storage.ProfileRepliesKey, storage.ArchiveKey, storage.RepostedKey, storage.LikedKey,
		storage.FollowingKey, storage.FollowersKey, storage.FollowingTagsKey,
		storage.BlockedKey, storage.BlockersKey,
	}
)

// secretFields are the fields of a user that are removed when the account is closed. The other
// fields are deleted with the hash.
var secretFields = []string{
	"password", "auth", "role", "totp", "totp_new", "totp_step", "recovery", "code_tries", "passkeys", "reset",
}
