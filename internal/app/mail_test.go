package app_test

import (
	"strings"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/mail"
	"retwis/internal/redistest"
	"retwis/internal/social/limits"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// If a site's mail server is removed, queued emails are dropped once they have expired.
func TestMailServerRemoved(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	idle := func(opt *app.Options) { opt.NoJobs, opt.Limits = true, limits.Off() }
	server, err := mail.Open("smtp://127.0.0.1:1", "https://retwis.example") // no connection is made
	if err != nil {
		t.Fatal(err)
	}
	before := socialtest.On(t, client, idle, func(opt *app.Options) { opt.Mail = server })
	if err := before.Email.RequestReset(before.Ctx, "ada"); err != nil {
		t.Fatal(err)
	}
	b := socialtest.On(t, client, idle)
	sweep := func() string {
		t.Helper()
		b.Clock.Advance(time.Hour)
		if err := b.RetryTasks(b.Ctx); err != nil {
			t.Fatal(err)
		}
		return b.Redis("ZRANGE", storage.Tasks, "0", "-1")
	}
	if got := sweep(); !strings.HasPrefix(got, storage.MailPrefix) {
		t.Fatalf("the tasks are %q, want a mail", got)
	}
	b.Redis("DEL", sweep()) // the task and its key have the same name
	if got := sweep(); got != "" {
		t.Errorf("after the mail expired the tasks are %q, want none", got)
	}
	b.WantHealthy()
}
