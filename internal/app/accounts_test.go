package app_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/socialtest"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	b := setup(t)
	session, err := b.Accounts.Register(b.Ctx, "Antirez", socialtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	uid := session.User.ID
	if uid != 1 || session.User.Name != "Antirez" || len(session.Secret) < 32 {
		t.Fatalf("session = %+v", session)
	}
	for want, got := range map[string]string{
		"1":          b.Redis("HGET", "users", "antirez"),
		"Antirez":    b.Redis("HGET", "user:1", "username"),
		"1700000000": b.Redis("HGET", "user:1", "joined"),
		"Antirez ":   b.Redis("ZRANGE", "users_by_time", "0", "-1") + " ",
	} {
		if got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
	}
	if phc := b.Redis("HGET", "user:1", "password"); !strings.HasPrefix(phc, "$argon2id$") {
		t.Errorf("password is stored as %q, want an argon2id hash", phc)
	}
	_, random, _ := strings.Cut(session.Secret, ".")
	for _, key := range []string{"user:1", "sessions:{user:1}"} {
		if strings.Contains(b.Redis("HGETALL", key), random) {
			t.Errorf("%s holds the session secret in clear text", key)
		}
	}
	for _, name := range []string{"antirez", "ANTIREZ", "Antirez"} {
		if _, err := b.Accounts.Register(b.Ctx, name, socialtest.Password); !errors.Is(err, social.ErrTaken) {
			t.Errorf("Register(%q): %v, want ErrTaken", name, err)
		}
		if user, err := b.Users.UserByName(b.Ctx, name); err != nil || user.Name != "Antirez" {
			t.Errorf("UserByName(%q) = %+v, %v", name, user, err)
		}
	}
	if result := b.WantHealthy(); result.Users != 1 || result.Sessions != 1 || result.Leftovers != 0 {
		t.Errorf("check = %+v", result)
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct{ name, password, field string }{
		{"", socialtest.Password, "username"},
		{"a b", socialtest.Password, "username"},
		{"ünal", socialtest.Password, "username"},
		{"<script>", socialtest.Password, "username"},
		{strings.Repeat("a", 21), socialtest.Password, "username"},
		{"fine", "", "password"},
		{"fine", "1234567", "password"},
		{"fine", strings.Repeat("p", 129), "password"},
		{"fine", "\xff\xff\xff\xff\xff\xff\xff\xff", "password"},
	} {
		_, err := b.Accounts.Register(b.Ctx, c.name, c.password)
		var invalid *social.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("Register(%q, %q): %v, want an InvalidError of %s", c.name, c.password, err, c.field)
		}
	}
	if keys := b.Redis("EXISTS", "users") + b.Redis("EXISTS", "next_user_id"); keys != "00" {
		t.Errorf("something was written: EXISTS = %s, want 00", keys)
	}
}

