package email

import (
	"context"
	"errors"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/mail"
	"retwis/internal/social"
	"retwis/internal/social/limits"
	"retwis/internal/social/work"
)

// errNobody reports that the email has no recipient.
var errNobody = errors.New("social: the mail has no recipient")

// errLimited reports that the address has reached its limit of emails.
var errLimited = errors.New("social: too many mails to this address")

// task runs a task of taskKind. Failures are retried until the key of the email has expired.
func (s *Service) task(ctx context.Context, id string) error {
	n, ok, err := s.Outbox.read(ctx, id)
	if err != nil || !ok {
		return err
	}
	if !s.IsOn() {
		return work.ErrAgain // another process has a mail server, or nobody gets the email
	}
	rec, name, err := s.recipient(ctx, &n)
	if err == nil {
		write := func() (mail.Message, error) { return s.write(ctx, n, rec, name) }
		err = s.send(ctx, rec, n.To, n.Kind == confirmMail || n.Kind == resetMail, write)
	}
	if err != nil && !errors.Is(err, errNobody) && !errors.Is(err, errLimited) {
		return err
	}
	return s.Outbox.remove(ctx, id)
}

// send sends an email to an address of the user of rec, or returns errLimited. write is called only
// if the limits allow the email, because a new link ends the previous one. Any other error comes
// from write, or leads to a retry.
func (s *Service) send(ctx context.Context, rec Record, to string, asked bool, write func() (mail.Message, error)) error {
	var limit *limits.Error
	if err := s.Limits.TakeMail(ctx, to, asked); errors.As(err, &limit) {
		s.Counts.Limited.Add(1)
		return errLimited
	} else if err != nil {
		return err
	}
	m, err := write()
	if err != nil {
		s.Limits.ReturnMail(context.WithoutCancel(ctx), to, asked)
		return err
	}
	m.To, m.Site = to, s.siteName(ctx)
	err = s.Server.Send(ctx, m)
	switch {
	case err == nil:
		s.Counts.Sent.Add(1)
		if rec.Refused == 0 || to != rec.Confirmed() {
			return nil
		}
		return s.noteRefused(ctx, rec.ID, to, 0)
	case errors.Is(err, mail.ErrRefused):
		s.Counts.Refused.Add(1)
		s.Log.InfoContext(ctx, "a mail was permanently refused", "user", rec.ID, "error", err)
		return s.noteRefused(ctx, rec.ID, to, s.Now().Unix())
	}
	s.Counts.Failed.Add(1)
	s.Limits.ReturnMail(context.WithoutCancel(ctx), to, asked)
	return err
}

// noteRefused records when an email to an address of a user was permanently refused, or 0 if the
// email was accepted. An address that refuses an email gets no more digests.
func (s *Service) noteRefused(ctx context.Context, uid int64, address string, at int64) error {
	err := s.Store.update(ctx, uid, func(r *Record) error {
		if address != r.Confirmed() && address != r.Pending {
			return errSame
		}
		if r.Refused = at; at != 0 && address == r.Confirmed() {
			r.Due = nil
		}
		return nil
	})
	if errors.Is(err, errSame) {
		return nil
	}
	return err
}

// recipient returns the record and the name of the user who gets an email, or errNobody. For a
// forgotten password, it also sets the user and the address in n.
func (s *Service) recipient(ctx context.Context, n *note) (rec Record, name string, err error) {
	if n.Kind == resetMail {
		if rec, err = s.find(ctx, n.To); err != nil {
			return rec, "", err
		}
		n.User, n.To = rec.ID, *rec.Address
	} else if rec, err = s.Store.Get(ctx, n.User); err != nil {
		return rec, "", err
	}
	user, err := s.Users.Record(social.WithFresh(ctx), n.User)
	if errors.Is(err, social.ErrNotFound) || err == nil && user.Standing == social.Closed {
		err = errNobody
	}
	return rec, user.Name, err
}

