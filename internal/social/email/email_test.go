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
	adaAddress = "ada@example.net"
	benAddress = "ben@example.net"
	base       = "https://retwis.example"
)

// bundle is an application with a mail server.
type bundle struct {
	*socialtest.Bundle
	mails *mailtest.Server
}

// withMails makes an application send its emails to a server.
func withMails(t *testing.T, server *mailtest.Server) func(*app.Options) {
	t.Helper()
	opened, err := mail.Open("smtp://"+server.Address, base)
	if err != nil {
		t.Fatal(err)
	}
	return func(opt *app.Options) { opt.Mail = opened }
}

func unlimited(opt *app.Options) { opt.Limits = limits.Off() }

func noJobs(opt *app.Options) { opt.NoJobs = true }

func open(t *testing.T, change ...func(*app.Options)) *bundle {
	t.Helper()
	return openOn(t, redistest.DB(t).Client(t), change...)
}

func openOn(t *testing.T, client rueidis.Client, change ...func(*app.Options)) *bundle {
	t.Helper()
	server := mailtest.Start(t)
	return &bundle{socialtest.On(t, client, append(change, withMails(t, server))...), server}
}

func (b *bundle) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// wantMails waits until no email is queued, and checks that want emails have arrived.
func (b *bundle) wantMails(want int) []mailtest.Mail {
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
	b.must(b.Email.Set(b.Ctx, user, socialtest.Password, address))
	link := b.mails.Wait(b.T, before+1).Link("/confirm/")
	_, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(link, "/confirm/"))
	b.must(err)
	return user
}

func (b *bundle) record(user social.User) email.Record {
	b.T.Helper()
	rec, err := b.Email.Get(b.Ctx, user.ID)
	b.must(err)
	return rec
}

// An address takes effect when the link in the email is used within a day. Using the link again
// changes nothing.
func TestConfirm(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.NewUser("ada")
	for _, typed := range []string{"", "ada", "Ada <ada@example.net>", "ada@example.net\r\nBcc: b@example.net", `"a b"@example.net`, strings.Repeat("a", 250) + "@example.net"} {
		var invalid *social.InvalidError
		if err := b.Email.Set(b.Ctx, ada, socialtest.Password, typed); !errors.As(err, &invalid) {
			t.Errorf("Set(%q): %v, want InvalidError", typed, err)
		}
	}
	if err := b.Email.Set(b.Ctx, ada, "wrong", adaAddress); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("Set with a wrong password: %v, want ErrBadLogin", err)
	}
	b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, " Ada@Example.net"))
	m := b.wantMails(1)[0]
	token := strings.TrimPrefix(m.Link("/confirm/"), "/confirm/")
	if m.To != adaAddress || m.Header.Get("Subject") != "Confirm your email address" || token == "" || !strings.Contains(m.Text, "account ada on Retwis") {
		t.Fatalf("confirmation mail: %+v", m)
	}
	_, secret, _ := strings.Cut(token, ".")
	if stored := b.Redis("HVALS", storage.EmailKey(ada.ID)); !strings.Contains(stored, adaAddress) || strings.Contains(stored, secret) {
		t.Errorf("stored %s, want the address without the secret", stored)
	}
	for _, other := range []string{"", "x", "1.", token + "x", strings.Repeat("1", 200)} {
		if _, err := b.Email.Confirm(b.Ctx, other); !errors.Is(err, email.ErrNoLink) {
			t.Errorf("Confirm(%q): %v, want ErrNoLink", other, err)
		}
	}
	b.Clock.Advance(25 * time.Hour)
	if _, err := b.Email.Confirm(b.Ctx, token); !errors.Is(err, email.ErrNoLink) {
		t.Errorf("Confirm after a day: %v, want ErrNoLink", err)
	}
	b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAddress))
	token = strings.TrimPrefix(b.wantMails(2)[1].Link("/confirm/"), "/confirm/")
	user, err := b.Email.Confirm(b.Ctx, token)
	if err != nil || user.ID != ada.ID || b.record(ada).Confirmed() != adaAddress || b.record(ada).Pending != "" {
		t.Errorf("Confirm = %+v, %v; record %+v", user, err, b.record(ada))
	}
	before := b.record(ada)
	if user, err := b.Email.Confirm(b.Ctx, token); err != nil || user.ID != ada.ID || b.record(ada).Version != before.Version {
		t.Errorf("second Confirm: %v, record %+v", err, b.record(ada))
	}
	b.wantMails(2)
	b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, "new@example.net"))
	b.wantMails(3)
	if _, err := b.Email.Confirm(b.Ctx, token); !errors.Is(err, email.ErrNoLink) {
		t.Errorf("old link while another address is pending: %v, want ErrNoLink", err)
	}
	b.WantHealthy()
}

