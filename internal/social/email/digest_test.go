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

// A digest is sent once a day, by one of two processes, with the unread notifications that the user
// can see. The unsubscribe link ends the digest.
func TestDigest(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client, unlimited)
	other := socialtest.On(t, client, unlimited, withMails(t, b.mails), func(opt *app.Options) { opt.Now = b.Clock.Now })
	ada, ben, eve := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("eve")
	var invalid *social.InvalidError
	if err := b.Email.SetDigest(b.Ctx, ada, true); !errors.As(err, &invalid) {
		t.Errorf("SetDigest without an address: %v, want InvalidError", err)
	}
	b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAddress))
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(b.wantMails(1)[0].Link("/confirm/"), "/confirm/"))
	b.must(err)
	b.Clock.Unix.Store(time.Now().Unix()) // notifications have the server's time
	b.must(b.Email.SetDigest(b.Ctx, ada, true))
	round := func() {
		t.Helper()
		done := make(chan error)
		for _, s := range []*email.Service{b.Email, other.Email} {
			go func() { done <- s.SendDigests(b.Ctx) }()
		}
		for range 2 {
			b.must(<-done)
		}
	}
	post := b.Publish(ada, "a  post\nof ada")
	b.must(b.Reactions.Like(b.Ctx, ben, post))
	b.must(b.Reactions.Like(b.Ctx, eve, post))
	b.Connect(eve, ada)
	b.must(b.Relations.Block(b.Ctx, ada, eve, time.Time{}))
	b.must(b.Moderation.HidePost(b.Ctx, social.Operator, post, "Be\nkind.", ""))
	round()
	b.wantMails(1) // nothing is due
	b.Clock.Advance(23*time.Hour + 59*time.Minute + 59*time.Second)
	round()
	b.wantMails(1)
	b.Clock.Advance(2 * time.Second)
	for range 3 {
		round()
	}
	m := b.wantMails(2)[1]
	stop := m.Link("/unsubscribe/")
	if m.To != adaAddress || !strings.Contains(m.Text, "- ben liked your post: a post of ada\n") || !strings.Contains(m.Text, "- A moderator hid your post: Be kind.\n") || strings.Contains(m.Text, "eve") ||
		m.Header.Get("List-Unsubscribe") != "<"+base+stop+">" || m.Header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
		t.Errorf("first digest: %+v", m)
	}
	if due := *b.record(ada).Due; due <= b.Clock.Now().Unix() || due > b.Clock.Now().Add(24*time.Hour).Unix() {
		t.Errorf("the next digest is due in %v, want within 24h", time.Unix(due, 0).Sub(b.Clock.Now()))
	}
	b.Clock.Advance(72 * time.Hour) // nothing new: the old notifications are older than a day
	for range 3 {
		round()
	}
	b.wantMails(2)
	for _, wrong := range []string{"", "1.x", stop[len("/unsubscribe/"):] + "x"} {
		if err := b.Email.StopDigest(b.Ctx, wrong); !errors.Is(err, email.ErrNoLink) {
			t.Errorf("StopDigest(%q): %v, want ErrNoLink", wrong, err)
		}
	}
	for range 2 {
		b.must(b.Email.StopDigest(b.Ctx, strings.TrimPrefix(stop, "/unsubscribe/")))
	}
	if b.record(ada).Due != nil {
		t.Error("StopDigest did not end the digest")
	}
}

// A digest that the mail server does not accept is sent after its lease has expired.
func TestDigestLater(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada, ben := b.confirmed("ada", adaAddress), b.NewUser("ben")
	b.Clock.Unix.Store(time.Now().Unix())
	b.must(b.Email.SetDigest(b.Ctx, ada, true))
	b.Clock.Advance(24 * time.Hour)
	b.Connect(ben, ada)
	b.mails.Set(func(s *mailtest.Server) { s.Data = mailtest.Refusal(451) })
	if err := b.Email.SendDigests(b.Ctx); err == nil || strings.Contains(err.Error(), "example.net") {
		t.Errorf("SendDigests: %v, want an error without the address", err)
	}
	b.mails.Set(func(s *mailtest.Server) { s.Data = nil })
	b.must(b.Email.SendDigests(b.Ctx))
	b.wantMails(1) // the lease of the failed digest has not expired
	b.Clock.Advance(16 * time.Minute)
	b.must(b.Email.SendDigests(b.Ctx))
	if m := b.wantMails(2)[1]; !strings.Contains(m.Text, "- ben followed you\n") {
		t.Errorf("late digest: %+v, want the follow of ben", m)
	}
}

