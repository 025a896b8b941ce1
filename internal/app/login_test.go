package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// code returns the current code of an authenticator app.
func (b *bundle) code(key string) string {
	b.T.Helper()
	code, err := totp.GenerateCode(key, b.Clock.Now())
	if err != nil {
		b.T.Fatal(err)
	}
	return code
}

// protected creates a user with a second factor. It returns the user, the key of the authenticator
// app and the recovery codes. The current code is used up.
func (b *bundle) protected(name string) (user social.User, key string, codes []string) {
	b.T.Helper()
	user = b.NewUser(name)
	key, err := b.Auth.SetUpSecondFactor(b.Ctx, user, socialtest.Password)
	if err == nil {
		codes, err = b.Auth.ConfirmSecondFactor(b.Ctx, user.ID, b.code(key))
	}
	if err != nil {
		b.T.Fatal(err)
	}
	return user, key, codes
}

// begin starts a log-in with a second factor and returns the secret of the log-in.
func (b *bundle) begin(name string) string {
	b.T.Helper()
	_, err := b.Auth.Login(b.Ctx, name, socialtest.Password)
	var pending *auth.SecondFactorError
	if !errors.As(err, &pending) {
		b.T.Fatalf("log-in with a second factor: %v", err)
	}
	return pending.Secret
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bundle{
		"one server": setup(t),
		"Cluster":    on(t, redistest.Cluster(t, 2).Client(t)),
		"encrypted": on(t, redistest.DB(t).Client(t), func(opt *app.Options) {
			opt.SecretKey = []byte("a key of the operator")
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.T = t
			ada, key, codes := b.protected("ada")
			if stored := b.Redis("HGET", "user:1", "totp"); (stored == key) == (name == "encrypted") {
				t.Errorf("the key is stored as %q", stored)
			}
			if state, err := b.Auth.SecondFactor(b.Ctx, ada.ID); err != nil || !state.On || state.Codes != 10 || len(codes) != 10 {
				t.Errorf("state: %+v, %v, %d codes", state, err, len(codes))
			}
			if _, err := b.Auth.SetUpSecondFactor(b.Ctx, ada, socialtest.Password); !errors.Is(err, auth.ErrSecondFactorState) {
				t.Errorf("a second set-up: %v, want ErrSecondFactorState", err)
			}
			finish := func(secret, code string) error {
				t.Helper()
				done, err := b.Auth.FinishLogin(b.Ctx, secret, code)
				if err == nil && (!b.open(done.Session) || done.User.Name != "ada") {
					t.Errorf("the session of %q is not open", code)
				}
				return err
			}
			secret := b.begin("ada")
			if err := finish(secret, b.code(key)); !errors.Is(err, auth.ErrBadCode) {
				t.Errorf("the code that confirmed the second factor, again: %v, want ErrBadCode", err)
			}
			b.Clock.Advance(30 * time.Second)
			late := b.code(key)
			b.Clock.Advance(30 * time.Second)
			if err := finish(secret, late[:3]+" "+late[3:]); err != nil {
				t.Errorf("a code of the previous step: %v", err)
			}
			if err := finish(secret, b.code(key)); !errors.Is(err, auth.ErrNoLogin) {
				t.Errorf("a log-in that has succeeded, again: %v, want ErrNoLogin", err)
			}
			if err := finish(b.begin("ada"), late); !errors.Is(err, auth.ErrBadCode) {
				t.Errorf("a used code: %v, want ErrBadCode", err)
			}
			if err := finish(b.begin("ada"), " "+strings.ToUpper(codes[3])+" "); err != nil {
				t.Errorf("a recovery code: %v", err)
			}
			if err := finish(b.begin("ada"), codes[3]); !errors.Is(err, auth.ErrBadCode) {
				t.Errorf("a used recovery code: %v, want ErrBadCode", err)
			}
			if state, _ := b.Auth.SecondFactor(b.Ctx, ada.ID); state.Codes != 9 {
				t.Errorf("%d codes are left, want 9", state.Codes)
			}
			if _, err := b.Auth.RenewRecoveryCodes(b.Ctx, ada, "wrong horse"); !errors.Is(err, social.ErrBadLogin) {
				t.Errorf("new codes with a wrong password: %v, want ErrBadLogin", err)
			}
			renewed, err := b.Auth.RenewRecoveryCodes(b.Ctx, ada, socialtest.Password)
			if err != nil || finish(b.begin("ada"), codes[4]) == nil || finish(b.begin("ada"), renewed[0]) != nil {
				t.Errorf("new codes: %v", err)
			}
			// A pending log-in is valid for five minutes and allows five tries.
			secret = b.begin("ada")
			b.Clock.Advance(6 * time.Minute)
			if err := finish(secret, b.code(key)); !errors.Is(err, auth.ErrNoLogin) {
				t.Errorf("after six minutes: %v, want ErrNoLogin", err)
			}
			secret = b.begin("ada")
			for range 5 {
				if err := finish(secret, "000000x"); !errors.Is(err, auth.ErrBadCode) {
					t.Errorf("a wrong code: %v, want ErrBadCode", err)
				}
			}
			if err := finish(secret, b.code(key)); !errors.Is(err, auth.ErrNoLogin) {
				t.Errorf("after five wrong codes: %v, want ErrNoLogin", err)
			}
			if err := b.Auth.TurnOffSecondFactor(b.Ctx, ada, "wrong horse"); !errors.Is(err, social.ErrBadLogin) {
				t.Errorf("turned off with a wrong password: %v, want ErrBadLogin", err)
			}
			secret = b.begin("ada")
			if err := b.Auth.TurnOffSecondFactor(b.Ctx, ada, socialtest.Password); err != nil {
				t.Fatal(err)
			}
			if err := finish(secret, b.code(key)); !errors.Is(err, auth.ErrNoLogin) {
				t.Errorf("a log-in from before the second factor was turned off: %v, want ErrNoLogin", err)
			}
			if left := b.Redis("HMGET", "user:1", "totp", "totp_step", "totp_new", "recovery", "code_tries"); strings.TrimSpace(left) != "" {
				t.Errorf("fields are left: %q", left)
			}
			b.login("ada")
			for _, bad := range []string{"", "1", "1.x", "x.y", "9." + strings.Repeat("a", 43), strings.Repeat("1.", 1<<16)} {
				if err := finish(bad, "123456"); !errors.Is(err, auth.ErrNoLogin) {
					t.Errorf("log-in %.20q: %v, want ErrNoLogin", bad, err)
				}
			}
			b.WantHealthy()
		})
	}
}

