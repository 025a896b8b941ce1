package email_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/mail"
	"retwis/internal/mail/mailtest"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/check"
	"retwis/internal/social/email"
	"retwis/internal/social/limits"
	"retwis/internal/social/moderation"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	adaAt = "ada@example.net"
	benAt = "ben@example.net"
	base  = "https://retwis.example"
)

// bundle is an application with a mail server.
type bundle struct {
	*socialtest.Bundle
	mails *mailtest.Server
}

// sends makes an application send its mails to a server.
func sends(t *testing.T, server *mailtest.Server) func(*app.Options) {
	t.Helper()
	opened, err := mail.Open("smtp://"+server.Address, base)
	if err != nil {
		t.Fatal(err)
	}
	return func(opt *app.Options) { opt.Mail = opened }
}

func unlimited(opt *app.Options) { opt.Limits = limits.Off() }

func idle(opt *app.Options) { opt.NoJobs = true }

func open(t *testing.T, change ...func(*app.Options)) *bundle {
	t.Helper()
	return openOn(t, redistest.DB(t).Client(t), change...)
}

func openOn(t *testing.T, client rueidis.Client, change ...func(*app.Options)) *bundle {
	t.Helper()
	server := mailtest.Start(t)
	return &bundle{socialtest.On(t, client, append(change, sends(t, server))...), server}
}

func (b *bundle) do(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// quiet waits until no mail is queued, and checks that want mails have arrived.
func (b *bundle) quiet(want int) []mailtest.Mail {
	b.T.Helper()
	b.Eventually("the mails to be sent", func() bool {
		queues, err := b.Jobs(b.Ctx)
		return err == nil && queues[2].Unfinished == 0
	})
	all := b.mails.Mails()
	if len(all) != want {
		b.T.Fatalf("%d mails, want %d: %+v", len(all), want, all)
	}
	return all
}

// confirmed returns a user with a confirmed address.
func (b *bundle) confirmed(name, address string) social.User {
	b.T.Helper()
	user := b.NewUser(name)
	before := len(b.mails.Mails())
	b.do(b.Email.Set(b.Ctx, user, socialtest.Password, address))
	link := b.mails.Wait(b.T, before+1).Link("/confirm/")
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(link, "/confirm/"))
	b.do(err)
	return user
}

func (b *bundle) record(user social.User) email.Record {
	b.T.Helper()
	rec, err := b.Email.Get(b.Ctx, user.ID)
	b.do(err)
	return rec
}

// An address is in effect once the link of a mail was used, within a day. Using it again changes
// nothing.
func TestConfirm(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.NewUser("ada")
	for _, typed := range []string{"", "ada", "Ada <ada@example.net>", "ada@example.net\r\nBcc: b@example.net", `"a b"@example.net`, strings.Repeat("a", 250) + "@example.net"} {
		var invalid *social.InvalidError
		if err := b.Email.Set(b.Ctx, ada, socialtest.Password, typed); !errors.As(err, &invalid) {
			t.Errorf("%q: %v", typed, err)
		}
	}
	if err := b.Email.Set(b.Ctx, ada, "wrong", adaAt); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("a wrong password: %v", err)
	}
	b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, " Ada@Example.net"))
	m := b.quiet(1)[0]
	token := strings.TrimPrefix(m.Link("/confirm/"), "/confirm/")
	if m.To != adaAt || m.Header.Get("Subject") != "Confirm your address" || token == "" || !strings.Contains(m.Text, "account ada on Retwis") {
		t.Fatalf("%+v", m)
	}
	_, secret, _ := strings.Cut(token, ".")
	if stored := b.Redis("HVALS", storage.EmailKey(ada.ID)); !strings.Contains(stored, adaAt) || strings.Contains(stored, secret) {
		t.Errorf("stored: %s", stored)
	}
	for _, other := range []string{"", "x", "1.", token + "x", strings.Repeat("1", 200)} {
		if _, err := b.Email.Confirm(b.Ctx, other); !errors.Is(err, email.ErrNoLink) {
			t.Errorf("%q: %v", other, err)
		}
	}
	b.Clock.Advance(25 * time.Hour)
	if _, err := b.Email.Confirm(b.Ctx, token); !errors.Is(err, email.ErrNoLink) {
		t.Errorf("after a day: %v", err)
	}
	b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAt))
	token = strings.TrimPrefix(b.quiet(2)[1].Link("/confirm/"), "/confirm/")
	user, err := b.Email.Confirm(b.Ctx, token)
	if err != nil || user.ID != ada.ID || b.record(ada).Confirmed() != adaAt || b.record(ada).Pending != "" {
		t.Errorf("%+v, %v, %+v", user, err, b.record(ada))
	}
	before := b.record(ada)
	if user, err := b.Email.Confirm(b.Ctx, token); err != nil || user.ID != ada.ID || b.record(ada).Version != before.Version {
		t.Errorf("twice: %v, %+v", err, b.record(ada))
	}
	b.quiet(2)
	b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, "new@example.net"))
	b.quiet(3)
	if _, err := b.Email.Confirm(b.Ctx, token); !errors.Is(err, email.ErrNoLink) {
		t.Errorf("before the link of another address: %v", err)
	}
	b.WantHealthy()
}

