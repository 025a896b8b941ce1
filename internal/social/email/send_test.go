package email_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/mail/mailtest"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// An address gets at most five emails a day, and at most three of the emails that users request.
func TestLimit(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.confirmed("ada", adaAddress) // the first requested mail
	for range 5 {
		b.must(b.Email.RequestReset(b.Ctx, "ada"))
	}
	b.wantMails(3)
	password := socialtest.Password
	for _, next := range []string{"password the second", "password the third", "password the fourth"} {
		_, err := b.Auth.ChangePassword(b.Ctx, ada, password, next)
		b.must(err)
		password = next
	}
	for _, m := range b.wantMails(5)[3:] {
		if m.Header.Get("Subject") != "Your password was changed" {
			t.Errorf("mail %+v, want a warning about the password", m)
		}
	}
	if n := b.Email.Counts.Limited.Load(); n != 4 {
		t.Errorf("%d mails exceeded the limit, want 4", n)
	}
}

// Requesting more links than the limit of an address allows does not invalidate links that were
// sent.
func TestLimitKeepsLinks(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, ben := b.NewUser("ada"), b.confirmed("ben", benAddress)
	for i := range 4 {
		b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAddress))
		b.wantMails(min(2+i, 4))
	}
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(b.wantMails(4)[3].Link("/confirm/"), "/confirm/"))
	b.must(err)
	for i := range 3 {
		b.must(b.Email.RequestReset(b.Ctx, "ben"))
		b.wantMails(min(5+i, 6))
	}
	user, err := b.Auth.ResetUser(b.Ctx, strings.TrimPrefix(b.wantMails(6)[5].Link("/reset/"), "/reset/"))
	if err != nil || user.ID != ben.ID {
		t.Errorf("ResetUser = %+v, %v; want ben", user, err)
	}
}

// If a process is killed after some of its commands, another process sends the emails that the
// killed process has promised.
func TestKilled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client, unlimited, noJobs)
	ada := b.NewUser("ada")
	worker := func(process rueidis.Client) *socialtest.Bundle {
		return socialtest.On(t, process, unlimited, noJobs, withMails(t, b.mails), func(opt *app.Options) { opt.Now = b.Clock.Now })
	}
	retryLater := func(s *socialtest.Bundle) error {
		b.Clock.Advance(time.Minute)
		b.Expire()
		return s.App.RetryTasks(b.Ctx)
	}
	b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAddress))
	b.must(retryLater(b.Bundle))
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(b.mails.Wait(t, 1).Link("/confirm/"), "/confirm/"))
	b.must(err)
	password, promises := socialtest.Password, 0
	for _, action := range []struct {
		name string
		do   func(s *socialtest.Bundle) (promised bool)
	}{
		{"reset", func(s *socialtest.Bundle) bool { return s.Email.RequestReset(b.Ctx, "ada") == nil }},
		{"warning", func(s *socialtest.Bundle) bool {
			next := password + "x"
			if strings.HasSuffix(password, "x") {
				next = strings.TrimSuffix(password, "x")
			}
			_, _ = s.Auth.ChangePassword(b.Ctx, ada, password, next)
			if _, err := b.Auth.Login(social.WithFresh(b.Ctx), "ada", next); err != nil {
				return false
			}
			password = next
			return true
		}},
	} {
		for cut, completed := int64(0), false; !completed; cut++ {
			before := len(b.mails.Mails())
			process := socialtest.Dying(client, cut)
			s := worker(process)
			promised := action.do(s)
			completed = retryLater(s) == nil && process.Left() > 0
			b.must(retryLater(worker(client)))
			n := len(b.mails.Mails()) - before
			if promised && n == 0 || n > 2 {
				t.Fatalf("%s: killed after %d commands: promised %v, sent %d", action.name, cut, promised, n)
			}
			if promised {
				promises++
			}
			if cut > 200 {
				t.Fatalf("%s: the action did not complete within 200 commands", action.name)
			}
		}
	}
	if promises < 20 {
		t.Errorf("%d mails were promised, want at least 20", promises)
	}
}

// Emails that the mail server has not accepted arrive when the server accepts emails again.
func TestAway(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.confirmed("ada", adaAddress)
	address := b.mails.Address
	b.mails.Down()
	b.must(b.Email.RequestReset(b.Ctx, "ada"))
	b.Eventually("a failed attempt", func() bool { return b.Email.Counts.Failed.Load() > 0 })
	b.mails.Up(t, address, false)
	if m := b.mails.Wait(t, 2); m.Link("/reset/") == "" {
		t.Errorf("mail %+v, want a reset link", m)
	}
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = mailtest.Refusal(450) })
	b.must(b.Email.RequestReset(b.Ctx, "ada"))
	failed := b.Email.Counts.Failed.Load()
	b.Eventually("a failed attempt", func() bool { return b.Email.Counts.Failed.Load() > failed })
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = nil })
	b.mails.Wait(t, 3)
}