// Wrong codes at concurrent log-ins are counted together. The owner can log in with a recovery
// code.
func TestSecondFactorGuesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, key, codes := b.protected("ada")
	b.Clock.Advance(time.Minute)
	results := make(chan error, 300)
	var wg sync.WaitGroup
	for range 30 {
		secret := b.begin("ada")
		for range 10 {
			wg.Go(func() {
				_, err := b.Auth.FinishLogin(b.Ctx, secret, "no code")
				results <- err
			})
		}
		wg.Wait()
	}
	close(results)
	wrong := 0
	for err := range results {
		switch {
		case errors.Is(err, auth.ErrBadCode):
			wrong++
		case !errors.Is(err, auth.ErrNoLogin) && !errors.Is(err, auth.ErrTooManyCodes):
			t.Error(err)
		}
	}
	if wrong != 20 {
		t.Errorf("%d wrong codes, want 20", wrong)
	}
	if _, err := b.Auth.FinishLogin(b.Ctx, b.begin("ada"), b.code(key)); !errors.Is(err, auth.ErrTooManyCodes) {
		t.Errorf("a code after too many codes: %v, want ErrTooManyCodes", err)
	}
	if _, err := b.Auth.FinishLogin(b.Ctx, b.begin("ada"), codes[0]); err != nil {
		t.Errorf("a recovery code after too many codes: %v", err)
	}
}