// If several registrations of one name run at once, one succeeds and the others leave nothing
// behind.
func TestRegisterRace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const racers = 20
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { _, errs[i] = b.Accounts.Register(b.Ctx, "wanted", socialtest.Password) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, social.ErrTaken) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d registrations succeeded, want 1", won, racers)
	}
	if result := b.WantHealthy(); result.Users != 1 || result.Leftovers != 0 {
		t.Errorf("check = %+v", result)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Accounts.Register(b.Ctx, "Pia", socialtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, password string }{
		{"Pia", "wrong horse"},
		{"Pia", ""},
		{"nobody", socialtest.Password},
		{"", socialtest.Password},
		{"Pia", strings.Repeat("x", 1<<20)},
		{strings.Repeat("x", 1<<20), socialtest.Password},
		{"\xff", socialtest.Password},
	} {
		if _, err := b.Auth.Login(b.Ctx, c.name, c.password); !errors.Is(err, social.ErrBadLogin) {
			t.Errorf("Login(%.20q, %.20q): %v, want ErrBadLogin", c.name, c.password, err)
		}
	}
	second, err := b.Auth.Login(b.Ctx, "pia", socialtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []auth.Session{first, second} {
		if user, err := b.Sessions.SessionUser(b.Ctx, session.Secret); err != nil || user != first.User {
			t.Errorf("SessionUser = %+v, %v", user, err)
		}
	}
	if err := b.Sessions.LogoutEverywhere(b.Ctx, first.User.ID); err != nil {
		t.Fatal(err)
	}
	for _, session := range []auth.Session{first, second} {
		if _, err := b.Sessions.SessionUser(b.Ctx, session.Secret); !errors.Is(err, social.ErrNoSession) {
			t.Errorf("a session that was logged out: %v, want ErrNoSession", err)
		}
	}
	if left := b.Redis("EXISTS", "sessions:{user:1}") + b.Redis("HEXISTS", "user:1", "auth"); left != "00" {
		t.Errorf("sessions are left: EXISTS and HEXISTS = %s, want 00", left)
	}
}

// The server notifies a process that caches a session when the session ends.
func TestLogoutElsewhere(t *testing.T) {
	t.Parallel()
	db := setup(t)
	other := on(t, db.DB)
	session, err := db.Accounts.Register(db.Ctx, "roamer", socialtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Sessions.SessionUser(db.Ctx, session.Secret); err != nil {
		t.Fatal(err)
	}
	if err := db.Sessions.Logout(db.Ctx, session.User.ID, session.Secret); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Sessions.SessionUser(db.Ctx, session.Secret); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("SessionUser in the other process: %v, want ErrNoSession", err)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Accounts.Register(b.Ctx, "many", socialtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	var last auth.Session
	for range 10 {
		if last, err = b.Auth.Login(b.Ctx, "many", socialtest.Password); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Sessions.SessionUser(b.Ctx, first.Secret); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("the oldest of eleven sessions: %v, want ErrNoSession", err)
	}
	if _, err := b.Sessions.SessionUser(b.Ctx, last.Secret); err != nil {
		t.Error(err)
	}
	if n := b.Redis("HLEN", "sessions:{user:1}"); n != "10" {
		t.Errorf("%s sessions, want 10", n)
	}
	b.WantHealthy()
}

func TestSessionUserRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	session, err := b.Accounts.Register(b.Ctx, "victim", socialtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	other := b.NewUser("other")
	random, digest := session.Secret[len("1."):], b.Redis("HGET", "user:1", "auth") // as seen in a copy of the database
	for _, secret := range []string{
		"", "x", strings.Repeat("A", 43), strings.Repeat("x", 1<<20), digest, "1." + digest,
		session.Secret + "A", session.Secret[:len(session.Secret)-1], random, "." + random, "2." + random, "01." + random, "1.1." + random,
		"99999999999999999999." + random,
	} {
		for range 2 { // the second time from the cache
			if _, err := b.Sessions.SessionUser(b.Ctx, secret); !errors.Is(err, social.ErrNoSession) {
				t.Errorf("SessionUser(%.50q): %v, want ErrNoSession", secret, err)
			}
		}
		if user, err := b.Sessions.SessionUser(b.Ctx, session.Secret); err != nil || user.ID != 1 {
			t.Fatalf("SessionUser of the open session after %.50q: %v", secret, err)
		}
	}
	// The secret of another user's session ends no session.
	if err := b.Sessions.Logout(b.Ctx, other.ID, session.Secret); err != nil {
		t.Error(err)
	}
	if err := b.Sessions.LogoutOthers(b.Ctx, other.ID, session.Secret); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("LogoutOthers with the secret of another user: %v, want ErrNoSession", err)
	}
	if open, err := b.Sessions.SessionOpen(b.Ctx, b.DB, other.ID, session.Secret); err != nil || open[0] {
		t.Errorf("SessionOpen with the secret of another user: %v, %v", open, err)
	}
}

// Concurrent log-ins queue for a hasher up to a limit; excess log-ins are rejected.
func TestPasswordFlood(t *testing.T) {
	t.Parallel()
	db := setup(t)
	svc, err := app.New(db.DB, app.Options{HashParams: socialtest.CheapHash, Hashers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	if _, err := svc.Accounts.Register(db.Ctx, "calm", socialtest.Password); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(db.Ctx)
	cancel()
	if _, err := svc.Auth.Login(ctx, "calm", socialtest.Password); err == nil {
		t.Error("a log-in with a canceled context succeeded")
	}
	var wg sync.WaitGroup
	errs := make(chan error, 1000)
	for range 1000 {
		wg.Go(func() {
			_, err := svc.Auth.Authenticate(db.Ctx, "calm", socialtest.Password)
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil && !errors.Is(err, auth.ErrBusy) {
			t.Error(err)
		}
	}
}

func TestLatestUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		b.NewUser(fmt.Sprintf("User%d", i))
		b.Clock.Advance(1e9)
	}
	users, err := b.Users.LatestUsers(b.Ctx, &social.Viewer{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := userNames(users); got != "User4 User3 User2" {
		t.Errorf("latest users: %s", got)
	}
}

func userNames(users []social.User) string {
	names := make([]string, len(users))
	for i, user := range users {
		names[i] = user.Name
	}
	return strings.Join(names, " ")
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := app.New(nil, app.Options{}); err == nil {
		t.Error("New accepted a nil client")
	}
	b := setup(t)
	if _, err := app.New(b.DB, app.Options{Hashers: -1}); err == nil || !strings.Contains(err.Error(), "Hashers") {
		t.Errorf("New with a negative number of hashers: %v", err)
	}
}
