package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
)

// Version is the value of the key LayoutVersion on a single server. On a Cluster it is
// ClusterVersion, because usernames are stored in other keys; see Directory. The original programs
// wrote no such key.
const (
	Version        = "1"
	ClusterVersion = "1 cluster"
)

// Buckets is the number of hashes over which usernames are spread on a Cluster.
const Buckets = 4096

// Keys without an ID.
const (
	NextUserID     = "next_user_id"
	NextPostID     = "next_post_id"
	UserNames      = "users"
	UsersByTime    = "users_by_time"
	Timeline       = "timeline"
	LayoutVersion  = "layout_version"
	LayoutOwner    = "layout_owner"
	Restoring      = "restoring"
	AdoptedPosts   = "layout_adopted_posts"
	Tasks          = "tasks"
	Live           = "live"
	SearchIndex    = "search_index"
	Completions    = "completions"
	Audit          = "audit"
	Staff          = "staff"
	Standings      = "standings"
	StandingEnds   = "standing_ends"
	Site           = "site"
	Invites        = "invites"
	Blocklist      = "blocklist"
	SignUps        = "signups"
	SignUpTimes    = "signup_times"
	CelebritiesKey = "celebrities"
	Trends         = "trends"
	TrendTags      = "trend_tags"
	LikedPosts     = "liked_posts"
	Active         = "active"
	ImportedPosts  = "imported_posts"
)

// SignUpField is the field of the hash `site` that determines who can sign up.
const SignUpField = "signup"

// PlainSessions is a hash of the original program that maps session secrets, in clear text, to
// users. Retwis deletes it.
const PlainSessions = "auths"

// Closed is the value of the field `standing` of a user whose account is being deleted.
const Closed = "closed"

// Nobody is the ID in `users` of a name that belonged to a deleted account.
const Nobody = "0"

// Keys of background work, besides Tasks. They have the hash tag {tasks}, which puts them in the
// slot of Tasks on a Cluster.
const (
	Tries      = "{tasks}:tries"     // the number of starts of each task
	DeadTasks  = "{tasks}:dead"      // abandoned tasks
	Processes  = "{tasks}:processes" // processes that serve the site
	Periodic   = "{tasks}:periodic"  // periodic work, scored by its due time
	FenceKey   = "{tasks}:fence"     // written and deleted immediately; see work/fence.go
	WakePrefix = "{tasks}:wake:"     // followed by a class
)

// WakeKey is the list that wakes a process waiting for tasks of a class.
func WakeKey(class int) string { return Key(WakePrefix, int64(class)) }

// wakeKeys is the number of task classes.
const wakeKeys = 3

// Keys of reports. They have the hash tag {reports}, which puts them in one slot on a Cluster.
const (
	Reports      = "{reports}"       // ring: the targets waiting for a moderator
	StaffReports = "{reports}:staff" // ring: the targets that are about people with a role
	OpenReports  = "{reports}:open"  // sorted set: all targets, by first report
)

// ReportKey is the hash of the reports about a target, which is the key of a user or a post.
func ReportKey(target string) string { return "{reports}:" + target }

// Prefixes of keys that end in the ID of a user or a post.
const (
	UserPrefix      = "user:"
	BucketPrefix    = "users:"
	PostPrefix      = "post:"
	HomePrefix      = "posts:"
	ProfilePrefix   = "profile:"
	FollowersPrefix = "followers:"
	FollowingPrefix = "following:"

	ProfileRepliesPrefix = "profile_replies:"
	ArchivePrefix        = "archive:"
	ImportedPrefix       = "imported:"
	ArchiveLockPrefix    = "archive_lock:"
	ThreadPrefix         = "thread:"
	LikedPrefix          = "liked:"
	RepostedPrefix       = "reposted:"
	BookmarksPrefix      = "bookmarks:"
	MutedPrefix          = "muted:"
	BlockedPrefix        = "blocked:"
	BlockersPrefix       = "blockers:"
	DismissedPrefix      = "dismissed:"
	NotificationsPrefix  = "notifications:"
	FollowingTagsPrefix  = "following_tags:"
	LoginPlacesPrefix    = "login_places:"
	DecisionsPrefix      = "decisions:"
)

