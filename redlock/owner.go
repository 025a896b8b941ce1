package redlock

import (
	_ "embed"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

//go:embed owner.lua
var ownerLua string

// Owner is who holds a lock, as it says itself: see Options.Owner. Another client can
// have written anything there.
type Owner struct {
	Host  string
	PID   int
	Since time.Time // by the clock of the host
	Text  string    // Options.Owner
}

// ownerArgs are the arguments of owner.lua that say who holds a lock.
type ownerArgs struct {
	host, pid, since, text string
	gone                   bool
}

// describe puts on record who holds the lock, for as long as it lives, or removes the
// record where it is given back. Nobody waits for that.
func (l *Lock) describe(gone bool) {
	if l.owner == "" {
		return
	}
	host, _ := os.Hostname()
	l.m.ask(op{
		kind: opOwner, name: l.name, value: l.value, other: l.before,
		owner: &ownerArgs{host, strconv.Itoa(os.Getpid()), strconv.FormatInt(l.since.UnixMilli(), 10), l.owner, gone},
	}, l.asked)
}

// decodeOwner reads the hash of an owner, which is of the lock with this value; else
// it is zero.
func decodeOwner(hash rueidis.RedisMessage, value string) (owner Owner) {
	fields, err := hash.AsStrMap()
	if err != nil || fields["value"] != value || value == "" {
		return owner
	}
	owner.Host, owner.Text = clip(fields["host"]), clip(fields["text"])
	owner.PID, _ = strconv.Atoi(fields["pid"])
	if since, err := strconv.ParseInt(fields["since"], 10, 64); err == nil && since > 0 {
		owner.Since = time.UnixMilli(since)
	}
	return owner
}

// clip returns what is fit to print of a text that anybody may have written.
func clip(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxOwner)], "")
	if !printable(text) {
		text = strconv.QuoteToGraphic(text)
	}
	return text
}
