package social_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"retwis/internal/social"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	b := setup(t)
	session, err := b.Register(b.ctx, "Antirez", password)
	if err != nil {
		t.Fatal(err)
	}
	uid := session.User.ID
	if uid != 1 || session.User.Name != "Antirez" || len(session.Secret) < 32 {
		t.Fatalf("session = %+v", session)
	}
	for want, got := range map[string]string{
		"1":          b.do("HGET", "users", "antirez"),
		"Antirez":    b.do("HGET", "user:1", "username"),
		"1700000000": b.do("HGET", "user:1", "joined"),
		"Antirez ":   b.do("ZRANGE", "users_by_time", "0", "-1") + " ",
	} {
		if got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
	}
	if phc := b.do("HGET", "user:1", "password"); !strings.HasPrefix(phc, "$argon2id$") {
		t.Errorf("password is stored as %q", phc)
	}
	for _, key := range []string{"user:1", "auths"} {
		if strings.Contains(b.do("HGETALL", key), session.Secret) {
			t.Errorf("%s holds the secret of the session in clear", key)
		}
	}
	for _, name := range []string{"antirez", "ANTIREZ", "Antirez"} {
		if _, err := b.Register(b.ctx, name, password); !errors.Is(err, social.ErrTaken) {
			t.Errorf("Register(%q): %v, want ErrTaken", name, err)
		}
		if user, err := b.UserByName(b.ctx, name); err != nil || user.Name != "Antirez" {
			t.Errorf("UserByName(%q) = %+v, %v", name, user, err)
		}
	}
	if result := b.wantHealthy(); result.Users != 1 || result.Sessions != 1 || result.Leftovers != 0 {
		t.Errorf("check = %+v", result)
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct{ name, password, field string }{
		{"", password, "username"},
		{"a b", password, "username"},
		{"ünal", password, "username"},
		{"<script>", password, "username"},
		{strings.Repeat("a", 21), password, "username"},
		{"fine", "", "password"},
		{"fine", "1234567", "password"},
		{"fine", strings.Repeat("p", 129), "password"},
		{"fine", "\xff\xff\xff\xff\xff\xff\xff\xff", "password"},
	} {
		_, err := b.Register(b.ctx, c.name, c.password)
		var invalid *social.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("Register(%q, %q): %v, want an InvalidError of %s", c.name, c.password, err, c.field)
		}
	}
	if keys := b.do("EXISTS", "users") + b.do("EXISTS", "next_user_id"); keys != "00" {
		t.Errorf("something was written: %s", keys)
	}
}

// Two who want one name at the same moment: one has it, and of the others
// nothing is left.
func TestRegisterRace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const racers = 20
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { _, errs[i] = b.Register(b.ctx, "wanted", password) })
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
		t.Errorf("%d of %d have the name", won, racers)
	}
	if result := b.wantHealthy(); result.Users != 1 || result.Leftovers != 0 {
		t.Errorf("check = %+v", result)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Register(b.ctx, "Pia", password)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, password string }{
		{"Pia", "wrong horse"},
		{"Pia", ""},
		{"nobody", password},
		{"", password},
		{"Pia", strings.Repeat("x", 1<<20)},
		{strings.Repeat("x", 1<<20), password},
		{"\xff", password},
	} {
		if _, err := b.Login(b.ctx, c.name, c.password); !errors.Is(err, social.ErrBadLogin) {
			t.Errorf("Login(%.20q, %.20q): %v, want ErrBadLogin", c.name, c.password, err)
		}
	}
	second, err := b.Login(b.ctx, "pia", password)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []social.Session{first, second} {
		if user, err := b.SessionUser(b.ctx, session.Secret); err != nil || user != first.User {
			t.Errorf("SessionUser = %+v, %v", user, err)
		}
	}
	if err := b.Logout(b.ctx, first.User.ID); err != nil {
		t.Fatal(err)
	}
	for _, session := range []social.Session{first, second} {
		if _, err := b.SessionUser(b.ctx, session.Secret); !errors.Is(err, social.ErrNoSession) {
			t.Errorf("a session that was logged out: %v, want ErrNoSession", err)
		}
	}
	if n := b.do("HLEN", "auths"); n != "0" {
		t.Errorf("%s sessions are left in auths", n)
	}
}

// A service that has a session in memory hears of its end from the server.
func TestLogoutElsewhere(t *testing.T) {
	t.Parallel()
	db := setup(t)
	other := on(t, db.client)
	session, err := db.Register(db.ctx, "roamer", password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.SessionUser(db.ctx, session.Secret); err != nil {
		t.Fatal(err)
	}
	if err := db.Logout(db.ctx, session.User.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := other.SessionUser(db.ctx, session.Secret); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("SessionUser elsewhere: %v, want ErrNoSession", err)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, err := b.Register(b.ctx, "many", password)
	if err != nil {
		t.Fatal(err)
	}
	var last social.Session
	for range 10 {
		if last, err = b.Login(b.ctx, "many", password); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.SessionUser(b.ctx, first.Secret); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("the eleventh session is still open: %v", err)
	}
	if _, err := b.SessionUser(b.ctx, last.Secret); err != nil {
		t.Error(err)
	}
	if n := b.do("HLEN", "auths"); n != "10" {
		t.Errorf("%s sessions in auths, want 10", n)
	}
	b.wantHealthy()
}

func TestSessionUserRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	session, err := b.Register(b.ctx, "victim", password)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{
		"", "x", strings.Repeat("A", 43), strings.Repeat("x", 1<<20),
		b.do("HGET", "user:1", "auth"), // what a copy of the database shows
		session.Secret + "A",
	} {
		if _, err := b.SessionUser(b.ctx, secret); !errors.Is(err, social.ErrNoSession) {
			t.Errorf("SessionUser(%.50q): %v, want ErrNoSession", secret, err)
		}
	}
}

// A flood of log-ins waits for a core, up to a bound, and past it is turned
// away instead of piling up.
func TestPasswordFlood(t *testing.T) {
	t.Parallel()
	db := setup(t)
	svc, err := social.New(db.client, social.Options{HashParams: cheap, Hashers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	if _, err := svc.Register(db.ctx, "calm", password); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(db.ctx)
	cancel()
	if _, err := svc.Login(ctx, "calm", password); err == nil {
		t.Error("a log-in that nobody waits for any more succeeded")
	}
	var wg sync.WaitGroup
	errs := make(chan error, 1000)
	for range 1000 {
		wg.Go(func() {
			_, err := svc.Authenticate(db.ctx, "calm", password)
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil && !errors.Is(err, social.ErrBusy) {
			t.Error(err)
		}
	}
}

func TestLatestUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		b.register(fmt.Sprintf("User%d", i))
		b.clock.advance(1e9)
	}
	names, err := b.LatestUsers(b.ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, " "); got != "User4 User3 User2" {
		t.Errorf("latest users: %s", got)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := social.New(nil, social.Options{}); err == nil {
		t.Error("New took no client")
	}
	b := setup(t)
	if _, err := social.New(b.client, social.Options{Hashers: -1}); err == nil || !strings.Contains(err.Error(), "Hashers") {
		t.Errorf("New with a negative number of hashers: %v", err)
	}
}