// Prefixes of keys that end in the key of a post in braces, which puts them in the slot of the post
// on a Cluster, so that one script can change both.
const (
	LikersPrefix    = "likers:"
	RepostersPrefix = "reposters:"
	RepliesPrefix   = "replies:"
	StubsPrefix     = "stubs:"
	EditsPrefix     = "edits:"
)

// Prefixes of keys that end in the key of a user in braces, which puts them in the slot of the user
// on a Cluster, so that one script can change both.
const (
	SessionsPrefix = "sessions:"
	LoginsPrefix   = "logins:"

	ImportPrefix        = "import:"
	ImportEntriesPrefix = "import_entries:"
)

// PasskeyPrefix is the prefix of the keys of passkey ceremonies in progress.
const PasskeyPrefix = "passkey:"

// PasskeyKey is the string with the challenge that was sent to a browser, to log in with a passkey
// or to create one, under the hash of a secret.
func PasskeyKey(hash string) string { return PasskeyPrefix + hash }

// RepeatedPrefix is the prefix of the keys with the post that was recently assigned to a text. On a
// Cluster these keys are in the slot of NextPostID.
const RepeatedPrefix = "{" + NextPostID + "}:repeated:"

// Prefixes of trend keys; see TrendKey, TrendHourKey and TrendLinkKey.
const (
	TrendLinkPrefix = "trend_link:"
	TrendPrefix     = "trend:"
	TrendHourPrefix = "trend_hour:"
)

// Prefixes of keys that end in a tag.
const (
	TagPrefix          = "tag:"
	TagFollowersPrefix = "tag_followers:"
)

// UserKey is the hash of one user: username, password, auth, joined.
func UserKey(uid int64) string { return Key(UserPrefix, uid) }

// BucketKey is the hash that maps the usernames in a bucket to user IDs. On a Cluster the buckets
// replace UserNames. See Bucket.
func BucketKey(bucket int) string { return Key(BucketPrefix, int64(bucket)) }

// PostKey is the hash of one post: user_id, time, body; for a reply, parent and root; for a repost,
// repost_of; edited, deleted; likes, reposts, replies.
func PostKey(pid int64) string { return Key(PostPrefix, pid) }

// HomeKey is the list of post IDs on a user's home timeline, newest first.
func HomeKey(uid int64) string { return Key(HomePrefix, uid) }

// ProfileKey is the sorted set of the IDs of a user's own posts and reposts, without replies,
// scored by ID.
func ProfileKey(uid int64) string { return Key(ProfilePrefix, uid) }

// FollowersKey is the sorted set of a user's followers, by time.
func FollowersKey(uid int64) string { return Key(FollowersPrefix, uid) }

// FollowingKey is the sorted set of the users that a user follows, by time.
func FollowingKey(uid int64) string { return Key(FollowingPrefix, uid) }

// ProfileRepliesKey is the sorted set of the IDs of a user's own replies, scored by ID.
func ProfileRepliesKey(uid int64) string { return Key(ProfileRepliesPrefix, uid) }

// ArchiveKey is the sorted set of the IDs of a user's imported posts and replies, scored by ID.
// Apart from conversations, these posts are on no other list.
func ArchiveKey(uid int64) string { return Key(ArchivePrefix, uid) }

// ImportedKey is the sorted set of the ID ranges that were assigned to a user's imports, scored by
// their first ID; see FormatRange. ImportedPosts holds the ranges of all users.
func ImportedKey(uid int64) string { return Key(ImportedPrefix, uid) }

// ArchiveLockKey is the lock held by the process that imports an archive for a user.
func ArchiveLockKey(uid int64) string { return Key(ArchiveLockPrefix, uid) }

// FormatRange formats the range of IDs from first to last; ParseRange parses it.
func FormatRange(first, last int64) string { return Itoa(first) + "-" + Itoa(last) }

// ParseRange parses the result of FormatRange.
func ParseRange(text string) (first, last int64, ok bool) {
	from, to, _ := strings.Cut(text, "-")
	first, isFirst := ParseID(from)
	last, isLast := ParseID(to)
	return first, last, isFirst && isLast && first <= last
}

