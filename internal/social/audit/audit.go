// Package audit stores what operators and moderators have decided: one stream of all
// decisions, and one for each person that they concern.
package audit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
)

const (
	// Max is about how many decisions the log keeps: the latest.
	Max = 100_000
	// MaxPerson is about how many decisions the history of a person keeps.
	MaxPerson = 200
	// scanned is how many entries one command reads, and maxScans how many commands
	// one page with a filter takes at the most.
	scanned  = 1000
	maxScans = 10
)

// Entry is one decision.
type Entry struct {
	ID     string    // of the entry in the stream
	Time   time.Time // by the clock of the server
	Actor  string    // who decided: the id of a user, or a name such as "operator"
	Action string    // such as "suspend"
	Target string    // what it is about: the key of a user or a post, or another text
	Person int64     // the user that it concerns; 0 for nobody
	Note   string    // for other moderators
}

// Filter selects entries. The zero value selects all.
type Filter struct {
	Actor  string // of one actor
	Target string // about one target
	Person int64  // about one person
}

// Page is a part of the log, the latest first.
type Page struct {
	Entries []Entry
	Next    string // the cursor of the next page, empty at the end
}

// ErrCursor is returned for a cursor that no page has returned.
var ErrCursor = errors.New("audit: not a cursor")

// Log is the log of a database.
type Log struct{ client rueidis.Client }

// New returns the log of the database behind a client.
func New(client rueidis.Client) *Log { return &Log{client} }

// Add appends an entry, whose ID and Time the server sets: one round trip, and one
// more for an entry that concerns a person. Their history has the same id as the log.
// A process that dies in between leaves the entry in the log alone.
func (l *Log) Add(ctx context.Context, e Entry) error {
	id, err := l.client.Do(ctx, l.append(layout.Audit, Max, "*", e)).ToString()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if e.Person == 0 {
		return nil
	}
	err = l.client.Do(ctx, l.append(layout.DecisionsKey(e.Person), MaxPerson, id, e)).Error()
	if err != nil && !isLate(err) {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// isLate reports whether a stream has a later entry: two decisions about a person at
// the same moment, of which the log has both.
func isLate(err error) bool {
	answer, ok := rueidis.IsRedisErr(err)
	return ok && strings.Contains(answer.Error(), "equal or smaller")
}

func (l *Log) append(key string, most int64, id string, e Entry) rueidis.Completed {
	fields := l.client.B().Xadd().Key(key).Maxlen().Almost().Threshold(layout.Itoa(most)).Id(id).
		FieldValue().FieldValue("actor", e.Actor).FieldValue("action", e.Action).FieldValue("target", e.Target)
	if e.Person != 0 {
		fields = fields.FieldValue("person", layout.Itoa(e.Person))
	}
	if e.Note != "" {
		fields = fields.FieldValue("note", e.Note)
	}
	return fields.Build()
}

// Read returns a page of the entries that a filter selects. cursor is empty for the
// first page. A page about a person is one round trip. Another filter reads up to
// 10,000 entries: a page can have fewer than limit although another follows.
func (l *Log) Read(ctx context.Context, f Filter, cursor string, limit int) (Page, error) {
	end := "+"
	if cursor != "" {
		if !isID(cursor) {
			return Page{}, ErrCursor
		}
		end = "(" + cursor
	}
	key, count := layout.Audit, limit+1
	if f.Person != 0 {
		key = layout.DecisionsKey(f.Person)
	}
	if f.Actor != "" || f.Target != "" {
		count = scanned
	}
	var page Page
	for range maxScans {
		entries, err := l.client.Do(ctx, l.client.B().Xrevrange().Key(key).End(end).Start("-").Count(int64(count)).Build()).AsXRange()
		if err != nil {
			return Page{}, fmt.Errorf("audit: %w", err)
		}
		for _, raw := range entries {
			if len(page.Entries) == limit {
				page.Next = page.Entries[limit-1].ID
				return page, nil
			}
			e := parse(raw)
			if (f.Actor == "" || f.Actor == e.Actor) && (f.Target == "" || f.Target == e.Target) {
				page.Entries = append(page.Entries, e)
			}
			page.Next = e.ID
		}
		if len(entries) < count {
			page.Next = ""
			return page, nil
		}
		end = "(" + page.Next
	}
	return page, nil
}

// isID reports whether a text is the id of an entry of a stream.
func isID(text string) bool {
	ms, seq, ok := strings.Cut(text, "-")
	_, err := strconv.ParseUint(ms, 10, 64)
	_, err2 := strconv.ParseUint(seq, 10, 64)
	return ok && err == nil && err2 == nil
}

func parse(raw rueidis.XRangeEntry) Entry {
	e := Entry{
		ID: raw.ID, Actor: raw.FieldValues["actor"], Action: raw.FieldValues["action"],
		Target: raw.FieldValues["target"], Note: raw.FieldValues["note"],
	}
	e.Person, _ = layout.ParseID(raw.FieldValues["person"])
	ms, _, _ := strings.Cut(raw.ID, "-")
	if at, err := strconv.ParseInt(ms, 10, 64); err == nil {
		e.Time = time.UnixMilli(at).UTC()
	}
	return e
}
