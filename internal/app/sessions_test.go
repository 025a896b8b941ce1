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

// from returns a copy of the bundle whose context names a device.
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
		current := b.from("Chrome on Windows\n\x00 and " + strings.Repeat("ä", 100)).login("ada")
		uid := current.User.ID
		list := func() []auth.OpenSession {
			t.Helper()
			open, err := b.Sessions.OpenSessions(b.Ctx, uid, current.Secret)
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
		if strings.Contains(b.Redis("HGETALL", "sessions:{user:1}"), current.Secret) {
			t.Error("the secret is stored in clear text")
		}
		if err := b.Sessions.EndSession(b.Ctx, uid, open[1].ID); err != nil {
			t.Fatal(err)
		}
		if b.open(phone) || !b.open(current) {
			t.Error("EndSession ended the wrong session")
		}
		for _, id := range []string{"", "x", "*", strings.Repeat("0", 64)} {
			if err := b.Sessions.EndSession(b.Ctx, uid, id); !errors.Is(err, social.ErrNoSession) {
				t.Errorf("EndSession(%q): %v, want ErrNoSession", id, err)
			}
		}
		if err := b.Sessions.LogoutOthers(b.Ctx, uid, current.Secret); err != nil {
			t.Fatal(err)
		}
		if open := list(); len(open) != 1 || !open[0].Here {
			t.Errorf("open sessions after LogoutOthers: %+v", open)
		}
		if err := b.Sessions.Logout(b.Ctx, uid, phone.Secret); err != nil || !b.open(current) {
			t.Errorf("Logout of an ended session: %v; the current session is open: %v", err, b.open(current))
		}
		if err := b.Sessions.LogoutEverywhere(b.Ctx, uid); err != nil || b.open(current) || b.Redis("EXISTS", "sessions:{user:1}") != "0" {
			t.Errorf("sessions are left after LogoutEverywhere: %v", err)
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
		t.Fatal("a session ended too early")
	}
	b.Clock.Advance(29 * day)
	if !b.open(idle) || !b.open(used) {
		t.Fatal("a session ended although it was used")
	}
	b.Clock.Advance(31 * day)
	if b.open(idle) || b.open(used) {
		t.Error("an unused session is still open")
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

// Repair removes expired sessions of users who do not log in again.
func TestRepairEndsExpiredSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.NewUser("ada")
	b.login("ada")
	b.Clock.Advance(32 * 24 * time.Hour)
	current := b.login("ada") // also removes expired sessions
	if open := b.Redis("HLEN", "sessions:{user:1}"); open != "1" || !b.open(current) {
		t.Errorf("%s sessions are left, want 1", open)
	}
	b.Clock.Advance(32 * 24 * time.Hour)
	found := ""
	result, err := check.Repair(b.Ctx, b.App, check.Options{Report: func(p check.Problem) { found += p.String() }})
	if err != nil || result.Problems != 0 || !strings.Contains(found, "have expired") {
		t.Errorf("repair: %v, %+v, %s", err, result, found)
	}
	if left := b.Redis("HGET", "user:1", "auth") + b.Redis("HKEYS", "sessions:{user:1}"); left != "" {
		t.Errorf("expired sessions are left: %q", left)
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

// A session without an entry stays open and gets an entry.
func TestSessionWithoutEntry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	session := b.login("ada")
	b.Redis("DEL", "sessions:{user:1}")
	later := on(t, b.DB)
	later.Clock.Advance(400 * 24 * time.Hour)
	if !later.open(session) {
		t.Fatal("a session without an entry has ended")
	}
	open, err := later.Sessions.OpenSessions(b.Ctx, ada.ID, session.Secret)
	if err != nil || len(open) != 2 || !open[0].Here || !open[0].Used.Equal(later.Clock.Now()) || open[0].Device != "" {
		t.Errorf("open sessions: %+v, %v", open, err)
	}
	later.Clock.Advance(31 * 24 * time.Hour)
	if later.open(session) {
		t.Error("an unused session is still open")
	}
}

// A request with a session sends no command to the server, except once an hour to record the use of
// the session.
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
			n, parseErr := strconv.Atoi(number)
			if err = errors.Join(err, parseErr); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := count()
		ask()
		return count() - before - 1 // the INFO command itself
	}
	ask := func() {
		if !b.open(session) {
			t.Error("the session has ended")
		}
	}
	// Background jobs send commands, too.
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
		t.Errorf("%d commands for a cached session, want 0", n)
	}
	b.Clock.Advance(time.Minute)
	if n := commands(ask); n == 0 {
		t.Error("the use of the session was not recorded after an hour")
	}
	if n := fewest(); n != 0 {
		t.Errorf("%d commands for a session whose use was just recorded, want 0", n)
	}
}

// If one process ends a session, the session soon ends in the other process. A session that both
// processes use stays open.
func TestSessionsOfProcesses(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	local, peer := &bundle{socialtest.Watched(t, db.URL())}, &bundle{socialtest.Watched(t, db.URL())}
	local.NewUser("ada")
	a, b := local.login("ada"), peer.login("ada")
	var wg sync.WaitGroup
	for _, process := range []*bundle{local, peer} {
		process.Clock.Advance(2 * time.Hour)
		for range 8 {
			wg.Go(func() {
				for range 20 {
					if !process.open(a) || !process.open(b) {
						t.Error("a session has ended")
					}
				}
			})
		}
	}
	wg.Wait()
	if err := local.Sessions.Logout(local.Ctx, 1, b.Secret); err != nil {
		t.Fatal(err)
	}
	peer.Eventually("the session to end in the other process", func() bool { return !peer.open(b) })
	if !peer.open(a) || !local.open(a) {
		t.Error("the other session has ended, too")
	}
}

// While the database refuses writes, open sessions stay open and expired sessions stay closed.
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
		t.Error("a session ended while the database refuses writes")
	}
	b.Clock.Advance(40 * 24 * time.Hour)
	if b.open(session) {
		t.Error("an expired session is open while the database refuses writes")
	}
	set("0")
	if b.open(session) {
		t.Error("an expired session opened again")
	}
}
