package server

import (
	"strings"

	"retwis/internal/redis/keys"
)

// Prefix is the prefix of every key and channel of this package, except the locked names. Locked
// names have no prefix, so that locks of other Redlock clients and of this package exclude each
// other.
const Prefix = "redlock:"

// bootKey returns the key of a hash on every server: "run" is the ID of the last run that votes,
// "since" is when it started to vote, in milliseconds by the server's clock, and "ttl:<ms>" is when
// that TTL was last known to be in use. While a newer run is quarantined, "new" is the ID of that
// run, and "clock:<id>" is what the monotonic clock <id> of a machine showed when the machine had
// received the first reply of that run. See boot.lua.
func bootKey() string { return Prefix + "boot" }

// waitersKey returns the key of a sorted set: the waiters of a name, scored by their time of
// arrival in microseconds. A member is the ID of a manager, a colon, and the value that the lock
// will have.
func waitersKey(name string) string { return Prefix + "waiters:" + keySuffix(name) }

// attemptsKey returns the key of a hash: for each waiter, the time by which it asks again, and
// whether it listens for its grant.
func attemptsKey(name string) string { return Prefix + "attempts:" + keySuffix(name) }

// ownerKey returns the key of a hash: the "value" of the lock that holds a name, and the holder's
// "host", "pid", "since" in milliseconds, and "text". It expires with the lock.
func ownerKey(name string) string { return Prefix + "owner:" + keySuffix(name) }

// tokenKey returns the key of a string: the last fencing token of a name. It expires a day after
// its last increase.
func tokenKey(name string) string { return Prefix + "token:" + keySuffix(name) }

// Channel is the channel on which a manager receives the grants of its waiters.
func Channel(manager string) string { return Prefix + manager }

// keySuffix returns a suffix that puts a key into the hash slot of a name. The "=" before a name
// with its own hash tag distinguishes the keys of "a" and "{a}".
func keySuffix(name string) string {
	if keys.Tag(name) != "" {
		return "=" + name
	}
	return "{" + name + "}"
}

// SharesSlot reports whether all keys of a name are in the slot of the name. They are not if the
// name has a closing brace but no hash tag.
func SharesSlot(name string) bool {
	return keys.Tag(name) != "" || !strings.Contains(name, "}")
}