// Set with the address of another account succeeds as usual, and the owner of the address gets an
// email.
func TestOwned(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		testOwned(t, openOn(t, client))
	})
}

func testOwned(t *testing.T, b *bundle) {
	ada, ben := b.confirmed("ada", adaAddress), b.NewUser("ben")
	b.must(b.Email.Set(b.Ctx, ben, socialtest.Password, adaAddress))
	m := b.wantMails(2)[1]
	if m.To != adaAddress || !strings.Contains(m.Text, "belongs to the account ada") || strings.Contains(m.Text, "ben") || m.Link("/confirm/") != "" {
		t.Errorf("mail to the owner: %+v", m)
	}
	if b.record(ada).Confirmed() != adaAddress || b.record(ben).Confirmed() != "" || b.record(ben).Pending != adaAddress {
		t.Errorf("record of ada %+v, record of ben %+v", b.record(ada), b.record(ben))
	}
	// The first user who confirms a pending address gets the address.
	cid, dan := b.NewUser("cid"), b.NewUser("dan")
	tokens := map[int64]string{}
	for i, user := range []social.User{cid, dan} {
		b.must(b.Email.Set(b.Ctx, user, socialtest.Password, benAddress))
		tokens[user.ID] = strings.TrimPrefix(b.wantMails(3 + i)[2+i].Link("/confirm/"), "/confirm/")
	}
	_, err := b.Email.Confirm(b.Ctx, tokens[dan.ID])
	b.must(err)
	if _, err := b.Email.Confirm(b.Ctx, tokens[cid.ID]); !errors.Is(err, email.ErrNoLink) || b.record(cid).Confirmed() != "" {
		t.Errorf("Confirm by the second user: %v, want ErrNoLink; record %+v", err, b.record(cid))
	}
	b.WantHealthy()
}

// RequestReset finds the account by name or address and sends a link that resets the password. For
// other input, RequestReset sends nothing, after the same number of commands.
func TestReset(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := openOn(t, client, unlimited)
	b.NewUser("ben") // without an address
	ada := b.confirmed("ada", adaAddress)
	process := socialtest.Dying(client, 1<<40)
	requester := socialtest.On(t, process, noJobs, unlimited, withMails(t, b.mails))
	b.must(requester.Email.RequestReset(b.Ctx, "nobody")) // the first call loads scripts
	inputs := map[int64][]string{}                        // by number of commands
	sent := 1
	for _, typed := range []string{adaAddress, "Ada@Example.net", "ada", "@ADA", benAddress, "ben", "nobody", "nobody@example.net", "two words"} {
		before := process.Left()
		b.must(requester.Email.RequestReset(b.Ctx, typed))
		inputs[before-process.Left()] = append(inputs[before-process.Left()], typed)
		if strings.Contains(strings.ToLower(typed), "ada") {
			sent++
		}
		b.wantMails(sent)
	}
	if len(inputs) != 1 {
		t.Errorf("numbers of commands differ: %v", inputs)
	}
	m := b.wantMails(sent)[sent-1]
	token := strings.TrimPrefix(m.Link("/reset/"), "/reset/")
	if m.To != adaAddress || !strings.Contains(m.Text, "account ada on Retwis, within an hour") {
		t.Errorf("reset mail: %+v", m)
	}
	if n := strings.Count(b.Redis("KEYS", storage.MailPrefix+"*"), storage.MailPrefix); n != 0 {
		t.Errorf("%d mails are still queued", n)
	}
	session, err := b.Auth.Login(b.Ctx, "ada", socialtest.Password)
	b.must(err)
	_, err = b.Auth.ResetPassword(b.Ctx, token, "a new password of ada")
	b.must(err)
	if _, err := b.Sessions.SessionUser(social.WithFresh(b.Ctx), session.Secret); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("session after the reset: %v, want ErrNoSession", err)
	}
	_, err = b.Auth.Login(b.Ctx, "ada", "a new password of ada")
	b.must(err)
	if m := b.wantMails(sent + 1)[sent]; m.Header.Get("Subject") != "Your password was changed" {
		t.Errorf("mail after the reset: %+v, want a warning", m)
	}
	// A reset does not unsuspend an account, and a link expires after an hour.
	b.must(b.Email.RequestReset(b.Ctx, "ada"))
	token = strings.TrimPrefix(b.wantMails(sent + 2)[sent+1].Link("/reset/"), "/reset/")
	b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, ada.ID, moderation.StandingChange{Standing: social.Suspended}))
	b.Clock.Advance(59 * time.Minute)
	_, err = b.Auth.ResetPassword(b.Ctx, token, "another password of ada")
	b.must(err)
	var suspended *social.SuspendedError
	if _, err := b.Auth.Login(b.Ctx, "ada", "another password of ada"); !errors.As(err, &suspended) {
		t.Errorf("log-in of a suspended account: %v, want SuspendedError", err)
	}
	b.wantMails(sent + 3)
	b.must(b.Email.RequestReset(b.Ctx, "ada"))
	token = strings.TrimPrefix(b.wantMails(sent + 4)[sent+3].Link("/reset/"), "/reset/")
	b.Clock.Advance(61 * time.Minute)
	if _, err = b.Auth.ResetUser(b.Ctx, token); err == nil {
		t.Error("the link still works after 61 minutes")
	}
}

