package notify

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social/storage"
)

// Kind is the kind of a notification, as the letter that is stored.
type Kind byte

// The kinds of notifications.
const (
	Mention Kind = 'm'
	Reply   Kind = 'r'
	Like    Kind = 'l'
	Repost  Kind = 'p'
	Follow  Kind = 'f'
	// Decided is a decision of moderators, for the user whom it is about or for a user who has
	// reported the case.
	Decided Kind = 'd'
)

// Kinds returns all kinds, in the order in which the settings list them.
func Kinds() []Kind { return []Kind{Mention, Reply, Like, Repost, Follow, Decided} }

// String returns the name of a kind as stored in a user's settings.
func (k Kind) String() string {
	switch k {
	case Mention:
		return "mention"
	case Reply:
		return "reply"
	case Like:
		return "like"
	case Repost:
		return "repost"
	case Follow:
		return "follow"
	case Decided:
		return "decision"
	}
	return "unknown"
}

// ParseKind parses the name of a kind.
func ParseKind(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// ID identifies an entry: the server's time in milliseconds, and a number within the millisecond.
// The zero value precedes every entry.
type ID struct{ MS, Seq int64 }

// ParseID parses the result of ID.String.
func ParseID(text string) (ID, bool) {
	ms, seq, ok := strings.Cut(text, "-")
	if !ok {
		return ID{}, false
	}
	var id ID
	var err [2]error
	id.MS, err[0] = strconv.ParseInt(ms, 10, 64)
	id.Seq, err[1] = strconv.ParseInt(seq, 10, 64)
	// Scripts compare IDs as numbers, which are exact up to storage.MaxID.
	ok = err[0] == nil && err[1] == nil && id.MS >= 0 && id.MS <= storage.MaxID && id.Seq >= 0 && id.Seq <= storage.MaxID
	if !ok || id.String() != text {
		return ID{}, false
	}
	return id, true
}

func (id ID) String() string { return storage.Itoa(id.MS) + "-" + storage.Itoa(id.Seq) }

// Less reports whether the entry is older than the entry other.
func (id ID) Less(other ID) bool {
	return id.MS < other.MS || id.MS == other.MS && id.Seq < other.Seq
}

// Time returns the time at which the entry was added.
func (id ID) Time() time.Time { return time.UnixMilli(id.MS).UTC() }

// Entry is one notification.
type Entry struct {
	ID    ID
	Kind  Kind
	Actor int64 // the user who acted; for a decision, the user whom it is about, because the moderator is not revealed
	Post  int64 // the recipient's post that was liked or reposted, or the reply or mention itself; 0 for a follow

	Action string // only for a decision: as in the audit log
	Reason string // only for a decision about the recipient
}

// pack returns the text of an entry without its ID.
func (e Entry) pack() string {
	b := make([]byte, 0, 40)
	b = append(b, byte(e.Kind), ':')
	b = strconv.AppendInt(b, e.Actor, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, e.Post, 10)
	if e.Kind == Decided {
		b = append(b, ":"+e.Action+":"+e.Reason...)
	}
	return string(b)
}

// unpack parses an entry. If only the ID can be parsed, ok is false and nothing else is set.
func unpack(raw string) (e Entry, ok bool) {
	id, text, _ := strings.Cut(raw, " ")
	if e.ID, ok = ParseID(id); !ok {
		return Entry{}, false
	}
	parts := strings.SplitN(text, ":", 5)
	if len(parts) < 3 || len(parts[0]) != 1 || !slices.Contains(Kinds(), Kind(parts[0][0])) {
		return Entry{ID: e.ID}, false
	}
	full := Entry{ID: e.ID, Kind: Kind(parts[0][0])}
	if len(parts) != 3 && full.Kind != Decided || len(parts) != 5 && full.Kind == Decided {
		return Entry{ID: e.ID}, false
	}
	if full.Actor, ok = storage.ParseID(parts[1]); !ok {
		return e, false
	}
	if full.Kind == Follow {
		return full, true
	}
	if full.Kind == Decided {
		full.Action, full.Reason = parts[3], parts[4]
		if parts[2] == "0" {
			return full, true
		}
	}
	if full.Post, ok = storage.ParseID(parts[2]); !ok {
		return e, false
	}
	return full, true
}

// IsValid reports whether an entry of a list can be parsed.
func IsValid(raw string) bool {
	_, ok := unpack(raw)
	return ok
}