// ThreadKey is the sorted set of the IDs of all direct and indirect replies to the first post of a
// conversation, scored by ID.
func ThreadKey(root int64) string { return Key(ThreadPrefix, root) }

// LikedKey is the sorted set of the posts that a user likes, by time.
func LikedKey(uid int64) string { return Key(LikedPrefix, uid) }

// RepostedKey is the sorted set of the posts that a user has reposted, by time.
func RepostedKey(uid int64) string { return Key(RepostedPrefix, uid) }

// BookmarksKey is the sorted set of a user's bookmarked posts, by time.
func BookmarksKey(uid int64) string { return Key(BookmarksPrefix, uid) }

// MutedKey is the sorted set of the users that a user has muted, scored by the end of the mute, or
// +inf for no end.
func MutedKey(uid int64) string { return Key(MutedPrefix, uid) }

// BlockedKey is the sorted set of the users that a user has blocked; see MutedKey.
func BlockedKey(uid int64) string { return Key(BlockedPrefix, uid) }

// BlockersKey is the sorted set of the users who have blocked a user: the reverse of BlockedKey.
func BlockersKey(uid int64) string { return Key(BlockersPrefix, uid) }

// DismissedKey is the sorted set of the users that a user has dismissed as suggestions, by time of
// dismissal.
func DismissedKey(uid int64) string { return Key(DismissedPrefix, uid) }

// NotificationsKey is the list of a user's notifications, latest first.
func NotificationsKey(uid int64) string { return Key(NotificationsPrefix, uid) }

// FollowingTagsKey is the sorted set of the tags that a user follows, by time.
func FollowingTagsKey(uid int64) string { return Key(FollowingTagsPrefix, uid) }

// LoginPlacesKey is the sorted set of the addresses from which a user has logged in, by
// the time of the last log-in. It expires.
func LoginPlacesKey(uid int64) string { return Key(LoginPlacesPrefix, uid) }

// DecisionsKey is the stream of the moderators' decisions about a user.
func DecisionsKey(uid int64) string { return Key(DecisionsPrefix, uid) }

// LikersKey is the sorted set of the users who like a post, by time.
func LikersKey(pid int64) string { return ofPost(LikersPrefix, pid) }

// RepostersKey is the sorted set of the users who have reposted a post, scored by
// the ID of the repost.
func RepostersKey(pid int64) string { return ofPost(RepostersPrefix, pid) }

// RepliesKey is the set of the IDs of the direct replies to a post.
func RepliesKey(pid int64) string { return ofPost(RepliesPrefix, pid) }

// StubsKey is the set of the IDs of the deleted direct replies to a post that still have replies.
func StubsKey(pid int64) string { return ofPost(StubsPrefix, pid) }

// EditsKey is the list of the earlier texts of a post, latest first: the time at which the text was
// replaced, a space, the text.
func EditsKey(pid int64) string { return ofPost(EditsPrefix, pid) }

// SessionsKey is the hash of a user's open sessions. It has, for each token, the times at which the
// session began and was last used, and the device.
func SessionsKey(uid int64) string { return ofUser(SessionsPrefix, uid) }

// LoginsKey is the hash of a user's log-ins that are waiting for a code. It expires.
func LoginsKey(uid int64) string { return ofUser(LoginsPrefix, uid) }

// ImportKey is the hash with the progress of a user's import. It expires after the end.
func ImportKey(uid int64) string { return ofUser(ImportPrefix, uid) }

// ImportEntriesKey is the list of the entries of a user's import, each prefixed with a byte that
// holds its result. It expires with ImportKey.
func ImportEntriesKey(uid int64) string { return ofUser(ImportEntriesPrefix, uid) }

func ofUser(prefix string, uid int64) string { return prefix + "{" + UserKey(uid) + "}" }

func ofPost(prefix string, pid int64) string { return prefix + "{" + PostKey(pid) + "}" }

