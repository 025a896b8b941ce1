package redlock

import (
	_ "embed"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

//go:embed owner.lua
var ownerLua string

// Owner is the description that a holder gives of itself: see Options.Owner. Another
// client may have written anything there.
type Owner struct {
	Host  string
	PID   int
	Since time.Time // by the clock of the host
	Text  string    // Options.Owner
}

// ownerArgs are the arguments of owner.lua that describe the holder.
type ownerArgs struct {
	host, pid, since, text string
	gone                   bool
}

// decodeOwner decodes the record of the holder. It returns zero if the record is of
// another lock.
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

// clip makes text that any client may have written safe to print.
func clip(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxOwner)], "")
	if !printable(text) {
		text = strconv.QuoteToGraphic(text)
	}
	return text
}