// write writes an email to its recipient, or returns errNobody.
func (s *Service) write(ctx context.Context, n note, rec Record, name string) (m mail.Message, err error) {
	at, l := time.Unix(n.At, 0), rec.language()
	switch n.Kind {
	case confirmMail:
		return s.writeConfirm(ctx, n, rec, name)
	case resetMail:
		token, err := s.newReset(ctx, rec.ID, n.To)
		m.Subject = l.Say(i18n.T("Set a new password"))
		m.Text = paragraphs(l, i18n.T("You can set a new password for the account {name} on {site}, within an hour:", name, s.siteName(ctx)),
			s.Server.Link("/reset/"+token), i18n.T("If you didn't ask for it, do nothing: your password stays as it is."))
		return m, err
	case warningMail:
		now, err := s.Outbox.digest(ctx, n.User, n.Field)
		what := changes[n.Field]
		if err == nil && (now == n.Was || what.IsZero()) {
			err = errNobody // the field has not changed
		}
		m.Subject = l.Say(what)
		m.Text = s.warning(ctx, l, warningInfo{what, name, at, true})
		return m, err
	case movedMail:
		if rec.Confirmed() == n.To {
			return m, errNobody
		}
		what := i18n.T("Your email address was changed")
		if rec.Address == nil {
			what = i18n.T("Your email address was removed")
		}
		m.Subject = l.Say(what)
		m.Text = s.warning(ctx, l, warningInfo{what, name, at, false})
		return m, nil
	}
	return m, errNobody
}

// newReset creates a reset link. If the user's address has been replaced, newReset ends the link
// and returns errNobody: the replacement may have ended only the previous link.
func (s *Service) newReset(ctx context.Context, uid int64, address string) (token string, err error) {
	if token, err = s.Auth.NewReset(ctx, uid, resetTTL); err != nil {
		return "", err
	}
	rec, err := s.Store.Get(ctx, uid)
	if err == nil && rec.Confirmed() != address {
		err = errNobody
	}
	if err == nil {
		return token, nil
	}
	if endErr := s.endReset(ctx, uid); endErr != nil {
		return "", endErr // the task is retried
	}
	return "", err
}

// find returns the record of an account with a confirmed address, by its name or its address.
func (s *Service) find(ctx context.Context, typed string) (rec Record, err error) {
	if address, ok := mail.Address(typed); ok {
		rec, err = s.Store.owner(ctx, address)
	} else {
		var user social.User
		if user, err = s.Users.UserByName(ctx, social.TypedName(typed)); err == nil {
			rec, err = s.Store.Get(ctx, user.ID)
		}
	}
	if errors.Is(err, social.ErrNotFound) || err == nil && rec.Address == nil {
		err = errNobody
	}
	return rec, err
}

// writeConfirm writes an email with a newly created link that confirms an address. If the address
// belongs to another account, the email says so instead. writeConfirm returns errNobody if the
// password has changed since the request.
func (s *Service) writeConfirm(ctx context.Context, n note, rec Record, name string) (m mail.Message, err error) {
	if now, err := s.Outbox.digest(ctx, n.User, n.Field); err != nil {
		return m, err
	} else if now != n.Was || rec.Pending != n.To {
		return m, errNobody
	}
	site := s.siteName(ctx)
	owner, err := s.Store.owner(ctx, n.To)
	if err == nil {
		ownerRec, err := s.Users.Record(ctx, owner.ID)
		l := owner.language()
		m.Subject = l.Say(i18n.T("Your email address on {site}", site))
		m.Text = paragraphs(l,
			i18n.T("Someone wants to use this email address for an account on {site}. It already belongs to the account {name} there, so nothing has changed.", site, ownerRec.Name),
			i18n.T("If that is you, and you have forgotten your password, set a new one here:"), s.Server.Link("/forgot"))
		return m, err
	}
	if !errors.Is(err, social.ErrNotFound) {
		return m, err
	}
	token := tokenOf(rec.ID, newSecret())
	ends := s.Now().Add(confirmTTL).Unix()
	err = s.Store.update(ctx, rec.ID, func(r *Record) error {
		if r.Pending != n.To {
			return errNobody
		}
		r.Token, r.Ends = confirmation(token, n.Was), ends
		return nil
	})
	l := rec.language()
	m.Subject = l.Say(i18n.T("Confirm your email address"))
	m.Text = paragraphs(l,
		i18n.T("The account {name} on {site} wants to use this email address. To confirm that, open this page within a day:", name, site),
		s.Server.Link("/confirm/"+token), i18n.T("If that is not your account, do nothing: your email address won't be used."))
	return m, err
}

// siteName returns the name of the site, or the last known one if the database does not answer.
func (s *Service) siteName(ctx context.Context) string {
	info, err := s.Site.Get(ctx)
	if err != nil {
		info = s.Site.Cached()
	}
	return info.Name()
}