// If a code, recovery code, reset link or old password is used several times at once, one use
// succeeds.
func TestUsedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, key, codes := b.protected("ada")
	once := func(what string, use func(i int) error) {
		t.Helper()
		errs := make([]error, 5)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = use(i) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, auth.ErrBadCode) && !errors.Is(err, auth.ErrNoReset) && !errors.Is(err, social.ErrBadLogin):
				t.Errorf("%s: %v", what, err)
			}
		}
		if won != 1 {
			t.Errorf("%s: %d uses succeeded, want 1", what, won)
		}
	}
	for round := range 5 {
		b.Clock.Advance(time.Minute)
		var secrets []string
		for range 5 {
			secrets = append(secrets, b.begin("ada"))
		}
		code := b.code(key)
		once("a code", func(i int) error {
			_, err := b.Auth.FinishLogin(b.Ctx, secrets[i], code)
			return err
		})
		secrets = secrets[:0]
		for range 5 {
			secrets = append(secrets, b.begin("ada"))
		}
		once("a recovery code", func(i int) error {
			_, err := b.Auth.FinishLogin(b.Ctx, secrets[i], codes[round])
			return err
		})
		token, _, err := b.Auth.IssueReset(b.Ctx, social.Operator, ada.ID)
		if err != nil {
			t.Fatal(err)
		}
		once("a reset link", func(int) error {
			_, err := b.Auth.ResetPassword(b.Ctx, token, socialtest.Password)
			return err
		})
		once("a change of the password", func(i int) error {
			_, err := b.Auth.ChangePassword(b.Ctx, ada, socialtest.Password, fmt.Sprint("another horse ", i))
			return err
		})
		token, _, err = b.Auth.IssueReset(b.Ctx, social.Operator, ada.ID)
		if err == nil {
			_, err = b.Auth.ResetPassword(b.Ctx, token, socialtest.Password)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if result := b.WantHealthy(); result.Leftovers != 0 {
		t.Errorf("check = %+v", result)
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	first, second := b.login("ada"), b.login("ada")
	if _, err := b.Auth.ChangePassword(b.Ctx, ada, "wrong horse", "a new horse"); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("change with a wrong password: %v, want ErrBadLogin", err)
	}
	var invalid *social.InvalidError
	for _, weak := range []string{"", "short", "password1", "Retwis2024", "12345678"} {
		if _, err := b.Auth.ChangePassword(b.Ctx, ada, socialtest.Password, weak); !errors.As(err, &invalid) || invalid.Field != "password" {
			t.Errorf("new password %q: %v, want an InvalidError of password", weak, err)
		}
	}
	if _, err := b.Accounts.Register(b.Ctx, "antirez", "Antirez123"); !errors.As(err, &invalid) {
		t.Errorf("a password derived from the username: %v, want an InvalidError", err)
	}
	session, err := b.Auth.ChangePassword(b.Ctx, ada, socialtest.Password, "a new horse")
	if err != nil {
		t.Fatal(err)
	}
	if b.open(first) || b.open(second) || !b.open(session) {
		t.Error("an old session is open, or the new session is not")
	}
	if _, err := b.Auth.Login(b.Ctx, "ada", socialtest.Password); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("the old password: %v, want ErrBadLogin", err)
	}
	if _, err := b.Auth.Login(b.Ctx, "ada", "a new horse"); err != nil {
		t.Error(err)
	}
	// A plaintext password of the original program can be changed, too.
	b.Redis("HSET", "user:1", "password", "p1pp0")
	if _, err := b.Auth.ChangePassword(b.Ctx, ada, "p1pp0", "a newer horse"); err != nil || strings.Contains(b.Redis("HGET", "user:1", "password"), "horse") {
		t.Error(err)
	}
	b.WantHealthy()
}