// Changing a password cancels the pending confirmation of an address that somebody has entered with
// the old password, even if the email has not been sent yet.
func TestPasswordEndsConfirmation(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited, noJobs)
	ada, password := b.NewUser("ada"), socialtest.Password
	change := func(next string) {
		t.Helper()
		_, err := b.Auth.ChangePassword(b.Ctx, ada, password, next)
		b.must(err)
		password = next
	}
	send := func() {
		t.Helper()
		b.Clock.Advance(time.Minute)
		b.must(b.RetryTasks(b.Ctx))
	}
	b.must(b.Email.Set(b.Ctx, ada, password, "eve@example.net"))
	send()
	token := strings.TrimPrefix(b.mails.Wait(t, 1).Link("/confirm/"), "/confirm/")
	if _, _, err := b.Email.Pending(b.Ctx, token); err != nil {
		t.Fatal(err)
	}
	change("a new password of ada")
	if _, err := b.Email.Confirm(b.Ctx, token); !errors.Is(err, email.ErrNoLink) {
		t.Errorf("old link: %v, want ErrNoLink; record %+v", err, b.record(ada))
	}
	b.must(b.Email.Set(b.Ctx, ada, password, "eve@example.net"))
	change("another password of ada")
	send()
	if all := b.mails.Mails(); len(all) != 1 {
		t.Errorf("a link was sent after the password had changed: %+v", all[1:])
	}
}

// Replacing or removing an address invalidates a reset link that was sent to the address.
func TestAddressEndsReset(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada := b.confirmed("ada", adaAddress)
	sent := 1
	nextLink := func(kind string) string {
		t.Helper()
		sent++
		return strings.TrimPrefix(b.wantMails(sent)[sent-1].Link(kind), kind)
	}
	var token string
	reset := func() {
		t.Helper()
		b.must(b.Email.RequestReset(b.Ctx, "ada"))
		token = nextLink("/reset/")
		_, err := b.Auth.ResetUser(b.Ctx, token)
		b.must(err)
	}
	wantEnded := func(name string) {
		t.Helper()
		if _, err := b.Auth.ResetUser(b.Ctx, token); !errors.Is(err, auth.ErrNoReset) {
			t.Errorf("%s: %v, want ErrNoReset", name, err)
		}
	}
	reset()
	b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, "new@example.net"))
	_, err := b.Email.Confirm(b.Ctx, nextLink("/confirm/"))
	b.must(err)
	wantEnded("another address")
	waitWarning := func() { // the next mail could overtake the warning
		t.Helper()
		sent++
		b.wantMails(sent)
	}
	waitWarning()
	reset()
	b.must(b.Email.Remove(b.Ctx, ada, socialtest.Password))
	wantEnded("removed address")
	waitWarning()
	b.must(b.Email.Set(b.Ctx, ada, socialtest.Password, adaAddress))
	_, err = b.Email.Confirm(b.Ctx, nextLink("/confirm/"))
	b.must(err)
	reset()
	b.must(b.Email.RemoveFor(b.Ctx, social.Operator, ada.ID))
	wantEnded("removed by an operator")
	b.must(b.Email.RemoveFor(b.Ctx, social.Operator, 99)) // a user who does not exist
}

