package email_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/mail"
	"retwis/internal/mail/mailtest"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/email"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// A digest is sent once a day, by one of two processes, with what its user sees and has not read;
// one click ends it.
func TestDigest(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client, unlimited)
	other := socialtest.On(t, client, unlimited, sends(t, b.mails), func(opt *app.Options) { opt.Now = b.Clock.Now })
	ada, ben, eve := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("eve")
	var invalid *social.InvalidError
	if err := b.Email.SetDigest(b.Ctx, ada, true); !errors.As(err, &invalid) {
		t.Errorf("without an address: %v", err)
	}
	b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAt))
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(b.quiet(1)[0].Link("/confirm/"), "/confirm/"))
	b.do(err)
	b.Clock.Unix.Store(time.Now().Unix()) // notifications have the server's time
	b.do(b.Email.SetDigest(b.Ctx, ada, true))
	round := func() {
		t.Helper()
		done := make(chan error)
		for _, s := range []*email.Service{b.Email, other.Email} {
			go func() { done <- s.SendDigests(b.Ctx) }()
		}
		for range 2 {
			b.do(<-done)
		}
	}
	post := b.Publish(ada, "a  post\nof ada")
	b.do(b.Reactions.Like(b.Ctx, ben, post))
	b.do(b.Reactions.Like(b.Ctx, eve, post))
	b.Connect(eve, ada)
	b.do(b.Relations.Block(b.Ctx, ada, eve, time.Time{}))
	b.do(b.Moderation.HidePost(b.Ctx, social.Operator, post, "Be\nkind.", ""))
	round()
	b.quiet(1) // nothing is due
	b.Clock.Advance(23*time.Hour + 59*time.Minute + 59*time.Second)
	round()
	b.quiet(1)
	b.Clock.Advance(2 * time.Second)
	for range 3 {
		round()
	}
	m := b.quiet(2)[1]
	stop := m.Link("/unsubscribe/")
	if m.To != adaAt || !strings.Contains(m.Text, "- ben liked your post: a post of ada\n") || !strings.Contains(m.Text, "- A moderator hid your post: Be kind.\n") || strings.Contains(m.Text, "eve") ||
		m.Header.Get("List-Unsubscribe") != "<"+base+stop+">" || m.Header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
		t.Errorf("%+v", m)
	}
	if due := *b.record(ada).Due; due <= b.Clock.Now().Unix() || due > b.Clock.Now().Add(24*time.Hour).Unix() {
		t.Errorf("the next one is due in %v", time.Unix(due, 0).Sub(b.Clock.Now()))
	}
	b.Clock.Advance(72 * time.Hour) // nothing new: the old notifications are older than a day
	for range 3 {
		round()
	}
	b.quiet(2)
	for _, wrong := range []string{"", "1.x", stop[len("/unsubscribe/"):] + "x"} {
		if err := b.Email.StopDigest(b.Ctx, wrong); !errors.Is(err, email.ErrNoLink) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for range 2 {
		b.do(b.Email.StopDigest(b.Ctx, strings.TrimPrefix(stop, "/unsubscribe/")))
	}
	if b.record(ada).Due != nil {
		t.Error("the digest goes on")
	}
}

// Digests whose process was killed, or that the mail server did not accept, are sent later.
func TestDigestLater(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada, ben := b.confirmed("ada", adaAt), b.NewUser("ben")
	b.Clock.Unix.Store(time.Now().Unix())
	b.do(b.Email.SetDigest(b.Ctx, ada, true))
	b.Clock.Advance(24 * time.Hour)
	b.Connect(ben, ada)
	b.mails.Set(func(s *mailtest.Server) { s.Data = mailtest.Refusal(451) })
	if err := b.Email.SendDigests(b.Ctx); err == nil || strings.Contains(err.Error(), "example.net") {
		t.Errorf("%v", err)
	}
	b.mails.Set(func(s *mailtest.Server) { s.Data = nil })
	b.do(b.Email.SendDigests(b.Ctx))
	b.quiet(1) // it waits for the lease of the failed one
	b.Clock.Advance(16 * time.Minute)
	b.do(b.Email.SendDigests(b.Ctx))
	if m := b.quiet(2)[1]; !strings.Contains(m.Text, "- ben followed you\n") {
		t.Errorf("%+v", m)
	}
}

// The server of some recipients refuses their mail temporarily: the others get their digests in the
// same round.
func TestDigestDeferred(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	eve, at := b.NewUser("eve"), []string{"a@example.net", "b@example.net", "c@example.net"}
	b.Clock.Unix.Store(time.Now().Add(-time.Minute).Unix()) // notifications have the server's time
	for i, address := range at {
		user := b.confirmed(fmt.Sprint("user", i), address)
		b.do(b.Email.SetDigest(b.Ctx, user, true))
		b.Connect(eve, user)
		b.Clock.Advance(time.Second)
	}
	before := len(b.mails.Mails())
	b.Clock.Advance(24 * time.Hour)
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt, s.RcptOnly = mailtest.Refusal(450), at[:2] })
	if err := b.Email.SendDigests(b.Ctx); !errors.Is(err, mail.ErrDeferred) {
		t.Errorf("%v", err)
	}
	if m := b.quiet(before + 1)[before]; m.To != at[2] {
		t.Errorf("%+v", m)
	}
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = nil })
	b.Clock.Advance(16 * time.Minute)
	b.do(b.Email.SendDigests(b.Ctx))
	b.quiet(before + 3)
}

