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

// An address gets at most five mails a day, and three of those that somebody requests.
func TestLimit(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.confirmed("ada", adaAt) // the first
	for range 5 {
		b.do(b.Email.RequestReset(b.Ctx, "ada"))
	}
	b.quiet(3)
	password := socialtest.Password
	for _, next := range []string{"password the second", "password the third", "password the fourth"} {
		_, err := b.Auth.ChangePassword(b.Ctx, ada, password, next)
		b.do(err)
		password = next
	}
	for _, m := range b.quiet(5)[3:] {
		if m.Header.Get("Subject") != "Your password was changed" {
			t.Errorf("%+v", m)
		}
	}
	if n := b.Email.Counts.Limited.Load(); n != 4 {
		t.Errorf("%d were over the limit, want 4", n)
	}
}

// Requesting more links than the limit of an address allows does not invalidate those already sent.
func TestLimitKeepsLinks(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada, ben := b.NewUser("ada"), b.confirmed("ben", benAt)
	for i := range 4 {
		b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAt))
		b.quiet(min(2+i, 4))
	}
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(b.quiet(4)[3].Link("/confirm/"), "/confirm/"))
	b.do(err)
	for i := range 3 {
		b.do(b.Email.RequestReset(b.Ctx, "ben"))
		b.quiet(min(5+i, 6))
	}
	user, err := b.Auth.ResetUser(b.Ctx, strings.TrimPrefix(b.quiet(6)[5].Link("/reset/"), "/reset/"))
	if err != nil || user.ID != ben.ID {
		t.Errorf("%+v, %v", user, err)
	}
}

// A process is killed after some of its commands. Another one sends the mails it has promised.
func TestKilled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client, unlimited, idle)
	ada := b.NewUser("ada")
	worker := func(process rueidis.Client) *socialtest.Bundle {
		return socialtest.On(t, process, unlimited, idle, sends(t, b.mails), func(opt *app.Options) { opt.Now = b.Clock.Now })
	}
	later := func(s *socialtest.Bundle) error {
		b.Clock.Advance(time.Minute)
		b.Expire()
		return s.App.RetryTasks(b.Ctx)
	}
	b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAt))
	b.do(later(b.Bundle))
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(b.mails.Wait(t, 1).Link("/confirm/"), "/confirm/"))
	b.do(err)
	password, finished := socialtest.Password, 0
	for _, act := range []struct {
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
		for cut, ended := int64(0), false; !ended; cut++ {
			before := len(b.mails.Mails())
			process := socialtest.Dying(client, cut)
			s := worker(process)
			promised := act.do(s)
			ended = later(s) == nil && process.Left() > 0
			b.do(later(worker(client)))
			n := len(b.mails.Mails()) - before
			if promised && n == 0 || n > 2 {
				t.Fatalf("%s: killed after %d commands: promised %v, sent %d", act.name, cut, promised, n)
			}
			if promised {
				finished++
			}
			if cut > 200 {
				t.Fatalf("%s: it does not end", act.name)
			}
		}
	}
	if finished < 20 {
		t.Errorf("only %d mails were finished by another process", finished)
	}
}

// While the mail server is away, nothing else waits, and mails arrive when it is back.
func TestAway(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.confirmed("ada", adaAt)
	address := b.mails.Address
	b.mails.Down()
	b.do(b.Email.RequestReset(b.Ctx, "ada"))
	b.Eventually("a try", func() bool { return b.Email.Counts.Failed.Load() > 0 })
	b.mails.Up(t, address, false)
	if m := b.mails.Wait(t, 2); m.Link("/reset/") == "" {
		t.Errorf("%+v", m)
	}
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = mailtest.Refusal(450) })
	b.do(b.Email.RequestReset(b.Ctx, "ada"))
	failed := b.Email.Counts.Failed.Load()
	b.Eventually("a try", func() bool { return b.Email.Counts.Failed.Load() > failed })
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = nil })
	b.mails.Wait(t, 3)
}

