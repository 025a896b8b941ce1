// Package layout2009 reads the keys of the case study of 2009, "a simple Twitter clone
// using only the Redis key-value store as database and PHP". Its program stored each field
// of a user under a separate key and a post in one string:
//
//	global:nextUserId, global:nextPostId    counters
//	uid:<uid>:username, :password, :auth    strings
//	username:<name>:uid                     string; a part of the code uses :id instead
//	auth:<secret>                           string: the user id
//	uid:<uid>:followers, :following         sets of user ids
//	uid:<uid>:posts                         list of post ids, newest first
//	post:<pid>                              string: <uid>|<time>|<message>
//	global:timeline                         list of post ids, newest first
package layout2009

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/internal/social/storage"
)

// Keys without an ID.
const (
	NextUserID = "global:nextUserId"
	NextPostID = "global:nextPostId"
	Timeline   = "global:timeline"
)

// UserPrefix is the prefix of the keys of users.
const UserPrefix = "uid:"

// UserKey returns the key of one field of a user.
func UserKey(uid int64, field string) string { return storage.Key(UserPrefix, uid) + ":" + field }

// NameKeys returns the keys that map a username to an ID: a part of the program wrote the first
// key, another part read the second.
func NameKeys(name string) [2]string {
	return [2]string{"username:" + name + ":uid", "username:" + name + ":id"}
}

// ParseUserKey splits the key of a field of a user.
func ParseUserKey(key string) (uid int64, field string, ok bool) {
	rest, ok := strings.CutPrefix(key, UserPrefix)
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
	uid, ok = storage.ParseID(id)
	return uid, field, ok
}

// MaxPost is the length of the longest post that is read, in bytes.
const MaxPost = 256 << 10

// Post is a post of 2009.
type Post struct {
	Author int64
	Time   time.Time
	Body   string
}

// ParsePost parses "<uid>|<time>|<message>". The message may contain bars.
func ParsePost(value string) (Post, error) {
	if len(value) > MaxPost {
		return Post{}, fmt.Errorf("longer than %d bytes", MaxPost)
	}
	author, rest, ok := strings.Cut(value, "|")
	when, body, ok2 := strings.Cut(rest, "|")
	if !ok || !ok2 {
		return Post{}, errors.New("not of the form user|time|message")
	}
	uid, ok := storage.ParseID(author)
	if !ok {
		return Post{}, fmt.Errorf("%.40q is not a user id", author)
	}
	sec, err := strconv.ParseInt(when, 10, 64)
	if err != nil || sec <= 0 || sec > storage.MaxSeconds {
		return Post{}, fmt.Errorf("%.40q is not a time in unix seconds", when)
	}
	return Post{Author: uid, Time: time.Unix(sec, 0), Body: body}, nil
}

// Exists reports whether a database has a counter or the timeline of this layout. One round trip.
func Exists(ctx context.Context, client rueidis.Client) (bool, error) {
	var cmds rueidis.Commands
	for _, key := range []string{NextUserID, NextPostID, Timeline} {
		cmds = append(cmds, client.B().Exists().Key(key).Build())
	}
	for _, res := range client.DoMulti(ctx, cmds...) {
		if exists, err := res.AsBool(); err != nil || exists {
			return exists, err
		}
	}
	return false, nil
}

// HasUsers reports whether a database has users of this layout. It scans the keys until it finds a
// user.
func HasUsers(ctx context.Context, client rueidis.Client, count int) (bool, error) {
	for page, err := range scan.Keys(ctx, client, scan.Pattern{Match: UserPrefix + "*:username", Count: count}) {
		if err != nil {
			return false, err
		}
		for _, key := range page.Keys {
			if _, _, ok := ParseUserKey(key); ok {
				return true, nil
			}
		}
	}
	return false, nil
}
