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
	// digestBatch is how many due digests are read at a time.
	digestBatch = 50
	// maxDeferred is how many digests in a row the mail server may defer. After more, it seems to
	// refuse everything, and SendDigests stops.
	maxDeferred = 20
	// maxLines is the maximum number of lines in a digest.
	maxLines = 10
)

// SendDigests sends the digests that are due, and returns an error of the mail server or the
// database. An email that the server defers does not stop SendDigests: the digest is retried after
// its lease.
func (s *Service) SendDigests(ctx context.Context) error {
	var deferred error
	inRow := 0
	for {
		batch, err := s.Store.due(ctx, s.Now())
		if err != nil {
			return err
		}
		leased := 0
		for _, rec := range batch {
			now, due := s.Now(), *rec.Due
			lease := now.Add(digestLease).Unix()
			// Sending the previous digests may have taken a while, and the user may have a
			// different address now.
			rec, ok, err := s.Store.move(ctx, rec.ID, due, lease, 0)
			if err != nil {
				return err
			}
			if !ok {
				continue // another process has leased the digest
			}
			leased++
			since := now.Unix()
			err = s.sendDigest(ctx, rec)
			if errors.Is(err, mail.ErrDeferred) && inRow < maxDeferred {
				deferred = err
				inRow++
				continue
			}
			if errors.Is(err, errLimited) {
				since, err = 0, nil // the next digest includes these notifications
			}
			if err != nil {
				return err
			}
			inRow = 0
			if _, _, err := s.Store.move(ctx, rec.ID, lease, s.next(due), since); err != nil {
				return err
			}
		}
		if leased == 0 {
			return deferred
		}
	}
}

// next returns the due time of the digest after the one that was due: the same time of day.
func (s *Service) next(due int64) int64 {
	const day = int64(digestEvery / time.Second)
	return due + (max(0, s.Now().Unix()-due)/day+1)*day
}

// sendDigest sends a user the unread notifications since the last digest, if there are any, or
// returns errLimited.
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

// lines returns the unread notifications of a user since a time, grouped as on the notifications
// page, and whether there are more than maxLines.
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
