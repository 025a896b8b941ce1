package social

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"retwis/internal/social/audit"
	"retwis/internal/social/layout"
)

// AuditEntry is one decision of an operator or a moderator.
type AuditEntry struct {
	ID     string    // the entry's own; set by the log
	Time   time.Time // set by the log
	Actor  Actor
	Action string // such as "suspend", "hide" or "reset-password"
	Target string // what it is about: UserTarget, PostTarget, or another text such as "invite:x"
	Note   string // for other moderators, at most MaxNote characters; never a secret

	// Person is the user that it concerns: their history shows it. Where Target is a
	// user, that is the default.
	Person int64
}

// UserTarget and PostTarget are the targets of decisions about a user and a post.
func UserTarget(uid int64) string { return layout.UserKey(uid) }

// PostTarget: see UserTarget.
func PostTarget(pid int64) string { return layout.PostKey(pid) }

// ParseTarget returns the id of the user or of the post that a target names; the other
// is 0.
func ParseTarget(target string) (uid, pid int64) {
	switch prefix, id, ok := layout.ParseKey(target); {
	case ok && prefix == layout.UserPrefix:
		return id, 0
	case ok && prefix == layout.PostPrefix:
		return 0, id
	}
	return 0, 0
}

const (
	// MaxNote bounds a note, in characters.
	MaxNote = 1000
	// maxAudited bounds the action and the target of an entry, in bytes.
	maxAudited = 100
)

// auditLog is the audit log of a Service.
type auditLog struct{ log *audit.Log }

// Audit adds a decision to the audit log, which keeps the latest 100,000 or so. Call it
// before the decision takes effect: then there is none without an entry, and where it
// failed, it is repeated with another entry. One round trip, two for an entry that
// concerns a person. It returns *InvalidError for texts that are too long.
func (a *auditLog) Audit(ctx context.Context, e AuditEntry) error {
	if e.Person == 0 {
		e.Person, _ = ParseTarget(e.Target)
	}
	note, err := cleanNote(e.Note)
	if err != nil {
		return err
	}
	if len(e.Action) > maxAudited || len(e.Target) > maxAudited {
		return &InvalidError{"target", "This is too long."}
	}
	return a.log.Add(ctx, audit.Entry{
		Actor: e.Actor.String(), Action: e.Action, Target: e.Target, Person: e.Person, Note: note,
	})
}

// AuditFilter selects decisions. The zero value selects all.
type AuditFilter struct {
	Actor  Actor  // by one actor; 0 for any
	Target string // about one target; empty for any
	Person int64  // that concern one person; 0 for any
}

// AuditPage is a part of the audit log, the latest first.
type AuditPage struct {
	Entries []AuditEntry
	Next    string // the cursor of the next page, empty at the end
}

// AuditLog returns a page of the audit log. cursor is empty for the first page;
// *InvalidError reports one that is malformed. One round trip, up to ten with a filter
// by actor or target: then a page can have fewer entries than asked for although
// another follows.
func (a *auditLog) AuditLog(ctx context.Context, f AuditFilter, cursor string, limit int) (AuditPage, error) {
	filter := audit.Filter{Target: f.Target, Person: f.Person}
	if f.Actor != 0 {
		filter.Actor = f.Actor.String()
	}
	found, err := a.log.Read(ctx, filter, cursor, clamp(limit))
	if errors.Is(err, audit.ErrCursor) {
		return AuditPage{}, &InvalidError{"before", "This page address is not valid."}
	}
	if err != nil {
		return AuditPage{}, err
	}
	page := AuditPage{Next: found.Next}
	for _, e := range found.Entries {
		page.Entries = append(page.Entries, AuditEntry{
			ID: e.ID, Time: e.Time, Actor: parseActor(e.Actor), Action: e.Action, Target: e.Target, Note: e.Note, Person: e.Person,
		})
	}
	return page, nil
}

// cleanNote returns a note without surrounding space, or *InvalidError.
func cleanNote(note string) (string, error) {
	note = strings.TrimSpace(strings.ReplaceAll(note, "\r\n", "\n"))
	if !utf8.ValidString(note) || utf8.RuneCountInString(note) > MaxNote {
		return "", &InvalidError{"note", "Use at most 1,000 characters."}
	}
	return note, nil
}