// A permanently refused mail is not retried; the settings show that, and digests end.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.confirmed("ada", adaAt)
	b.do(b.Email.SetDigest(b.Ctx, ada, true))
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = mailtest.Refusal(550) })
	b.do(b.Email.RequestReset(b.Ctx, "ada"))
	b.quiet(1)
	if rec := b.record(ada); rec.Refused == 0 || rec.Due != nil || b.Email.Counts.Refused.Load() != 1 {
		t.Errorf("%+v", rec)
	}
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = nil })
	b.do(b.Email.RequestReset(b.Ctx, "ada"))
	b.quiet(2)
	if rec := b.record(ada); rec.Refused != 0 {
		t.Errorf("%+v", rec)
	}
}

// A slow server delays no other work.
func TestSlow(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada := b.confirmed("ada", adaAt)
	hold := make(chan struct{})
	b.mails.Set(func(s *mailtest.Server) { s.Hold = hold })
	for range 10 {
		b.do(b.Email.RequestReset(b.Ctx, "ada"))
	}
	ben := b.NewUser("ben")
	b.Connect(ben, ada)
	post := storage.Itoa(b.Publish(ada, "hello"))
	b.Eventually("the post", func() bool { return b.Redis("LINDEX", storage.HomeKey(ben.ID), "0") == post })
	if n := len(b.mails.Mails()); n != 1 {
		t.Errorf("%d mails", n)
	}
	close(hold)
	b.quiet(11)
}

// interceptor calls a function before it sends commands with a word, the first time.
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

// A reset link does not work once its address was replaced: neither in a slow mail, created
// afterwards, nor created just before the address is written.
func TestResetMeetsNewAddress(t *testing.T) {
	t.Parallel()
	for _, isSlowMail := range []bool{true, false} {
		client := redistest.DB(t).Client(t)
		b := openOn(t, client, unlimited, idle) // the other process sends the mails
		slow := &interceptor{Client: client}
		process := socialtest.On(t, slow, unlimited, sends(t, b.mails))
		ada := b.confirmed("ada", adaAt)
		b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, benAt))
		token := strings.TrimPrefix(b.quiet(2)[1].Link("/confirm/"), "/confirm/")
		confirm := func(by *socialtest.Bundle) {
			_, err := by.Email.Confirm(b.Ctx, token)
			b.do(err)
		}
		if isSlowMail {
			confirmed := make(chan struct{})
			slow.word, slow.before = " reset ", func() { confirm(b.Bundle); close(confirmed) }
			b.do(process.Email.RequestReset(b.Ctx, "ada"))
			<-confirmed
			b.quiet(3) // the warning, and no link
		} else {
			slow.word, slow.before = benAt, func() { b.do(b.Email.RequestReset(b.Ctx, "ada")); b.mails.Wait(t, 3) }
			confirm(process)
			b.quiet(4)
		}
		if link := b.Redis("HGET", storage.UserKey(ada.ID), "reset"); link != "" {
			t.Errorf("slow mail %t: a link to the old address works", isSlowMail)
		}
	}
}

// Whenever a process dies while it replaces an address, no link sent to the old address works
// together with the new one.
func TestKilledWhileAddressChanges(t *testing.T) {
	t.Parallel()
	const enough = 1000
	last := int64(enough) // the commands of a process that does not die
	for left := last; left >= last-15; left-- {
		client := redistest.DB(t).Client(t)
		b := openOn(t, client, unlimited)
		ada := b.confirmed("ada", adaAt)
		b.do(b.Email.RequestReset(b.Ctx, "ada"))
		b.quiet(2)
		b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, benAt))
		token := strings.TrimPrefix(b.quiet(3)[2].Link("/confirm/"), "/confirm/")
		process := socialtest.Dying(client, left)
		_, err := socialtest.On(t, process, idle).Email.Confirm(b.Ctx, token)
		if link := b.Redis("HGET", storage.UserKey(ada.ID), "reset"); b.record(ada).Confirmed() != adaAt && link != "" {
			t.Errorf("killed after %d of %d commands, a link to the old address works: %v", left, last, err)
		}
		if left == enough {
			b.do(err)
			last = enough - process.Left()
			left = last
		}
	}
}