// If the mail server temporarily rejects the emails of some recipients, the other recipients get
// their digests in the same round.
func TestDigestDeferred(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	eve, at := b.NewUser("eve"), []string{"a@example.net", "b@example.net", "c@example.net"}
	b.Clock.Unix.Store(time.Now().Add(-time.Minute).Unix()) // notifications have the server's time
	for i, address := range at {
		user := b.confirmed(fmt.Sprint("user", i), address)
		b.must(b.Email.SetDigest(b.Ctx, user, true))
		b.Connect(eve, user)
		b.Clock.Advance(time.Second)
	}
	before := len(b.mails.Mails())
	b.Clock.Advance(24 * time.Hour)
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt, s.RcptOnly = mailtest.Refusal(450), at[:2] })
	if err := b.Email.SendDigests(b.Ctx); !errors.Is(err, mail.ErrDeferred) {
		t.Errorf("SendDigests: %v, want ErrDeferred", err)
	}
	if m := b.wantMails(before + 1)[before]; m.To != at[2] {
		t.Errorf("mail %+v, want the digest to c@example.net", m)
	}
	b.mails.Set(func(s *mailtest.Server) { s.Rcpt = nil })
	b.Clock.Advance(16 * time.Minute)
	b.must(b.Email.SendDigests(b.Ctx))
	b.wantMails(before + 3)
}

// If a user confirms a new address while the slow mail server still accepts the digest of another
// user, the digest goes to the new address.
func TestDigestToNewAddress(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada, ben, eve := b.confirmed("ada", adaAddress), b.confirmed("ben", benAddress), b.NewUser("eve")
	b.Clock.Unix.Store(time.Now().Add(-time.Minute).Unix()) // notifications have the server's time
	for _, user := range []social.User{ada, ben} {
		b.Connect(eve, user)
		b.must(b.Email.SetDigest(b.Ctx, user, true))
		b.Clock.Advance(time.Second)
	}
	b.Clock.Advance(23 * time.Hour)
	b.must(b.Email.Set(b.Ctx, ben, socialtest.Password, "new@example.net"))
	link := b.wantMails(3)[2].Link("/confirm/")
	b.Clock.Advance(time.Hour)
	hold, sent, due := make(chan struct{}), make(chan error, 1), *b.record(ada).Due
	b.mails.Set(func(s *mailtest.Server) { s.Hold = hold })
	go func() { sent <- b.Email.SendDigests(b.Ctx) }()
	b.Eventually("the first digest", func() bool { return *b.record(ada).Due != due })
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(link, "/confirm/"))
	b.must(err)
	close(hold)
	b.must(<-sent)
	for _, m := range b.wantMails(6) {
		if strings.Contains(m.Text, "New for ben") && m.To != "new@example.net" {
			t.Errorf("the digest of ben was sent to %s, want new@example.net", m.To)
		}
	}
}

// A digest that exceeds the limit of its address is not sent. The next digest has its contents.
func TestDigestLimited(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client)
	withoutLimits := socialtest.On(t, client, unlimited, noJobs, withMails(t, b.mails), func(opt *app.Options) { opt.Now = b.Clock.Now })
	ada, ben := b.confirmed("ada", adaAddress), b.NewUser("ben") // the first of three requested emails
	b.Clock.Unix.Store(time.Now().Unix())
	b.must(b.Email.SetDigest(b.Ctx, ada, true))
	b.Connect(ben, ada)
	for range 2 {
		b.must(b.Email.RequestReset(b.Ctx, "ada"))
	}
	b.wantMails(3)
	b.Clock.Advance(24 * time.Hour)
	for range 2 { // once a day, not in each round
		b.must(b.Email.SendDigests(b.Ctx))
	}
	b.wantMails(3)
	if n := b.Email.Counts.Limited.Load(); n != 1 {
		t.Errorf("%d digests exceeded the limit, want 1", n)
	}
	b.Clock.Advance(24 * time.Hour)
	b.must(withoutLimits.Email.SendDigests(b.Ctx))
	if m := b.wantMails(4)[3]; !strings.Contains(m.Text, "- ben followed you\n") {
		t.Errorf("next digest: %+v, want the follow of ben", m)
	}
}

// If a process is killed after some commands of a digest, another process sends the digest after
// the lease has expired. The digest is sent twice if the killed process had sent but not recorded
// it.
func TestDigestKilled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client, unlimited)
	ada, ben := b.confirmed("ada", adaAddress), b.NewUser("ben")
	b.Clock.Unix.Store(time.Now().Unix())
	b.must(b.Email.SetDigest(b.Ctx, ada, true))
	b.Connect(ben, ada)
	for cut, completed := int64(0), false; !completed; cut += 3 {
		before := len(b.mails.Mails())
		due := b.Clock.Now().Unix() - 1
		b.Redis("HSET", storage.EmailKey(ada.ID), "due", storage.Itoa(due), "since", "1")
		for f, err := range b.Email.Store.Findings(b.Ctx, func(context.Context, int64) (bool, error) { return true, nil }) {
			b.must(err)
			_, err = f.Fix(b.Ctx)
			b.must(err)
		}
		process := socialtest.Dying(client, cut)
		s := socialtest.On(t, process, unlimited, noJobs, withMails(t, b.mails), func(opt *app.Options) { opt.Now = b.Clock.Now })
		completed = s.Email.SendDigests(b.Ctx) == nil && process.Left() > 0
		b.Clock.Advance(16 * time.Minute)
		b.must(b.Email.SendDigests(b.Ctx))
		if n := len(b.mails.Mails()) - before; n != 1 && n != 2 || completed && n != 1 {
			t.Fatalf("killed after %d commands: %d mails, want 1 or 2", cut, n)
		}
		if cut > 1000 {
			t.Fatal("SendDigests did not complete within 1000 commands")
		}
	}
}
