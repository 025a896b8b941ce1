package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/mail"
	"retwis/internal/mail/mailtest"
	"retwis/internal/redis/store"
	"retwis/internal/redistest"
	"retwis/internal/social/backup"
	"retwis/internal/social/limits"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// slowDB returns the URL of a proxy that delays the replies of a database. The delay is long enough
// for a command that runs queued jobs to start one before the command ends: queues are read within
// a second.
func slowDB(t *testing.T, db *redistest.Database, roundTrip time.Duration) (url string) {
	t.Helper()
	proxy := db.Proxy(t)
	proxy.Delay(roundTrip)
	return proxy.URL()
}

// wantNotTaken checks that jobs are queued and that no process has started one.
func wantNotTaken(b *socialtest.Bundle) {
	b.T.Helper()
	if queued, started := b.Redis("ZCARD", storage.Tasks), b.Redis("EXISTS", storage.Tries); queued == "0" || started != "0" {
		b.T.Errorf("%s jobs are queued, and these were started: %s; want queued jobs only", queued, b.Redis("HGETALL", storage.Tries))
	}
}

// Doctor checks the mail server but does not send queued emails: their links would use the
// --base-url of doctor.
func TestDoctorSendsNoMails(t *testing.T) {
	t.Parallel()
	db, server := redistest.DB(t), mailtest.Start(t)
	url := "smtp://" + server.Address
	opened, err := mail.Open(url, "https://retwis.example")
	if err != nil {
		t.Fatal(err)
	}
	mails := func(opt *app.Options) { opt.Mail, opt.Limits, opt.Now = opened, limits.Off(), time.Now }
	b := socialtest.On(t, db.Client(t), mails)
	if err := b.Email.Set(b.Ctx, b.NewUser("ada"), socialtest.Password, "ada@example.net"); err != nil {
		t.Fatal(err)
	}
	link := server.Wait(t, 1).Link("/confirm/")
	if _, err := b.Email.Confirm(b.Ctx, strings.TrimPrefix(link, "/confirm/")); err != nil {
		t.Fatal(err)
	}
	b.Eventually("the mails to be sent", func() bool { return b.Redis("EXISTS", storage.Tasks) == "0" })
	sent := len(server.Mails())
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = socialtest.On(t, db.Client(t), mails, func(opt *app.Options) { opt.NoJobs = true })
	if err := b.Email.RequestReset(b.Ctx, "ada"); err != nil {
		t.Fatal(err)
	}
	// Doctor exits with 1 if it finds another problem with the test server.
	out, _ := exec.Command("retwis", "doctor", "--redis", slowDB(t, db, 100*time.Millisecond), "--smtp", url, "--base-url", "https://other.example").CombinedOutput()
	if !strings.Contains(string(out), server.Address) {
		t.Errorf("doctor does not mention %s:\n%s", server.Address, out)
	}
	wantNotTaken(b)
	if all := server.Mails(); len(all) != sent {
		t.Errorf("doctor sent %+v", all[sent:])
	}
}

// Restore does not run the jobs of a backup: deleting an account before its posts are loaded would
// leave the posts behind.
func TestRestoreTakesNoJobs(t *testing.T) {
	t.Parallel()
	source, err := store.Open(t.Context(), redistest.DB(t).URL(), store.Options{Logger: socialtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	from := socialtest.On(t, source.Client(), func(opt *app.Options) { opt.NoJobs = true })
	ada := from.NewUser("ada")
	for _, text := range []string{"one", "two"} {
		from.Publish(ada, text)
	}
	if err := from.Leaving.DeleteAccount(from.Ctx, ada.ID); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "site.backup"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := backup.Write(from.Ctx, backup.Source{Client: source.Client(), Options: source.ClientOption()}, file, backup.Options{}); err != nil {
		t.Fatal(err)
	}

	db := redistest.DB(t)
	to := socialtest.On(t, db.Client(t), func(opt *app.Options) { opt.NoJobs = true })
	if out, err := exec.Command("retwis", "restore", "--redis", slowDB(t, db, 20*time.Millisecond), file.Name()).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	user := storage.UserKey(ada.ID)
	wantNotTaken(to)
	if to.Redis("EXISTS", user) != "1" {
		t.Error("restore deleted the user")
	}

	serveOn(t, db.URL())
	to.Eventually("the site to delete the account", func() bool { return to.Redis("EXISTS", user) == "0" })
	if name := to.Redis("HGET", storage.UserNames, "ada"); name != "0" {
		t.Errorf("the name maps to %q, want 0", name)
	}
	if keys := to.Redis("KEYS", "damaged:*") + to.Redis("KEYS", "post:*"); keys != "" {
		t.Errorf("keys of deleted posts are left: %s", keys)
	}
}
