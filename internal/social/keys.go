package social

import "strconv"

// Every key is built here, those of 2009 in layout2009.go. docs/keys.md says
// what each holds.
const (
	keyNextUserID    = "next_user_id"
	keyNextPostID    = "next_post_id"
	keyUsers         = "users"
	keyUsersByTime   = "users_by_time"
	keyAuths         = "auths"
	keyTimeline      = "timeline"
	keyFanOuts       = "fanouts"
	keyLayoutVersion = "layout_version"
	keyLayoutOwner   = "layout_owner"
	keyAdoptedPosts  = "layout_adopted_posts"

	prefixUser      = "user:"
	prefixPost      = "post:"
	prefixPosts     = "posts:"
	prefixProfile   = "profile:"
	prefixFollowers = "followers:"
	prefixFollowing = "following:"
)

// userKey is the hash of one user: username, password, auth, joined.
func userKey(uid int64) string { return key(prefixUser, uid) }

// postKey is the hash of one post: user_id, time, body.
func postKey(pid int64) string { return key(prefixPost, pid) }

// homeKey is the list of the post ids on a user's home timeline, newest first.
func homeKey(uid int64) string { return key(prefixPosts, uid) }

// profileKey is the sorted set of the ids of a user's own posts, scored by
// themselves.
func profileKey(uid int64) string { return key(prefixProfile, uid) }

// followersKey is the sorted set of those who follow a user, by time.
func followersKey(uid int64) string { return key(prefixFollowers, uid) }

// followingKey is the sorted set of those whom a user follows, by time.
func followingKey(uid int64) string { return key(prefixFollowing, uid) }

func key(prefix string, id int64) string {
	b := make([]byte, 0, len(prefix)+20)
	return string(strconv.AppendInt(append(b, prefix...), id, 10))
}

func itoa(id int64) string { return strconv.FormatInt(id, 10) }