// Somebody who enters the address of another account sees the usual page, and the owner gets a
// mail.
func TestOwned(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		testOwned(t, openOn(t, client))
	})
}

func testOwned(t *testing.T, b *bundle) {
	ada, ben := b.confirmed("ada", adaAt), b.NewUser("ben")
	b.do(b.Email.Set(b.Ctx, ben, socialtest.Password, adaAt))
	m := b.quiet(2)[1]
	if m.To != adaAt || !strings.Contains(m.Text, "belongs to the account ada") || strings.Contains(m.Text, "ben") || m.Link("/confirm/") != "" {
		t.Errorf("%+v", m)
	}
	if b.record(ada).Confirmed() != adaAt || b.record(ben).Confirmed() != "" || b.record(ben).Pending != adaAt {
		t.Errorf("%+v, %+v", b.record(ada), b.record(ben))
	}
	// Of two users with the same pending address, one gets it.
	cid, dan := b.NewUser("cid"), b.NewUser("dan")
	tokens := map[int64]string{}
	for i, user := range []social.User{cid, dan} {
		b.do(b.Email.Set(b.Ctx, user, socialtest.Password, benAt))
		tokens[user.ID] = strings.TrimPrefix(b.quiet(3 + i)[2+i].Link("/confirm/"), "/confirm/")
	}
	_, err := b.Email.Confirm(b.Ctx, tokens[dan.ID])
	b.do(err)
	if _, err := b.Email.Confirm(b.Ctx, tokens[cid.ID]); !errors.Is(err, email.ErrNoLink) || b.record(cid).Confirmed() != "" {
		t.Errorf("%v, %+v", err, b.record(cid))
	}
	b.WantHealthy()
}

// The link of a mail resets a forgotten password; the account is found by its name or address. For
// other input nothing is sent, after equally many commands.
func TestReset(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client, unlimited)
	b.NewUser("ben") // without an address
	ada := b.confirmed("ada", adaAt)
	process := socialtest.Dying(client, 1<<40)
	asks := socialtest.On(t, process, idle, unlimited, sends(t, b.mails))
	b.do(asks.Email.RequestReset(b.Ctx, "nobody")) // the first call loads scripts
	used := map[int64][]string{}
	sent := 1
	for _, typed := range []string{adaAt, "Ada@Example.net", "ada", "@ADA", benAt, "ben", "nobody", "nobody@example.net", "two words"} {
		before := process.Left()
		b.do(asks.Email.RequestReset(b.Ctx, typed))
		used[before-process.Left()] = append(used[before-process.Left()], typed)
		if strings.Contains(strings.ToLower(typed), "ada") {
			sent++
		}
		b.quiet(sent)
	}
	if len(used) != 1 {
		t.Errorf("commands: %v", used)
	}
	m := b.quiet(sent)[sent-1]
	token := strings.TrimPrefix(m.Link("/reset/"), "/reset/")
	if m.To != adaAt || !strings.Contains(m.Text, "account ada on Retwis, within an hour") {
		t.Errorf("%+v", m)
	}
	if n := strings.Count(b.Redis("KEYS", storage.MailPrefix+"*"), storage.MailPrefix); n != 0 {
		t.Errorf("%d mails still wait", n)
	}
	session, err := b.Auth.Login(b.Ctx, "ada", socialtest.Password)
	b.do(err)
	_, err = b.Auth.ResetPassword(b.Ctx, token, "a new password of ada")
	b.do(err)
	if _, err := b.Sessions.SessionUser(social.WithFresh(b.Ctx), session.Secret); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("a session stays open: %v", err)
	}
	_, err = b.Auth.Login(b.Ctx, "ada", "a new password of ada")
	b.do(err)
	if m := b.quiet(sent + 1)[sent]; m.Header.Get("Subject") != "Your password was changed" {
		t.Errorf("%+v", m)
	}
	// An hour later the link does not work, and it gives a suspended account no rights.
	b.do(b.Email.RequestReset(b.Ctx, "ada"))
	token = strings.TrimPrefix(b.quiet(sent + 2)[sent+1].Link("/reset/"), "/reset/")
	b.do(b.Moderation.SetStanding(b.Ctx, social.Operator, ada.ID, moderation.StandingChange{Standing: social.Suspended}))
	b.Clock.Advance(59 * time.Minute)
	_, err = b.Auth.ResetPassword(b.Ctx, token, "another password of ada")
	b.do(err)
	var suspended *social.SuspendedError
	if _, err := b.Auth.Login(b.Ctx, "ada", "another password of ada"); !errors.As(err, &suspended) {
		t.Errorf("a suspended account: %v", err)
	}
	b.quiet(sent + 3)
	b.do(b.Email.RequestReset(b.Ctx, "ada"))
	token = strings.TrimPrefix(b.quiet(sent + 4)[sent+3].Link("/reset/"), "/reset/")
	b.Clock.Advance(61 * time.Minute)
	if _, err = b.Auth.ResetUser(b.Ctx, token); err == nil {
		t.Error("after an hour the link still works")
	}
}