// RepeatedKey is the string with the post that was recently assigned to a content: the text
// followed by a fingerprint of the pictures. parent is the post to which the content is a reply, or
// 0. It expires.
func RepeatedKey(author, parent int64, content string) string {
	digest := sha256.Sum256([]byte(Itoa(parent) + " " + content))
	return Key(RepeatedPrefix, author) + ":" + hex.EncodeToString(digest[:16])
}

// TagKey is the sorted set of the IDs of the posts with a tag, scored by ID.
func TagKey(tag string) string { return TagPrefix + tag }

// TagFollowersKey is the sorted set of the users who follow a tag, by time.
func TagFollowersKey(tag string) string { return TagFollowersPrefix + tag }

// TrendHour returns the number of the hour in which people are counted for trends at a time.
func TrendHour(at time.Time) int64 { return at.Unix() / int64(time.Hour/time.Second) }

// TrendKey is the HyperLogLog of the people who count for a subject in an hour: a tag with #, a
// post ID, or a link. It expires.
func TrendKey(name string, hour int64) string { return Key(TrendPrefix+"{"+name+"}:", hour) }

// TrendHourKey is the sorted set of the subjects of one kind (tags, posts or links) in an hour,
// scored by number of people. It expires.
func TrendHourKey(kind string, hour int64) string { return Key(TrendHourPrefix+kind+":", hour) }

// TrendLinkKey is the sorted set of the latest people who count for a link, scored by their latest
// post with the link. It expires.
func TrendLinkKey(link string) string { return TrendLinkPrefix + link }

// Key appends an ID to a prefix.
func Key(prefix string, id int64) string {
	b := make([]byte, 0, len(prefix)+20)
	return string(strconv.AppendInt(append(b, prefix...), id, 10))
}

// keyTypes is the Redis type of each key, or of each prefix that is followed by an ID.
var keyTypes = map[string]string{
	UserNames: "hash", BucketPrefix: "hash", UsersByTime: "zset", Timeline: "list",
	NextUserID: "string", NextPostID: "string", LayoutVersion: "string", AdoptedPosts: "string", Restoring: "string",
	UserPrefix: "hash", PostPrefix: "hash", HomePrefix: "list", ProfilePrefix: "zset",
	FollowingPrefix: "zset", FollowersPrefix: "zset",
	Tasks: "zset", Live: "stream", Completions: "string", SearchIndex: "string", Site: "hash", Invites: "hash", Blocklist: "hash", SignUps: "zset", SignUpTimes: "list",
	Trends: "string", TrendTags: "hash", LikedPosts: "zset", TrendPrefix: "string", TrendHourPrefix: "zset", TrendLinkPrefix: "zset",
	CelebritiesKey: "zset", ProfileRepliesPrefix: "zset", ThreadPrefix: "zset",
	LikedPrefix: "zset", RepostedPrefix: "zset", BookmarksPrefix: "zset",
	MutedPrefix: "zset", BlockedPrefix: "zset", BlockersPrefix: "zset", DismissedPrefix: "zset",
	ArchivePrefix: "zset", ImportedPrefix: "zset", ImportedPosts: "zset",
	Active:              "zset",
	NotificationsPrefix: "list", FollowingTagsPrefix: "zset", LoginPlacesPrefix: "zset",
	Audit: "stream", Staff: "hash", Standings: "zset", StandingEnds: "zset", DecisionsPrefix: "stream",
	LikersPrefix: "zset", RepostersPrefix: "zset", RepliesPrefix: "set", StubsPrefix: "set", EditsPrefix: "list",
	TagPrefix: "zset", TagFollowersPrefix: "zset",
	SessionsPrefix: "hash", LoginsPrefix: "hash", ImportPrefix: "hash", ImportEntriesPrefix: "list",
	Tries: "hash", DeadTasks: "stream", Processes: "zset", Periodic: "zset", WakePrefix: "list", ListsPrefix: "hash",
}

// Type returns the Redis type of a key, given its whole name or its prefix, or an empty string if
// the key is not part of the layout.
func Type(name string) string {
	if strings.HasPrefix(name, WakePrefix) {
		name = WakePrefix
	}
	return keyTypes[name]
}

