package app_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/check"
	"retwis/internal/social/socialtest"

	"github.com/redis/rueidis"
)

// from returns a bundle whose context is that of a device.
func (b *bundle) from(device string) *bundle {
	other := *b.Bundle
	other.Ctx = auth.WithDevice(b.Ctx, device)
	return &bundle{&other}
}

func (b *bundle) login(name string) auth.Session {
	b.T.Helper()
	session, err := b.Auth.Login(b.Ctx, name, socialtest.Password)
	if err != nil {
		b.T.Fatal(err)
	}
	return session
}

func (b *bundle) open(session auth.Session) bool {
	b.T.Helper()
	_, err := b.Sessions.SessionUser(b.Ctx, session.Secret)
	if err != nil && !errors.Is(err, social.ErrNoSession) {
		b.T.Fatal(err)
	}
	return err == nil
}

func TestOpenSessions(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := on(t, client)
		b.T = t
		b.from("Firefox on Linux").NewUser("ada")
		b.Clock.Advance(time.Minute)
		phone := b.from("Safari on iOS").login("ada")
		b.Clock.Advance(time.Minute)
		here := b.from("Chrome on Windows\n\x00 and " + strings.Repeat("ä", 100)).login("ada")
		uid := here.User.ID
		list := func() []auth.OpenSession {
			t.Helper()
			open, err := b.Sessions.OpenSessions(b.Ctx, uid, here.Secret)
			if err != nil {
				t.Fatal(err)
			}
			return open
		}
		open := list()
		if len(open) != 3 || !open[0].Here || open[1].Here || open[1].Device != "Safari on iOS" || open[2].Device != "Firefox on Linux" ||
			!open[1].Created.Equal(b.Clock.Now().Add(-time.Minute)) || len(open[0].Device) > 60 {
			t.Errorf("open sessions: %+v", open)
		}
		if strings.Contains(b.Redis("HGETALL", "sessions:{user:1}"), here.Secret) {
			t.Error("the secret is stored in clear")
		}
		if err := b.Sessions.EndSession(b.Ctx, uid, open[1].ID); err != nil {
			t.Fatal(err)
		}
		if b.open(phone) || !b.open(here) {
			t.Error("another session was ended than the one that was named")
		}
		for _, id := range []string{"", "x", "*", strings.Repeat("0", 64)} {
			if err := b.Sessions.EndSession(b.Ctx, uid, id); !errors.Is(err, social.ErrNoSession) {
				t.Errorf("EndSession(%q): %v", id, err)
			}
		}
		if err := b.Sessions.LogoutOthers(b.Ctx, uid, here.Secret); err != nil {
			t.Fatal(err)
		}
		if open := list(); len(open) != 1 || !open[0].Here {
			t.Errorf("after all others have ended: %+v", open)
		}
		if err := b.Sessions.Logout(b.Ctx, uid, phone.Secret); err != nil || !b.open(here) {
			t.Errorf("the end of a session that has ended: %v, and this one is open: %v", err, b.open(here))
		}
		if err := b.Sessions.LogoutEverywhere(b.Ctx, uid); err != nil || b.open(here) || b.Redis("EXISTS", "sessions:{user:1}") != "0" {
			t.Errorf("log out everywhere: %v", err)
		}
		if result := b.WantHealthy(); result.Leftovers != 0 {
			t.Errorf("check = %+v", result)
		}
	})
}

// A session ends after a month without use, and in any case after a year.
func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	b := setup(t)
	b.NewUser("ada")
	idle := b.login("ada")
	b.Clock.Advance(29 * day)
	used := b.login("ada")
	if !b.open(idle) {
		t.Fatal("a session ended before its time")
	}
	b.Clock.Advance(29 * day)
	if !b.open(idle) || !b.open(used) {
		t.Fatal("a session ended although it was used")
	}
	b.Clock.Advance(31 * day)
	if b.open(idle) || b.open(used) {
		t.Error("a session that was not used is open")
	}
	if auth := b.Redis("HGET", "user:1", "auth") + b.Redis("HKEYS", "sessions:{user:1}"); auth != "" {
		t.Errorf("expired sessions are left: %q", auth)
	}
	old := b.login("ada")
	for range 20 {
		b.Clock.Advance(19 * day)
		if b.Clock.Now().Sub(time.Unix(1_700_000_000, 0)) > 89*day+365*day {
			break
		}
		if !b.open(old) {
			t.Fatalf("a session in use ended after %v", b.Clock.Now().Sub(time.Unix(1_700_000_000, 0))-89*day)
		}
	}
	if b.open(old) {
		t.Error("a session is open after more than a year")
	}
	b.WantHealthy()
}

