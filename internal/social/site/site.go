// Package site stores the settings of a site, such as its name, its description, its contact and
// its rules. Operators can change them while the site is served.
package site

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/storage"
)

// Settings are the settings of a site. They are safe for concurrent use.
//
// The settings are fields of one hash rather than a record of package model: the hash is older than
// the package, and every page reads the settings from memory.
type Settings struct {
	db    storage.Database
	users *storage.Users
	audit *audit.Log

	kept *storage.Kept[Info]
}

// New returns the Settings of the site in a database.
func New(db storage.Database, people *storage.Users, log *audit.Log) *Settings {
	s := &Settings{db: db, users: people, audit: log}
	s.kept = storage.NewKept(db, storage.Site, s.read)
	return s
}

// Get returns the settings. No round trip while they are unchanged.
func (s *Settings) Get(ctx context.Context) (Info, error) { return s.kept.Get(ctx) }

// Cached returns the settings as last read, for a page that must not fail. No round trip.
func (s *Settings) Cached() Info { return s.kept.Latest() }

func (s *Settings) read(ctx context.Context) (Info, error) {
	names := make([]string, len(Fields), len(Fields)+2)
	for i, f := range Fields {
		names[i] = string(f)
	}
	names = append(names, idField, storage.SignUpField)
	texts, err := reply.Fields(s.db.Read(ctx, s.db.Client.B().Hmget().Key(storage.Site).Field(names...).Cache()))
	if err != nil {
		return Info{}, fmt.Errorf("social: read the settings of the site: %w", err)
	}
	info := Info{texts: map[Field]string{}, id: texts[len(Fields)], signUp: texts[len(Fields)+1]}
	for i, f := range Fields {
		// A database can contain any text: a setting that is not allowed counts as not set.
		if text, err := Clean(f, texts[i]); err == nil && text != "" {
			info.texts[f] = text
		}
	}
	return info, nil
}

// idField is the field of the hash `site` with the ID of the site.
const idField = "id"

// ID returns an ID that distinguishes the site from all others, regardless of its address. The ID
// is created on first use, and never changes. No round trip after that.
func (s *Settings) ID(ctx context.Context) (string, error) {
	info, err := s.Get(ctx)
	if err != nil || info.id != "" {
		return info.id, err
	}
	if err := s.kept.Write(ctx, s.db.Client.B().Hsetnx().Key(storage.Site).Field(idField).Value(rand.Text()).Build()); err != nil {
		return "", err
	}
	info, err = s.kept.Reload(ctx) // another process may have written another ID first
	if err == nil && info.id == "" {
		err = errors.New("social: the site has no ID")
	}
	return info.id, err
}

// ErrChanged reports that somebody else has changed a setting since the form was filled in.
var ErrChanged = errors.New("social: the setting has changed in the meantime")

// Set changes settings, in all processes immediately, and returns the settings that actually
// changed. Only admins and operators may change settings. texts maps the settings to change to
// their new texts. formVersions maps settings to the Info.Version of the text with which a form was
// filled in: a setting that was not edited in the form keeps its current text; if it was edited and
// somebody else has changed it too, Set returns ErrChanged. The audit log gets an entry for each
// change, without the text. If Set returns ErrForbidden, or *InvalidError, which names the field,
// nothing is changed. Three round trips, and one for each change.
func (s *Settings) Set(ctx context.Context, actor social.Actor, texts, formVersions map[Field]string) (changed []Field, err error) {
	if err := s.users.Require(ctx, actor, social.Admin); err != nil {
		return nil, err
	}
	before, err := s.read(social.WithFresh(ctx))
	if err != nil {
		return nil, err
	}
	write := s.db.Client.B().Hset().Key(storage.Site).FieldValue()
	for _, f := range Fields {
		text, given := texts[f]
		if !given {
			continue
		}
		if text, err = Clean(f, text); err != nil {
			return nil, err
		}
		formVersion := formVersions[f]
		switch {
		case text == before.Of(f), formVersion == version(text):
			continue
		case formVersion != "" && formVersion != before.Version(f):
			return nil, errors.Join(ErrChanged, social.Invalid(string(f), "Someone else changed this in the meantime. Save again to overwrite their changes, or reload the page to see them."))
		}
		changed = append(changed, f)
		write = write.FieldValue(string(f), text)
	}
	if len(changed) == 0 {
		return nil, nil
	}
	for _, f := range changed {
		entry := audit.Entry{Actor: actor, Action: "site", Target: "site:" + string(f), Note: texts[f]}
		if f != NoIndex {
			entry.Note = ""
		}
		if err := s.audit.Add(ctx, entry); err != nil {
			return nil, err
		}
	}
	if err := s.kept.Write(ctx, write.Build()); err != nil {
		return nil, err
	}
	return changed, nil
}