// While the mail server is slow, somebody whose digest comes after that of another user confirms a
// new address: the digest goes there.
func TestDigestToNewAddress(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada, ben, eve := b.confirmed("ada", adaAt), b.confirmed("ben", benAt), b.NewUser("eve")
	b.Clock.Unix.Store(time.Now().Add(-time.Minute).Unix()) // notifications have the server's time
	for _, user := range []social.User{ada, ben} {
		b.Connect(eve, user)
		b.do(b.Email.SetDigest(b.Ctx, user, true))
		b.Clock.Advance(time.Second)
	}
	b.Clock.Advance(23 * time.Hour)
	b.do(b.Email.Set(b.Ctx, ben, socialtest.Password, "new@example.net"))
	link := b.quiet(3)[2].Link("/confirm/")
	b.Clock.Advance(time.Hour)
	hold, sent, due := make(chan struct{}), make(chan error, 1), *b.record(ada).Due
	b.mails.Set(func(s *mailtest.Server) { s.Hold = hold })
	go func() { sent <- b.Email.SendDigests(b.Ctx) }()
	b.Eventually("the first digest", func() bool { return *b.record(ada).Due != due })
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(link, "/confirm/"))
	b.do(err)
	close(hold)
	b.do(<-sent)
	for _, m := range b.quiet(6) {
		if strings.Contains(m.Text, "New for ben") && m.To != "new@example.net" {
			t.Errorf("the digest goes to %s", m.To)
		}
	}
}

// A digest that exceeds the limit of its address is not sent: the next one has its contents.
func TestDigestLimited(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client)
	free := socialtest.On(t, client, unlimited, idle, sends(t, b.mails), func(opt *app.Options) { opt.Now = b.Clock.Now })
	ada, ben := b.confirmed("ada", adaAt), b.NewUser("ben") // the first of three requested mails
	b.Clock.Unix.Store(time.Now().Unix())
	b.do(b.Email.SetDigest(b.Ctx, ada, true))
	b.Connect(ben, ada)
	for range 2 {
		b.do(b.Email.RequestReset(b.Ctx, "ada"))
	}
	b.quiet(3)
	b.Clock.Advance(24 * time.Hour)
	for range 2 { // once a day, not in each round
		b.do(b.Email.SendDigests(b.Ctx))
	}
	b.quiet(3)
	if n := b.Email.Counts.Limited.Load(); n != 1 {
		t.Errorf("%d were over the limit, want 1", n)
	}
	b.Clock.Advance(24 * time.Hour)
	b.do(free.Email.SendDigests(b.Ctx))
	if m := b.quiet(4)[3]; !strings.Contains(m.Text, "- ben followed you\n") {
		t.Errorf("%+v", m)
	}
}

// A process is killed after some of the commands of a digest. Another one sends it once the lease
// has expired; if the first has sent it but could not record that, it is sent twice.
func TestDigestKilled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client, unlimited)
	ada, ben := b.confirmed("ada", adaAt), b.NewUser("ben")
	b.Clock.Unix.Store(time.Now().Unix())
	b.do(b.Email.SetDigest(b.Ctx, ada, true))
	b.Connect(ben, ada)
	for cut, ended := int64(0), false; !ended; cut += 3 {
		before := len(b.mails.Mails())
		due := b.Clock.Now().Unix() - 1
		b.Redis("HSET", storage.EmailKey(ada.ID), "due", storage.Itoa(due), "since", "1")
		for f, err := range b.Email.Store.Findings(b.Ctx, func(context.Context, int64) (bool, error) { return true, nil }) {
			b.do(err)
			_, err = f.Fix(b.Ctx)
			b.do(err)
		}
		process := socialtest.Dying(client, cut)
		s := socialtest.On(t, process, unlimited, idle, sends(t, b.mails), func(opt *app.Options) { opt.Now = b.Clock.Now })
		ended = s.Email.SendDigests(b.Ctx) == nil && process.Left() > 0
		b.Clock.Advance(16 * time.Minute)
		b.do(b.Email.SendDigests(b.Ctx))
		if n := len(b.mails.Mails()) - before; n != 1 && n != 2 || ended && n != 1 {
			t.Fatalf("killed after %d commands: %d mails", cut, n)
		}
		if cut > 1000 {
			t.Fatal("it does not end")
		}
	}
}