// A permanently rejected mail is not retried. The record stores the rejection, and digests end.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.confirmed("ada", adaAddress)
	b.must(b.Email.SetDigest(b.Ctx, ada, true))
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = mailtest.Refusal(550) })
	b.must(b.Email.RequestReset(b.Ctx, "ada"))
	b.wantMails(1)
	if rec := b.record(ada); rec.Refused == 0 || rec.Due != nil || b.Email.Counts.Refused.Load() != 1 {
		t.Errorf("record after a rejection: %+v", rec)
	}
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = nil })
	b.must(b.Email.RequestReset(b.Ctx, "ada"))
	b.wantMails(2)
	if rec := b.record(ada); rec.Refused != 0 {
		t.Errorf("record after a delivery: %+v, want Refused = 0", rec)
	}
}

// A slow mail server does not delay other tasks.
func TestSlow(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada := b.confirmed("ada", adaAddress)
	hold := make(chan struct{})
	b.mails.Set(func(s *mailtest.Server) { s.Hold = hold })
	for range 10 {
		b.must(b.Email.RequestReset(b.Ctx, "ada"))
	}
	ben := b.NewUser("ben")
	b.Connect(ben, ada)
	post := storage.Itoa(b.Publish(ada, "hello"))
	b.Eventually("the post", func() bool { return b.Redis("LINDEX", storage.HomeKey(ben.ID), "0") == post })
	if n := len(b.mails.Mails()); n != 1 {
		t.Errorf("%d mails were delivered, want 1", n)
	}
	close(hold)
	b.wantMails(11)
}

// interceptor is a client that calls before once, before the first command that contains word.
type interceptor struct {
	rueidis.Client
	word   string
	before func()
}

func (m *interceptor) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return m.DoMulti(ctx, cmd)[0]
}

func (m *interceptor) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	for _, cmd := range cmds {
		if before := m.before; before != nil && strings.Contains(strings.Join(cmd.Commands(), " "), m.word) {
			m.before = nil
			before()
		}
	}
	return m.Client.DoMulti(ctx, cmds...)
}

// A reset link to the old address does not work after the address is replaced, whether the link is
// created after the replacement or just before the new address is written.
func TestResetMeetsNewAddress(t *testing.T) {
	t.Parallel()
	for _, isSlowMail := range []bool{true, false} {
		client := redistest.DB(t).Client(t)
		b := openOn(t, client, unlimited, noJobs) // the other process sends the emails
		slow := &interceptor{Client: client}
		process := socialtest.On(t, slow, unlimited, withMails(t, b.mails))
		ada := b.confirmed("ada", adaAddress)
		b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, benAddress))
		token := strings.TrimPrefix(b.wantMails(2)[1].Link("/confirm/"), "/confirm/")
		confirm := func(s *socialtest.Bundle) {
			_, err := s.Email.Confirm(b.Ctx, token)
			b.must(err)
		}
		if isSlowMail {
			confirmed := make(chan struct{})
			slow.word, slow.before = " reset ", func() { confirm(b.Bundle); close(confirmed) }
			b.must(process.Email.RequestReset(b.Ctx, "ada"))
			<-confirmed
			b.wantMails(3) // the warning, and no link
		} else {
			slow.word, slow.before = benAddress, func() { b.must(b.Email.RequestReset(b.Ctx, "ada")); b.mails.Wait(t, 3) }
			confirm(process)
			b.wantMails(4)
		}
		if link := b.Redis("HGET", storage.UserKey(ada.ID), "reset"); link != "" {
			t.Errorf("slow mail %t: a reset link to the old address still works", isSlowMail)
		}
	}
}

// If a process is killed while replacing an address, no reset link to the old address works once
// the new address is in effect.
func TestKilledWhileAddressChanges(t *testing.T) {
	t.Parallel()
	const enough = 1000
	last := int64(enough) // number of commands of a process that is not killed
	for left := last; left >= last-15; left-- {
		client := redistest.DB(t).Client(t)
		b := openOn(t, client, unlimited)
		ada := b.confirmed("ada", adaAddress)
		b.must(b.Email.RequestReset(b.Ctx, "ada"))
		b.wantMails(2)
		b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, benAddress))
		token := strings.TrimPrefix(b.wantMails(3)[2].Link("/confirm/"), "/confirm/")
		process := socialtest.Dying(client, left)
		_, err := socialtest.On(t, process, noJobs).Email.Confirm(b.Ctx, token)
		if link := b.Redis("HGET", storage.UserKey(ada.ID), "reset"); b.record(ada).Confirmed() != adaAddress && link != "" {
			t.Errorf("killed after %d of %d commands, a link to the old address works: %v", left, last, err)
		}
		if left == enough {
			b.must(err)
			last = enough - process.Left()
			left = last
		}
	}
}
