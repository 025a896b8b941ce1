// Package site has the settings of the site that its operators change while it is served.
package site

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/internal/watched"
)

// noIndexField is the field of the hash `site` that is "1" while search engines are asked to
// leave out the whole site.
const noIndexField = "noindex"

// Settings are the settings of a site. They are safe for concurrent use.
type Settings struct {
	db    storage.Database
	audit *audit.Log

	cell watched.Cell[bool] // NoIndex, which every page needs
}

// New returns the settings of the site in a database.
func New(db storage.Database, log *audit.Log) *Settings { return &Settings{db: db, audit: log} }

// Changed notes that the hash `site` has changed. It does not wait.
func (s *Settings) Changed() { s.cell.Changed() }

// NoIndex reports whether search engines are asked to leave out the whole site. No round trip
// while nothing has changed.
func (s *Settings) NoIndex(ctx context.Context) (bool, error) {
	if on, ok := s.cell.Get(s.db.Link, 0); ok {
		return on, nil
	}
	on, hasOld := s.cell.Old(s.db.Link)
	_, err := s.db.Link.Read(ctx, hasOld, func(ctx context.Context) error {
		forced := s.cell.IsForced()
		if forced {
			ctx = social.WithFresh(ctx)
		}
		stamp := s.cell.Begin(s.db.Link, !forced && !social.IsFresh(ctx))
		latest, err := s.read(ctx)
		if err == nil {
			on = latest
			s.cell.Put(on, stamp)
		}
		return err
	})
	return on, err
}

func (s *Settings) read(ctx context.Context) (bool, error) {
	text, err := s.db.Read(ctx, s.db.Client.B().Hget().Key(layout.Site).Field(noIndexField).Cache()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return false, fmt.Errorf("social: read whether search engines may list the site: %w", err)
	}
	return text == "1", nil
}

// SetNoIndex changes it, in all processes at once, and notes it in the audit log. Two round
// trips.
func (s *Settings) SetNoIndex(ctx context.Context, actor social.Actor, on bool) error {
	value, note := "0", "off"
	if on {
		value, note = "1", "on"
	}
	if err := s.audit.Add(ctx, audit.Entry{Actor: actor, Action: "noindex", Note: note}); err != nil {
		return err
	}
	b := s.db.Client.B()
	// The second command waits for the invalidation message of the first.
	res := s.db.Client.DoMulti(ctx,
		b.Hset().Key(layout.Site).FieldValue().FieldValue(noIndexField, value).Build().ToRetryable(),
		b.Exists().Key(layout.Site).Build().ToRetryable())
	s.cell.Force()
	if err := reply.FirstError(res); err != nil {
		return fmt.Errorf("social: change whether search engines may list the site: %w", err)
	}
	return nil
}
