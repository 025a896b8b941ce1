package removal

import "retwis/internal/social/layout"

// ownKeys are the keys that end in the id of a user and hold nothing that is also
// stored elsewhere: they are deleted as they are. Add a new key of that kind here.
//
// Those that come after ownKeys mirror other keys. They are emptied entry by entry, so
// that both sides go; what is left of them is deleted at the end.
var (
	ownKeys = []string{
		layout.HomePrefix, layout.BookmarksPrefix, layout.MutedPrefix, layout.NotificationsPrefix,
	}
	mirroredKeys = []string{
		layout.ProfilePrefix, layout.ProfileRepliesPrefix, layout.RepostedPrefix, layout.LikedPrefix,
		layout.FollowingPrefix, layout.FollowersPrefix, layout.FollowingTagsPrefix,
		layout.BlockedPrefix, layout.BlockersPrefix,
	}
)

// secretFields are the fields of a user that are removed when the account is closed.
// The others go with the hash.
var secretFields = []string{"password", "auth", "role"}