// Singletons returns the keys without an ID.
func Singletons() []string {
	var keys []string
	for key := range keyTypes {
		if !strings.HasSuffix(key, ":") {
			keys = append(keys, key)
		}
	}
	for class := range wakeKeys {
		keys = append(keys, WakeKey(class))
	}
	return keys
}

// ParseKey splits a key of the layout into its prefix and its ID: a user ID, a post ID, or the
// number of a bucket of usernames.
func ParseKey(key string) (prefix string, id int64, ok bool) {
	if id, ok = parseListsKey(key); ok {
		return ListsPrefix, id, true
	}
	at := strings.IndexByte(key, ':') + 1
	if prefix = key[:at]; keyTypes[prefix] == "" || prefix == ListsPrefix {
		return "", 0, false
	}
	rest := key[at:]
	switch prefix {
	case TagPrefix, TagFollowersPrefix:
		return "", 0, false
	case LikersPrefix, RepostersPrefix, RepliesPrefix, StubsPrefix, EditsPrefix:
		rest = inBraces(rest, PostPrefix)
	case SessionsPrefix, LoginsPrefix, ImportPrefix, ImportEntriesPrefix:
		rest = inBraces(rest, UserPrefix)
	case BucketPrefix:
		bucket, err := strconv.Atoi(rest)
		return prefix, int64(bucket), err == nil && bucket >= 0 && bucket < Buckets && strconv.Itoa(bucket) == rest
	}
	id, ok = ParseID(rest)
	return prefix, id, ok
}

// inBraces returns the ID in `{<prefix><id>}`, or an empty string for any other text.
func inBraces(text, prefix string) string {
	inner, isBraced := strings.CutPrefix(text, "{"+prefix)
	inner, isClosed := strings.CutSuffix(inner, "}")
	if !isBraced || !isClosed {
		return ""
	}
	return inner
}

// ParseTagKey splits a key that ends in a tag into its prefix and the tag.
func ParseTagKey(key string) (prefix, tag string, ok bool) {
	at := strings.IndexByte(key, ':') + 1
	prefix, tag = key[:at], key[at:]
	return prefix, tag, tag != "" && (prefix == TagPrefix || prefix == TagFollowersPrefix)
}

// ParseTrendKey returns the prefix of a trend key that expires.
func ParseTrendKey(key string) (prefix string, ok bool) {
	for _, prefix := range []string{TrendPrefix, TrendHourPrefix, TrendLinkPrefix} {
		if strings.HasPrefix(key, prefix) {
			return prefix, true
		}
	}
	return "", false
}

// MaxID is the largest ID that the score of a sorted set holds exactly.
const MaxID = 1 << 53

// ParseID parses an ID in its canonical form: no sign, no leading zero.
func ParseID(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && id <= MaxID && Itoa(id) == text
}

// ParseScore parses an ID that is the score of a member of a sorted set.
func ParseScore(text string) (int64, error) {
	score, err := strconv.ParseFloat(text, 64)
	if err == nil && (score < 1 || score > MaxID || score != math.Trunc(score)) {
		err = strconv.ErrRange
	}
	return int64(score), err
}

// Itoa formats an ID, a count or a time.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Seconds formats a time in Unix seconds.
func Seconds(t time.Time) string { return Itoa(t.Unix()) }

// MaxSeconds is the end of the year 9999, the last year that a date can show.
const MaxSeconds = 253402300799

// ParseTime parses a time. It returns the zero time if the text is not a time.
func ParseTime(text string) time.Time {
	sec, err := strconv.ParseFloat(text, 64)
	if err != nil || sec <= 0 || sec > MaxSeconds {
		return time.Time{}
	}
	return time.Unix(int64(sec), 0).UTC()
}

// TimelineCap is the maximum number of posts on a timeline.
const TimelineCap = 1000

// TimelineShare is the number of a user's latest profile entries that can be on the public
// timeline, so that prolific authors leave room for others.
const TimelineShare = 25

// MaxLookup limits the length of a username that is looked up, in bytes; the original program set
// no limit.
const MaxLookup = 256

// Fold returns the form in which a username is unique: usernames that differ only in case are the
// same name.
func Fold(name string) string { return strings.ToLower(name) }