// Changing a password ends the pending confirmation of an address that somebody else has entered
// with the old one, even if the mail has not been sent yet.
func TestPasswordEndsConfirmation(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited, idle)
	ada, password := b.NewUser("ada"), socialtest.Password
	change := func(next string) {
		t.Helper()
		_, err := b.Auth.ChangePassword(b.Ctx, ada, password, next)
		b.do(err)
		password = next
	}
	send := func() {
		t.Helper()
		b.Clock.Advance(time.Minute)
		b.do(b.RetryTasks(b.Ctx))
	}
	b.do(b.Email.Set(b.Ctx, ada, password, "eve@example.net"))
	send()
	token := strings.TrimPrefix(b.mails.Wait(t, 1).Link("/confirm/"), "/confirm/")
	if _, _, err := b.Email.Pending(b.Ctx, token); err != nil {
		t.Fatal(err)
	}
	change("a new password of ada")
	if _, err := b.Email.Confirm(b.Ctx, token); !errors.Is(err, email.ErrNoLink) {
		t.Errorf("the old link: %v, %+v", err, b.record(ada))
	}
	b.do(b.Email.Set(b.Ctx, ada, password, "eve@example.net"))
	change("another password of ada")
	send()
	if all := b.mails.Mails(); len(all) != 1 {
		t.Errorf("a link for the new password: %+v", all[1:])
	}
}

// Replacing an address ends a reset link that was sent to it.
func TestAddressEndsReset(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada := b.confirmed("ada", adaAt)
	sent := 1
	last := func(kind string) string {
		t.Helper()
		sent++
		return strings.TrimPrefix(b.quiet(sent)[sent-1].Link(kind), kind)
	}
	var token string
	reset := func() {
		t.Helper()
		b.do(b.Email.RequestReset(b.Ctx, "ada"))
		token = last("/reset/")
		_, err := b.Auth.ResetUser(b.Ctx, token)
		b.do(err)
	}
	wantEnded := func(what string) {
		t.Helper()
		if _, err := b.Auth.ResetUser(b.Ctx, token); !errors.Is(err, auth.ErrNoReset) {
			t.Errorf("%s: %v", what, err)
		}
	}
	reset()
	b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, "new@example.net"))
	_, err := b.Email.Confirm(b.Ctx, last("/confirm/"))
	b.do(err)
	wantEnded("another address")
	warned := func() { // before the next mail, which could overtake it
		t.Helper()
		sent++
		b.quiet(sent)
	}
	warned()
	reset()
	b.do(b.Email.Remove(b.Ctx, ada, socialtest.Password))
	wantEnded("no address")
	warned()
	b.do(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAt))
	_, err = b.Email.Confirm(b.Ctx, last("/confirm/"))
	b.do(err)
	reset()
	b.do(b.Email.RemoveFor(b.Ctx, social.Operator, ada.ID))
	wantEnded("removed by an operator")
	b.do(b.Email.RemoveFor(b.Ctx, social.Operator, 99)) // a user who does not exist
}