// A repair removes expired sessions of people who never come back.
func TestRepairEndsExpiredSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.NewUser("ada")
	b.login("ada")
	b.Clock.Advance(32 * 24 * time.Hour)
	here := b.login("ada") // as a side effect, this removes expired sessions
	if open := b.Redis("HLEN", "sessions:{user:1}"); open != "1" || !b.open(here) {
		t.Errorf("%s sessions are left", open)
	}
	b.Clock.Advance(32 * 24 * time.Hour)
	found := ""
	result, err := check.Repair(b.Ctx, b.App, check.Options{Report: func(p check.Problem) { found += p.String() }})
	if err != nil || result.Problems != 0 || !strings.Contains(found, "have expired") {
		t.Errorf("repair: %v, %+v, %s", err, result, found)
	}
	if left := b.Redis("HGET", "user:1", "auth") + b.Redis("HKEYS", "sessions:{user:1}"); left != "" {
		t.Errorf("%q is left", left)
	}
	b.Redis("HSET", "sessions:{user:9}", strings.Repeat("a", 64), "1 1 x")
	b.Redis("HSET", "logins:{user:9}", strings.Repeat("a", 64), "1 1")
	b.Redis("HSET", "sessions:{user:1}", strings.Repeat("a", 64), "1 1 x")
	b.Redis("SADD", "sessions:{user:8}", "x")
	if result, err = check.Repair(b.Ctx, b.App, check.Options{}); err != nil || result.Repaired != 4 {
		t.Errorf("repair: %v, %+v", err, result)
	}
	if result = b.WantHealthy(); result.Leftovers != 0 {
		t.Errorf("check = %+v", result)
	}
}

// A session from before entries existed stays open and gets an entry.
func TestSessionWithoutEntry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	session := b.login("ada")
	b.Redis("DEL", "sessions:{user:1}")
	later := on(t, b.DB)
	later.Clock.Advance(400 * 24 * time.Hour)
	if !later.open(session) {
		t.Fatal("a session from before entries were kept has ended")
	}
	open, err := later.Sessions.OpenSessions(b.Ctx, ada.ID, session.Secret)
	if err != nil || len(open) != 2 || !open[0].Here || !open[0].Used.Equal(later.Clock.Now()) || open[0].Device != "" {
		t.Errorf("open sessions: %+v, %v", open, err)
	}
	later.Clock.Advance(31 * 24 * time.Hour)
	if later.open(session) {
		t.Error("it is open although it was not used")
	}
}

// A request with a session sends no command to the server, except once an hour to record its use.
func TestSessionUseIsCheap(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.Own(t).Client(t))
	b.NewUser("ada")
	session := b.login("ada")
	b.open(session)
	commands := func(ask func()) int {
		t.Helper()
		count := func() int {
			info, err := b.DB.Do(b.Ctx, b.DB.B().Info().Section("stats").Build()).ToString()
			_, after, _ := strings.Cut(info, "total_commands_processed:")
			number, _, _ := strings.Cut(after, "\r")
			n, bad := strconv.Atoi(number)
			if err = errors.Join(err, bad); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := count()
		ask()
		return count() - before - 1 // the count itself
	}
	ask := func() {
		if !b.open(session) {
			t.Error("the session has ended")
		}
	}
	// Background work sends a command now and then, too.
	fewest := func() (n int) {
		for range 5 {
			if n = commands(ask); n == 0 {
				break
			}
		}
		return n
	}
	b.Clock.Advance(59 * time.Minute)
	if n := fewest(); n != 0 {
		t.Errorf("%d commands for a session in memory", n)
	}
	b.Clock.Advance(time.Minute)
	if n := commands(ask); n == 0 {
		t.Error("its use was not noted after an hour")
	}
	if n := fewest(); n != 0 {
		t.Errorf("%d commands for a session whose use was noted", n)
	}
}

// Sessions of two processes: what one ends, the other sees at once; what both touch, both keep.
func TestSessionsOfProcesses(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	here, there := &bundle{socialtest.Watched(t, db.URL())}, &bundle{socialtest.Watched(t, db.URL())}
	here.NewUser("ada")
	a, b := here.login("ada"), there.login("ada")
	var wg sync.WaitGroup
	for _, in := range []*bundle{here, there} {
		in.Clock.Advance(2 * time.Hour)
		for range 8 {
			wg.Go(func() {
				for range 20 {
					if !in.open(a) || !in.open(b) {
						t.Error("a session has ended")
					}
				}
			})
		}
	}
	wg.Wait()
	if err := here.Sessions.Logout(here.Ctx, 1, b.Secret); err != nil {
		t.Fatal(err)
	}
	there.Eventually("the session to end in the other process", func() bool { return !there.open(b) })
	if !there.open(a) || !here.open(a) {
		t.Error("another session has ended too")
	}
}

// While the database refuses writes, sessions stay open and expired ones stay closed.
func TestSessionsWhileReadOnly(t *testing.T) {
	t.Parallel()
	db := redistest.Own(t)
	b := on(t, db.Client(t))
	b.NewUser("ada")
	session := b.login("ada")
	b.open(session)
	b.Clock.Advance(2 * time.Hour)
	set := func(limit string) {
		t.Helper()
		if err := b.DB.Do(b.Ctx, b.DB.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", limit).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	if !b.open(session) {
		t.Error("a session ended while nothing can be written")
	}
	b.Clock.Advance(40 * 24 * time.Hour)
	if b.open(session) {
		t.Error("an expired session is open while nothing can be written")
	}
	set("0")
	if b.open(session) {
		t.Error("it opened again")
	}
}