// A log-in with the old password fails if the password changes during the log-in.
func TestLoginWhilePasswordChanges(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	other := on(t, client)
	var trigger atomic.Pointer[[]string] // the password changes once, ahead of this command
	b := on(t, &interceptor{Client: client, before: func(cmd []string) {
		if want := trigger.Load(); want == nil || len(cmd) < len(*want) || !slices.Equal(cmd[:len(*want)], *want) {
			return
		}
		trigger.Store(nil)
		user, err := other.Users.UserByName(other.Ctx, "ada")
		other.must(err)
		_, err = other.Auth.ChangePassword(other.Ctx, user, socialtest.Password, "a new horse")
		other.must(err)
	}})
	ada := b.NewUser("ada")
	restore := func() {
		t.Helper()
		if trigger.Load() != nil {
			t.Fatal("the password has not changed during the log-in")
		}
		if open, err := b.Sessions.OpenSessions(b.Ctx, ada.ID, ""); err != nil || len(open) != 1 {
			t.Errorf("%d sessions, %v; want 1", len(open), err)
		}
		_, err := b.Auth.ChangePassword(b.Ctx, ada, "a new horse", socialtest.Password)
		b.must(err)
	}
	afterVerify, beforeOpen := &[]string{"HMGET", "user:1", "totp", "recovery"}, &[]string{"ZADD", storage.UsersByTime}
	for _, when := range []*[]string{afterVerify, beforeOpen} {
		trigger.Store(when)
		if session, err := b.Auth.Login(b.Ctx, "ada", socialtest.Password); !errors.Is(err, social.ErrBadLogin) {
			t.Errorf("log-in with the old password: %q, %v; want ErrBadLogin", session.User.Name, err)
		}
		restore()
	}
	key, err := b.Auth.SetUpSecondFactor(b.Ctx, ada, socialtest.Password)
	b.must(err)
	_, err = b.Auth.ConfirmSecondFactor(b.Ctx, ada.ID, b.code(key))
	b.must(err)
	trigger.Store(afterVerify)
	if _, err := b.Auth.Login(b.Ctx, "ada", socialtest.Password); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("the first step of a log-in with a second factor: %v, want ErrBadLogin", err)
	}
	restore()
	secret := b.begin("ada")
	b.Clock.Advance(time.Minute)
	trigger.Store(beforeOpen)
	if _, err := b.Auth.FinishLogin(b.Ctx, secret, b.code(key)); !errors.Is(err, auth.ErrNoLogin) {
		t.Errorf("the second step of a log-in with a second factor: %v, want ErrNoLogin", err)
	}
	restore()
	b.WantHealthy()
}

