package server

import (
	_ "embed"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/rueidis"
)

//go:embed owner.lua
var ownerLua string

// Owner is a holder's description of itself, with the fields of redlock.Owner.
type Owner struct {
	Host  string
	PID   int
	Since time.Time // by the clock of the host
	Text  string
	Gone  bool // remove the record (RecordOwner)
}

// MaxOwner is the maximum length of the holder's text in bytes.
const MaxOwner = 200

// decodeOwner decodes the record of the holder. It returns the zero Owner if the record belongs
// to another lock.
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

// clip shortens text that any client may have written, and makes it safe to print.
func clip(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), MaxOwner)], "")
	if !Printable(text) {
		text = strconv.QuoteToGraphic(text)
	}
	return text
}

// Printable reports whether text can be printed unchanged.
func Printable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