// Security changes of an account are reported to its address, and changes of the address to the
// previous address. Changes without effect are not reported.
func TestWarnings(t *testing.T) {
	t.Parallel()
	b := open(t, unlimited)
	ada, ben := b.confirmed("ada", adaAddress), b.NewUser("ben")
	sent := 1
	want := func(subject, to string) {
		t.Helper()
		sent++
		m := b.wantMails(sent)[sent-1]
		if m.To != to || m.Header.Get("Subject") != subject || !strings.Contains(m.Text, "the account ada on Retwis, 14 Nov 2023") {
			t.Errorf("%+v, want %q to %s", m, subject, to)
		}
	}
	_, err := b.Auth.ChangePassword(b.Ctx, ada, socialtest.Password, "another password")
	b.must(err)
	want("Your password was changed", adaAddress)
	if _, err := b.Auth.ChangePassword(b.Ctx, ada, "wrong password", "yet another password"); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("ChangePassword with a wrong password: %v, want ErrBadLogin", err)
	}
	b.must(b.Auth.RemoveSecondFactor(b.Ctx, social.Operator, ada.ID)) // there is none
	_, err = b.Auth.ChangePassword(b.Ctx, ben, socialtest.Password, "another password")
	b.must(err)
	b.wantMails(sent)
	b.Redis("HSET", storage.UserKey(ada.ID), "totp", "KEY")
	b.must(b.Auth.TurnOffSecondFactor(b.Ctx, ada, "another password"))
	want("Two-step log-in was turned off", adaAddress)
	end, err := b.warner().Begin(b.Ctx, ada.ID, "passkeys")
	b.must(err)
	b.Redis("HSET", storage.UserKey(ada.ID), "passkeys", "[]")
	end()
	want("A passkey was added", adaAddress)

	b.must(b.Email.Set(b.Ctx, ada, "another password", "new@example.net"))
	sent++
	_, err = b.Email.Confirm(b.Ctx, strings.TrimPrefix(b.wantMails(sent)[sent-1].Link("/confirm/"), "/confirm/"))
	b.must(err)
	want("Your email address was changed", adaAddress)
	b.must(b.Email.Remove(b.Ctx, ada, "another password"))
	want("Your email address was removed", "new@example.net")
	if exists := b.Redis("EXISTS", storage.EmailKey(ada.ID)); exists != "0" {
		t.Errorf("EXISTS of the record = %s, want 0", exists)
	}
	b.WantHealthy()
}

// warner returns the outbox that the application passes to package auth.
func (b *bundle) warner() *email.Outbox { return b.Email.Outbox }

// An export contains the address, and removing an account deletes the address.
func TestLeaving(t *testing.T) {
	t.Parallel()
	b := open(t)
	ada := b.confirmed("ada", adaAddress)
	var file bytes.Buffer
	b.must(b.Leaving.Export(b.Ctx, ada.ID, "https://here.example", &file))
	archive, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	b.must(err)
	profile, err := archive.Open(path.Join("retwis", "profile.json"))
	b.must(err)
	text, err := io.ReadAll(profile)
	b.must(err)
	if !strings.Contains(string(text), adaAddress) {
		t.Errorf("the profile does not contain the address: %s", text)
	}
	b.must(b.Leaving.DeleteAccount(b.Ctx, ada.ID))
	b.Clock.Advance(time.Minute)
	b.must(b.Leaving.FinishRemoval(b.Ctx, ada.ID))
	for _, key := range strings.Fields(b.Redis("KEYS", "{email*")) {
		if strings.Contains(key, ":"+storage.Itoa(ada.ID)) || strings.Contains(b.Redis("TYPE", key), "hash") && strings.Contains(b.Redis("HVALS", key), adaAddress) {
			t.Errorf("%s was not deleted", key)
		}
	}
	eve := b.confirmed("eve", adaAddress) // the address is free again
	b.must(b.Email.RemoveFor(b.Ctx, social.Operator, eve.ID))
	b.WantHealthy()
}

// Check finds addresses whose users do not exist, and Repair deletes the addresses.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.confirmed("ada", adaAddress)
	b.Redis("HSET", storage.EmailKey(999), "address", benAddress)
	var keys []string
	_, err := b.Check(check.Options{Report: func(p check.Problem) { keys = append(keys, p.Key) }})
	b.must(err)
	if len(keys) == 0 {
		t.Error("check found no problem")
	}
	for range 2 {
		_, err = check.Repair(b.Ctx, b.App, check.Options{Report: func(check.Problem) {}})
		b.must(err)
	}
	b.WantHealthy()
}

// Repair reports an unreadable record as not repaired.
func TestCheckDamaged(t *testing.T) {
	t.Parallel()
	b := open(t)
	key := storage.EmailKey(b.confirmed("ada", adaAddress).ID)
	b.Redis("HSET", key, "refused", "never")
	for range 2 {
		reported := false
		result, err := check.Repair(b.Ctx, b.App, check.Options{Report: func(p check.Problem) {
			reported = reported || !p.Repaired && strings.Contains(p.Detail, key)
		}})
		b.must(err)
		if !reported || result.Remaining != 1 || result.Repaired != 0 {
			t.Errorf("reported: %v; %d repaired, want 0; %d remain, want 1", reported, result.Repaired, result.Remaining)
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
		t.Errorf("queued mails: %s, want none", keys)
	}
}
