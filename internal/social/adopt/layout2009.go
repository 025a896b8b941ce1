package adopt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"retwis/internal/social/layout"
)

// The keys of the case study of 2009, "a simple Twitter clone using only the
// Redis key-value store as database and PHP". Its program stored each field of a
// user under a separate key and a post in one string:
//
//	global:nextUserId, global:nextPostId    counters
//	uid:<uid>:username, :password, :auth    strings
//	username:<name>:uid                     string; in a part of its code :id
//	auth:<secret>                           string: the user id
//	uid:<uid>:followers, :following         sets of user ids
//	uid:<uid>:posts                         list of post ids, newest first
//	post:<pid>                              string: <uid>|<time>|<message>
//	global:timeline                         list of post ids, newest first
const (
	key2009NextUserID = "global:nextUserId"
	key2009NextPostID = "global:nextPostId"
	key2009Timeline   = "global:timeline"

	prefix2009UID  = "uid:"
	prefix2009Name = "username:"
	prefix2009Auth = "auth:"
)

// Values of layout.LegacyState, the progress of the conversion of such a
// database. It is written before the first converted key and removed with the
// last old one.
const (
	stateConverting = "converting"
	stateConverted  = "converted"
)

// prefixLegacyPost is the prefix of the copies of the strings of posts, whose keys
// are hashes now.
const prefixLegacyPost = "legacy:post:"

// key2009 is the key of one field of a user.
func key2009(uid int64, field string) string { return layout.Key(prefix2009UID, uid) + ":" + field }

// parse2009 splits the key of a field of a user.
func parse2009(name string) (uid int64, field string, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix2009UID)
	if !ok {
		return 0, "", false
	}
	id, field, ok := strings.Cut(rest, ":")
	if !ok {
		return 0, "", false
	}
	switch field {
	case "username", "password", "auth", "followers", "following", "posts":
	default:
		return 0, "", false
	}
	uid, ok = layout.ParseID(id)
	return uid, field, ok
}

// max2009Post bounds, in bytes, a post that is converted.
const max2009Post = 256 << 10

// post2009 is a post of 2009.
type post2009 struct {
	author int64
	time   int64
	body   string
}

// parse2009Post reads "<uid>|<time>|<message>". The message may contain bars.
func parse2009Post(value string) (post2009, error) {
	if len(value) > max2009Post {
		return post2009{}, fmt.Errorf("longer than %d bytes", max2009Post)
	}
	author, rest, ok := strings.Cut(value, "|")
	when, body, ok2 := strings.Cut(rest, "|")
	if !ok || !ok2 {
		return post2009{}, errors.New("not of the form user|time|message")
	}
	var post post2009
	if post.author, ok = layout.ParseID(author); !ok {
		return post2009{}, fmt.Errorf("%.40q is not a user id", author)
	}
	sec, err := strconv.ParseInt(when, 10, 64)
	if err != nil || sec <= 0 || sec > layout.MaxSeconds {
		return post2009{}, fmt.Errorf("%.40q is not a time in unix seconds", when)
	}
	post.time, post.body = sec, body
	return post, nil
}

// registered2009 is the score of a user of 2009 in the users by time. The time of
// registration is not known, so these users are in the order of their ids, before
// all others.
func registered2009(uid int64) float64 { return float64(uid - layout.MaxID) }
