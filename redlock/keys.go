package redlock

import (
	"strings"

	"retwis/internal/keys"
)

// prefix begins every key and channel of this package, but for the names that
// are locked: those are keys as they are, so that other Redlock clients and
// this one exclude each other.
const prefix = "redlock:"

// bootKey is a hash on every server: "run" is the run of the server process whose
// votes count, "since" when in milliseconds by the server's clock, "ttl:<ms>" when
// that time to live was last known to be in use. While another run is quarantined,
// "new" is its id, and "clock:<id>" what the monotonic clock of a machine showed when
// it was known there first. See boot.lua.
func bootKey() string { return prefix + "boot" }

// waitersKey is a sorted set: who waits for a name, scored by the time since
// when in microseconds. A member is the id of a manager, a colon, and the value
// that the lock will have.
func waitersKey(name string) string { return prefix + "waiters:" + beside(name) }

// attemptsKey is a hash: for each member of the line, the number of its last attempt
// that was refused, by when it asks again, and whether it listens for its grant.
func attemptsKey(name string) string { return prefix + "attempts:" + beside(name) }

// ownerKey is a hash: "value" of the lock that holds a name, and of who has it "host",
// "pid", "since" in milliseconds, and "text". It expires with the lock.
func ownerKey(name string) string { return prefix + "owner:" + beside(name) }

// tokenKey is a string: the last fencing token of a name. It lives for a day
// after the last one.
func tokenKey(name string) string { return prefix + "token:" + beside(name) }

// channel is where a manager hears which of its waiters have got their lock.
func channel(manager string) string { return prefix + manager }

// beside returns what puts another key into the hash slot of a name. The sign
// in front of a name with a hash tag of its own keeps the keys of "a" and of
// "{a}" apart.
func beside(name string) string {
	if keys.Tag(name) != "" {
		return "=" + name
	}
	return "{" + name + "}"
}

// sharesSlot reports whether all keys of a name are in its slot. They are not where it
// has a closing brace without a hash tag.
func sharesSlot(name string) bool {
	return keys.Tag(name) != "" || !strings.Contains(name, "}")
}
