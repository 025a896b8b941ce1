package email

import (
	"context"
	"errors"
	"strings"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/mail"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

const (
	digestEvery = 24 * time.Hour
	// digestLease is how long a process leases a digest: longer than the timeouts of a mail server.
	digestLease = 15 * time.Minute
	// digestsAtOnce is how many due digests are read at a time.
	digestsAtOnce = 50
	// maxDeferred is how many digests in a row may be refused temporarily: after more, the mail
	// server seems to refuse everything.
	maxDeferred = 20
	// maxLines is the maximum number of lines in a digest.
	maxLines = 10
)

// SendDigests sends the digests that are due, and returns an error of the mail server or the
// database. An error that concerns a single mail does not stop it: that digest is retried after its
// lease.
func (s *Service) SendDigests(ctx context.Context) error {
	var refused error
	inRow := 0
	for {
		batch, err := s.Store.due(ctx, s.Now())
		if err != nil {
			return err
		}
		taken := 0
		for _, rec := range batch {
			now, due := s.Now(), *rec.Due
			lease := now.Add(digestLease).Unix()
			// The previous digests may have taken a while, and the user may have another address
			// now.
			rec, ok, err := s.Store.move(ctx, rec.ID, due, lease, 0)
			if err != nil {
				return err
			}
			if !ok {
				continue // another process has it
			}
			taken++
			since := now.Unix()
			err = s.sendDigest(ctx, rec)
			if errors.Is(err, mail.ErrDeferred) && inRow < maxDeferred {
				refused = err
				inRow++
				continue
			}
			if errors.Is(err, errLimited) {
				since, err = 0, nil // the next one has what this one had
			}
			if err != nil {
				return err
			}
			inRow = 0
			if _, _, err := s.Store.move(ctx, rec.ID, lease, s.next(due), since); err != nil {
				return err
			}
		}
		if taken == 0 {
			return refused
		}
	}
}

// next returns when the digest after one that was due is due: at the same time of day.
func (s *Service) next(due int64) int64 {
	const day = int64(digestEvery / time.Second)
	return due + (max(0, s.Now().Unix()-due)/day+1)*day
}

// sendDigest sends what a user has not seen since the last digest, if there is anything, or returns
// errLimited.
func (s *Service) sendDigest(ctx context.Context, rec Record) error {
	user, err := s.Users.Record(social.WithFresh(ctx), rec.ID)
	if errors.Is(err, social.ErrNotFound) || err == nil && (user.Standing.Hidden() || rec.Address == nil) {
		return nil
	}
	if err != nil {
		return err
	}
	lines, more, err := s.lines(ctx, rec.language(), user, time.Unix(rec.Since, 0))
	if err != nil || len(lines) == 0 {
		return err
	}
	stop := s.Server.Link("/unsubscribe/" + tokenOf(rec.ID, rec.Stop))
	l, all := rec.language(), i18n.T("See them all:")
	if more {
		all = i18n.T("There is more:")
	}
	m := mail.Message{
		Subject: l.Say(i18n.T("What you missed on {site}", s.siteName(ctx))), Unsubscribe: stop,
		Text: paragraphs(l, i18n.T("New for {name} since the last email like this:", user.Name), strings.Join(lines, "\n"),
			l.Say(all)+"\n"+s.Server.Link("/notifications"), l.Say(i18n.T("To stop these emails:"))+"\n"+stop),
	}
	return s.send(ctx, rec, *rec.Address, true, func() (mail.Message, error) { return m, nil })
}

// lines returns what a user has not seen since a time, as the page of notifications shows it, and
// whether there is more.
func (s *Service) lines(ctx context.Context, l *i18n.Language, user storage.Record, since time.Time) (lines []string, more bool, err error) {
	ctx = social.WithFresh(ctx)
	v, err := s.Viewers.Get(ctx, user.User)
	if err != nil {
		return nil, false, err
	}
	page, err := s.Notices.Page(ctx, v, "", maxLines+1)
	if err != nil {
		return nil, false, err
	}
	groups := page.Groups[:0:0]
	for _, g := range page.Groups {
		if g.Unread && g.Time.After(since) {
			groups = append(groups, g)
		}
	}
	more = len(groups) > maxLines
	for _, g := range groups[:min(len(groups), maxLines)] {
		lines = append(lines, digestLine(l, g))
	}
	return lines, more, nil
}