func TestReset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, key, _ := b.protected("ada")
	session := func() auth.Session {
		t.Helper()
		b.Clock.Advance(time.Minute)
		done, err := b.Auth.FinishLogin(b.Ctx, b.begin("ada"), b.code(key))
		if err != nil {
			t.Fatal(err)
		}
		return done.Session
	}()
	issue := func() string {
		t.Helper()
		token, expires, err := b.Auth.IssueReset(b.Ctx, social.Operator, ada.ID)
		if err != nil || !expires.Equal(b.Clock.Now().Add(24*time.Hour)) {
			t.Fatal(expires, err)
		}
		return token
	}
	replaced, token := issue(), issue()
	waiting := b.begin("ada")
	for _, bad := range []string{replaced, "", "1", token + "x", token[:len(token)-1], "2" + token[1:], "9.x"} {
		if _, err := b.Auth.ResetUser(b.Ctx, bad); !errors.Is(err, auth.ErrNoReset) {
			t.Errorf("reset link %q: %v, want ErrNoReset", bad, err)
		}
	}
	if user, err := b.Auth.ResetUser(b.Ctx, token); err != nil || user.ID != ada.ID {
		t.Errorf("ResetUser = %+v, %v; want ada", user, err)
	}
	var invalid *social.InvalidError
	if _, err := b.Auth.ResetPassword(b.Ctx, token, "password"); !errors.As(err, &invalid) {
		t.Errorf("a weak password: %v, want an InvalidError", err)
	}
	if _, err := b.Auth.ResetPassword(b.Ctx, token, "a new horse"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Auth.ResetPassword(b.Ctx, token, "a newer horse"); !errors.Is(err, auth.ErrNoReset) {
		t.Errorf("a used link: %v, want ErrNoReset", err)
	}
	if _, err := b.Auth.FinishLogin(b.Ctx, waiting, b.code(key)); !errors.Is(err, auth.ErrNoLogin) {
		t.Errorf("a log-in begun before the reset: %v, want ErrNoLogin", err)
	}
	if state, err := b.Auth.SecondFactor(b.Ctx, ada.ID); b.open(session) || err != nil || !state.On {
		t.Error("a session is open after the reset, or the second factor is off")
	}
	token = issue()
	b.Clock.Advance(24*time.Hour + time.Second)
	if _, err := b.Auth.ResetPassword(b.Ctx, token, "a newer horse"); !errors.Is(err, auth.ErrNoReset) {
		t.Errorf("an expired link: %v, want ErrNoReset", err)
	}
	if _, _, err := b.Auth.IssueReset(b.Ctx, social.Operator, 99); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("a link for a missing user: %v, want ErrNotFound", err)
	}
	b.WantHealthy()
}

// A copy of the database contains no password, session, log-in, reset link or recovery code in
// clear text. With an operator key it contains no key of an authenticator app either.
func TestNoSecretIsStored(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.Own(t).Client(t), func(opt *app.Options) { opt.SecretKey = []byte("a key of the operator") })
	ada, key, codes := b.protected("ada")
	b.Clock.Advance(time.Minute)
	done, err := b.Auth.FinishLogin(b.Ctx, b.begin("ada"), b.code(key))
	if err != nil {
		t.Fatal(err)
	}
	reset, _, err := b.Auth.IssueReset(b.Ctx, social.Operator, ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	grace := b.NewUser("grace")
	set, err := b.Auth.SetUpSecondFactor(b.Ctx, grace, socialtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{
		"the password": socialtest.Password, "the session": done.Secret, "the key": key, "the reset link": reset, "the unconfirmed key": set,
		"the pending log-in": b.begin("ada"), "the secret part of the link": reset[2:],
	}
	for i, code := range codes {
		secrets[fmt.Sprint("recovery code ", i)] = code
		secrets[fmt.Sprint("bare recovery code ", i)] = strings.ReplaceAll(code, "-", "")
	}
	dump := dumpAll(t, b.Ctx, b)
	for what, secret := range secrets {
		if strings.Contains(dump, secret) {
			t.Errorf("the database contains %s in clear text", what)
		}
	}
	if !strings.Contains(dump, "totp") || !strings.Contains(dump, "logins:{user:1}") {
		t.Errorf("the dump is incomplete: %s", dump)
	}
}

// dumpAll returns every key with its content.
func dumpAll(t *testing.T, ctx context.Context, b *bundle) string {
	t.Helper()
	keys, err := b.DB.Do(ctx, b.DB.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, key := range keys {
		kind, err := b.DB.Do(ctx, b.DB.B().Type().Key(key).Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		read, ok := map[string][]string{
			"string": {"GET"}, "hash": {"HGETALL"}, "list": {"LRANGE", "0", "-1"}, "set": {"SMEMBERS"},
			"zset": {"ZRANGE", "0", "-1"}, "stream": {"XRANGE", "-", "+"},
		}[kind]
		if !ok {
			t.Fatalf("%s is a %s", key, kind)
		}
		message, err := b.DB.Do(ctx, b.DB.B().Arbitrary(read[0]).Keys(key).Args(read[1:]...).Build()).ToMessage()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&text, key, message.String())
	}
	return text.String()
}
