package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/storage"
)

const (
	// maxDecisions is the approximate number of latest decisions that the log keeps.
	maxDecisions = 100_000
	// maxPerPerson is the approximate number of latest decisions that the history of a person
	// keeps.
	maxPerPerson = 200
	// entriesPerScan is how many entries one command reads for a page with a filter.
	entriesPerScan = 1000
	// maxScans is the maximum number of commands for one page.
	maxScans = 10
)

// Entry is one decision of an operator or a moderator.
type Entry struct {
	ID     string    // of the entry; set by the log
	Time   time.Time // set by the log
	Actor  social.Actor
	Action string // such as "suspend", "hide" or "reset-password"
	Target string // the subject: UserTarget, PostTarget, TagTarget, or another text such as "invite:x"
	Note   string // for other moderators, at most MaxNote characters; never a secret

	// Person is the user concerned, whose history shows the decision. The default is the user that
	// Target names, if any.
	Person int64
}

// UserTarget returns the target of decisions about a user.
func UserTarget(uid int64) string { return storage.UserKey(uid) }

// PostTarget returns the target of decisions about a post.
func PostTarget(pid int64) string { return storage.PostKey(pid) }

// TagTarget returns the target of decisions about a tag.
func TagTarget(tag string) string { return storage.TagKey(tag) }

// ParseTag returns the tag that a target names; ok is false for any other target.
func ParseTag(target string) (tag string, ok bool) {
	prefix, tag, ok := storage.ParseTagKey(target)
	return tag, ok && prefix == storage.TagPrefix
}

// ParseTarget returns the ID of the user or of the post that a target names; the other is 0.
func ParseTarget(target string) (uid, pid int64) {
	switch prefix, id, ok := storage.ParseKey(target); {
	case ok && prefix == storage.UserPrefix:
		return id, 0
	case ok && prefix == storage.PostPrefix:
		return 0, id
	}
	return 0, 0
}

// maxAudited is the maximum length of an action or a target, in bytes. A tag has up to 50
// characters of any script.
const maxAudited = 250

// Log is the log of decisions by operators and moderators: one stream of all decisions, and one for
// each person concerned.
type Log struct{ client rueidis.Client }

// New returns the log of a database.
func New(client rueidis.Client) *Log { return &Log{client} }

// Add adds a decision to the audit log, which keeps the latest 100,000 or so. Call Add before the
// decision takes effect, so that every decision has an entry. Retrying a failed decision adds
// another entry. Add returns *InvalidError if a text is too long. One round trip, and one more for
// an entry that concerns a person, whose history gets an entry with the same ID as the log. If a
// process dies in between, the entry is only in the log.
func (a *Log) Add(ctx context.Context, e Entry) (err error) {
	if e.Person == 0 {
		e.Person, _ = ParseTarget(e.Target)
	}
	if e.Note, err = social.CleanNote(e.Note); err != nil {
		return err
	}
	if len(e.Action) > maxAudited || len(e.Target) > maxAudited {
		return social.Invalid("target", "This is too long.")
	}
	id, err := a.client.Do(ctx, a.append(storage.Audit, maxDecisions, "*", e)).ToString()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if e.Person == 0 {
		return nil
	}
	err = a.client.Do(ctx, a.append(storage.DecisionsKey(e.Person), maxPerPerson, id, e)).Error()
	if err != nil && !isLate(err) {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// isLate reports whether a stream already has an entry with the same ID or a later one, because of
// concurrent decisions about a person. The log has both decisions.
func isLate(err error) bool {
	answer, ok := rueidis.IsRedisErr(err)
	return ok && strings.Contains(answer.Error(), "equal or smaller")
}

// Filter selects decisions. The zero value selects all.
type Filter struct {
	Actor  social.Actor // by this actor; 0 for any
	Target string       // about this target; empty for any
	Person int64        // concerning this person; 0 for any
}

// Page is a part of the audit log, latest first.
type Page struct {
	Entries []Entry
	Next    string // the cursor of the next page, empty at the end
}

func (a *Log) append(key string, limit int64, id string, e Entry) rueidis.Completed {
	fields := a.client.B().Xadd().Key(key).Maxlen().Almost().Threshold(storage.Itoa(limit)).Id(id).
		FieldValue().FieldValue("actor", e.Actor.String()).FieldValue("action", e.Action).FieldValue("target", e.Target)
	if e.Person != 0 {
		fields = fields.FieldValue("person", storage.Itoa(e.Person))
	}
	if e.Note != "" {
		fields = fields.FieldValue("note", e.Note)
	}
	return fields.Build()
}

// Read returns a page of the decisions that a filter selects. cursor is empty for the first page;
// for a malformed cursor, Read returns *InvalidError. A page about a person takes one round trip.
// Any other filter reads up to 10,000 entries, and a page can have fewer than limit entries even if
// another page follows.
func (a *Log) Read(ctx context.Context, f Filter, cursor string, limit int) (Page, error) {
	end := "+"
	if cursor != "" {
		if !isID(cursor) {
			return Page{}, social.Invalid("before", "This page address is not valid.")
		}
		end = "(" + cursor
	}
	limit = social.PageSize(limit)
	key, count := storage.Audit, limit+1
	if f.Person != 0 {
		key = storage.DecisionsKey(f.Person)
	}
	if f.Actor != 0 || f.Target != "" {
		count = entriesPerScan
	}
	var page Page
	for range maxScans {
		entries, err := a.client.Do(ctx, a.client.B().Xrevrange().Key(key).End(end).Start("-").Count(int64(count)).Build()).AsXRange()
		if err != nil {
			return Page{}, fmt.Errorf("audit: %w", err)
		}
		for _, raw := range entries {
			if len(page.Entries) == limit {
				page.Next = page.Entries[limit-1].ID
				return page, nil
			}
			e := parseEntry(raw)
			if (f.Actor == 0 || f.Actor == e.Actor) && (f.Target == "" || f.Target == e.Target) {
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

// isID reports whether a text can be the ID of a stream entry. No entry has the ID 0-0.
func isID(text string) bool {
	ms, seq, ok := strings.Cut(text, "-")
	m, err := strconv.ParseUint(ms, 10, 64)
	n, err2 := strconv.ParseUint(seq, 10, 64)
	return ok && err == nil && err2 == nil && m|n != 0
}

func parseEntry(raw rueidis.XRangeEntry) Entry {
	e := Entry{
		ID: raw.ID, Actor: social.ParseActor(raw.FieldValues["actor"]), Action: raw.FieldValues["action"],
		Target: raw.FieldValues["target"], Note: raw.FieldValues["note"],
	}
	e.Person, _ = storage.ParseID(raw.FieldValues["person"])
	ms, _, _ := strings.Cut(raw.ID, "-")
	if at, err := strconv.ParseInt(ms, 10, 64); err == nil {
		e.Time = time.UnixMilli(at).UTC()
	}
	return e
}
