package removal

import "retwis/internal/social/storage"

// ownKeys are the keys of a user that hold nothing that is also
// stored elsewhere: they are deleted as they are. Add a new key of that kind here.
//
// Those that come after ownKeys mirror other keys. They are emptied entry by entry, so
// that both sides go; what is left of them is deleted at the end.
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

// secretFields are the fields of a user that are removed when the account is closed.
// The others go with the hash.
var secretFields = []string{
	"password", "auth", "role", "totp", "totp_new", "totp_step", "recovery", "code_tries", "passkeys", "reset",
}