// Security changes of an account are reported to its address, and changes of the address to the
// previous one. Changes without effect are not reported.
func TestWarnings(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada, ben := b.confirmed("ada", adaAt), b.NewUser("ben")
	sent := 1
	want := func(subject, to string) {
		t.Helper()
		sent++
		m := b.quiet(sent)[sent-1]
		if m.To != to || m.Header.Get("Subject") != subject || !strings.Contains(m.Text, "the account ada on Retwis, 14 Nov 2023") {
			t.Errorf("%+v, want %q to %s", m, subject, to)
		}
	}
	_, err := b.Auth.ChangePassword(b.Ctx, ada, socialtest.Password, "another password")
	b.do(err)
	want("Your password was changed", adaAt)
	if _, err := b.Auth.ChangePassword(b.Ctx, ada, "wrong password", "yet another password"); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("%v", err)
	}
	b.do(b.Auth.RemoveSecondFactor(b.Ctx, social.Operator, ada.ID)) // there is none
	_, err = b.Auth.ChangePassword(b.Ctx, ben, socialtest.Password, "another password")
	b.do(err)
	b.quiet(sent)
	b.Redis("HSET", storage.UserKey(ada.ID), "totp", "KEY")
	b.do(b.Auth.TurnOffSecondFactor(b.Ctx, ada, "another password"))
	want("Two-step log-in was turned off", adaAt)
	end, err := b.warner().Begin(b.Ctx, ada.ID, "passkeys")
	b.do(err)
	b.Redis("HSET", storage.UserKey(ada.ID), "passkeys", "[]")
	end()
	want("A passkey was added", adaAt)

	b.do(b.Email.Set(b.Ctx, ada, "another password", "new@example.net"))
	sent++
	_, err = b.Email.Confirm(b.Ctx, strings.TrimPrefix(b.quiet(sent)[sent-1].Link("/confirm/"), "/confirm/"))
	b.do(err)
	want("Your email address was changed", adaAt)
	b.do(b.Email.Remove(b.Ctx, ada, "another password"))
	want("Your email address was removed", "new@example.net")
	if exists := b.Redis("EXISTS", storage.EmailKey(ada.ID)); exists != "0" {
		t.Errorf("the record is left: %s", exists)
	}
	b.WantHealthy()
}

// warner returns what the application passes to package auth.
func (b *bundle) warner() *email.Outbox { return b.Email.Outbox }

// An export contains the address, and nothing is left of a deleted account.
func TestLeaving(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.confirmed("ada", adaAt)
	var file bytes.Buffer
	b.do(b.Leaving.Export(b.Ctx, ada.ID, "https://here.example", &file))
	archive, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	b.do(err)
	profile, err := archive.Open(path.Join("retwis", "profile.json"))
	b.do(err)
	text, err := io.ReadAll(profile)
	b.do(err)
	if !strings.Contains(string(text), adaAt) {
		t.Errorf("%s", text)
	}
	b.do(b.Leaving.DeleteAccount(b.Ctx, ada.ID))
	b.Clock.Advance(time.Minute)
	b.do(b.Leaving.FinishRemoval(b.Ctx, ada.ID))
	for _, key := range strings.Fields(b.Redis("KEYS", "{email*")) {
		if strings.Contains(key, ":"+storage.Itoa(ada.ID)) || strings.Contains(b.Redis("TYPE", key), "hash") && strings.Contains(b.Redis("HVALS", key), adaAt) {
			t.Errorf("%s is left", key)
		}
	}
	eve := b.confirmed("eve", adaAt) // the address is free again
	b.do(b.Email.RemoveFor(b.Ctx, social.Operator, eve.ID))
	b.WantHealthy()
}

// A check finds and repairs addresses whose users do not exist.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.confirmed("ada", adaAt)
	b.Redis("HSET", storage.EmailKey(999), "address", benAt)
	var keys []string
	_, err := b.Check(check.Options{Report: func(p check.Problem) { keys = append(keys, p.Key) }})
	b.do(err)
	if len(keys) == 0 {
		t.Error("nothing was found")
	}
	for range 2 {
		_, err = check.Repair(b.Ctx, b.App, check.Options{Report: func(check.Problem) {}})
		b.do(err)
	}
	b.WantHealthy()
}

// A check names an unreadable record, and does not claim to have repaired it.
func TestCheckDamaged(t *testing.T) {
	t.Parallel()
	b := open(t)
	key := storage.EmailKey(b.confirmed("ada", adaAt).ID)
	b.Redis("HSET", key, "refused", "never")
	for range 2 {
		named := false
		result, err := check.Repair(b.Ctx, b.App, check.Options{Report: func(p check.Problem) {
			named = named || !p.Repaired && strings.Contains(p.Detail, key)
		}})
		b.do(err)
		if !named || result.Remaining != 1 || result.Repaired != 0 {
			t.Errorf("named: %v; %d repaired, %d remain", named, result.Repaired, result.Remaining)
		}
	}
	b.Redis("HSET", key, "refused", "0")
	b.WantHealthy()
}

// Without a mail server nothing is queued.
func TestOff(t *testing.T) {
	t.Parallel()
	b := socialtest.New(t)
	if b.Email.IsOn() {
		t.Error("mail is on")
	}
	ada := b.NewUser("ada")
	if _, err := b.Auth.ChangePassword(b.Ctx, ada, socialtest.Password, "another password"); err != nil {
		t.Fatal(err)
	}
	if keys := b.Redis("KEYS", storage.MailPrefix+"*"); keys != "" {
		t.Errorf("%s", keys)
	}
}
