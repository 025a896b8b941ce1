package server

import (
	"strings"

	"retwis/internal/redis/keys"
)

// Prefix starts every key and channel of this package except the locked names: those have no
// prefix, so that other Redlock clients and this one exclude each other.
const Prefix = "redlock:"

// bootKey is a hash on every server: "run" is the server run whose votes count, "since" is the
// start of its voting in milliseconds by the server's clock, "ttl:<ms>" is when that TTL was last
// known to be in use. While another run is quarantined, "new" is its ID, and "clock:<id>" is the
// reading of a machine's monotonic clock at its first reply to that machine. See boot.lua.
func bootKey() string { return Prefix + "boot" }

// waitersKey is a sorted set: the waiters of a name, scored by their time of arrival in
// microseconds. A member is the ID of a manager, a colon, and the value that the lock will have.
func waitersKey(name string) string { return Prefix + "waiters:" + keySuffix(name) }

// attemptsKey is a hash: for each waiter, the time by which it asks again, and whether it listens
// for its grant.
func attemptsKey(name string) string { return Prefix + "attempts:" + keySuffix(name) }

// ownerKey is a hash: "value" of the lock that holds a name, and the holder's "host", "pid",
// "since" in milliseconds, and "text". It expires with the lock.
func ownerKey(name string) string { return Prefix + "owner:" + keySuffix(name) }

// tokenKey is a string: the last fencing token of a name. It expires a day after that token was
// given.
func tokenKey(name string) string { return Prefix + "token:" + keySuffix(name) }

// Channel is the channel on which a manager receives the grants of its waiters.
func Channel(manager string) string { return Prefix + manager }

// keySuffix returns the suffix of a related key that puts it into the hash slot of a name. The sign
// before a name with its own hash tag keeps the keys of "a" and "{a}" apart.
func keySuffix(name string) string {
	if keys.Tag(name) != "" {
		return "=" + name
	}
	return "{" + name + "}"
}

// SharesSlot reports whether all keys of a name are in its slot. They are not if the name has a
// closing brace but no hash tag.
func SharesSlot(name string) bool {
	return keys.Tag(name) != "" || !strings.Contains(name, "}")
}
