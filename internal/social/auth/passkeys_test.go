package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/moderation"
	"retwis/internal/social/socialtest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

var testPlace = auth.Place{Site: "Retwis", Host: "retwis.example", Origin: "https://retwis.example"}

// device creates and uses passkeys as a browser with a phone does.
type device struct {
	*socialtest.Bundle
	place auth.Place
	authn virtualwebauthn.Authenticator
	key   virtualwebauthn.Credential
}

func newDevice(b *socialtest.Bundle, user social.User) *device {
	return &device{
		Bundle: b, place: testPlace, key: newKey(b),
		authn: virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte(fmt.Sprint(user.ID))}),
	}
}

// newKey returns a key whose coordinates have 32 bytes each, because virtualwebauthn drops leading
// zeros.
func newKey(b *socialtest.Bundle) virtualwebauthn.Credential {
	b.T.Helper()
	for {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			b.T.Fatal(err)
		}
		point, err := key.PublicKey.Bytes()
		if err != nil {
			b.T.Fatal(err)
		}
		if point[1] == 0 || point[33] == 0 {
			continue
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			b.T.Fatal(err)
		}
		return virtualwebauthn.NewCredentialWithImportedKey(virtualwebauthn.KeyTypeEC2, der)
	}
}

func (d *device) party() virtualwebauthn.RelyingParty {
	return virtualwebauthn.RelyingParty{Name: d.place.Site, ID: d.place.Host, Origin: d.place.Origin}
}

func (d *device) text(options any) string {
	d.T.Helper()
	text, err := json.Marshal(options)
	if err != nil {
		d.T.Fatal(err)
	}
	return string(text)
}

func (d *device) begin(user social.User) (secret, response string) {
	d.T.Helper()
	secret, options, err := d.Passkeys.Begin(d.Ctx, d.place, user, socialtest.Password)
	if err != nil {
		d.T.Fatal(err)
	}
	parsed, err := virtualwebauthn.ParseAttestationOptions(d.text(options))
	if err != nil {
		d.T.Fatal(err)
	}
	return secret, virtualwebauthn.CreateAttestationResponse(d.party(), d.authn, d.key, *parsed)
}

func (d *device) add(user social.User, name string) error {
	d.T.Helper()
	secret, response := d.begin(user)
	err := d.Passkeys.Add(d.Ctx, d.place, user, secret, name, response)
	d.authn.AddCredential(d.key)
	return err
}

func (d *device) use() (secret, response string) {
	d.T.Helper()
	secret, options, err := d.Passkeys.BeginLogin(d.Ctx, d.place)
	if err != nil {
		d.T.Fatal(err)
	}
	parsed, err := virtualwebauthn.ParseAssertionOptions(d.text(options))
	if err != nil {
		d.T.Fatal(err)
	}
	return secret, virtualwebauthn.CreateAssertionResponse(d.party(), d.authn, d.key, *parsed)
}

func (d *device) login() (auth.Session, error) {
	d.T.Helper()
	secret, response := d.use()
	return d.Passkeys.Login(d.Ctx, testPlace, secret, response)
}

func TestPasskeys(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := socialtest.On(t, client)
		b.T = t
		ada := b.NewUser("ada")
		d := newDevice(b, ada)
		if _, _, err := b.Passkeys.Begin(b.Ctx, testPlace, ada, "wrong"); !errors.Is(err, social.ErrBadLogin) {
			t.Errorf("Begin with a wrong password: %v, want ErrBadLogin", err)
		}
		if err := d.add(ada, " My\u202e  phone "); err != nil {
			t.Fatal(err)
		}
		b.Clock.Advance(time.Hour)
		for range 2 {
			session, err := d.login()
			if err != nil || session.User.ID != ada.ID {
				t.Fatalf("log-in: %v, %v", session.User, err)
			}
			if user, err := b.Sessions.SessionUser(b.Ctx, session.Secret); err != nil || user.ID != ada.ID {
				t.Errorf("user of the session: %v, %v; want ada", user, err)
			}
		}
		all, err := b.Passkeys.All(b.Ctx, ada.ID)
		if err != nil || len(all) != 1 || all[0].Name != "My phone" || all[0].Used-all[0].Created != 3600 {
			t.Fatalf("passkeys: %+v, %v", all, err)
		}
		b.WantHealthy()
		if err := b.Passkeys.Remove(b.Ctx, ada, all[0].ID(), "wrong"); !errors.Is(err, social.ErrBadLogin) {
			t.Errorf("Remove with a wrong password: %v, want ErrBadLogin", err)
		}
		secret, response := d.use()
		if err := b.Passkeys.Remove(b.Ctx, ada, all[0].ID(), socialtest.Password); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Passkeys.Login(b.Ctx, testPlace, secret, response); !errors.Is(err, auth.ErrPasskey) {
			t.Errorf("log-in with a removed passkey: %v, want ErrPasskey", err)
		}
		if b.Redis("HEXISTS", "user:1", "passkeys") != "0" {
			t.Error("the field passkeys of user:1 was not deleted")
		}
	})
}

// A response works once, only for the site that it was created for, and only until its request
// expires.
func TestPasskeyRefused(t *testing.T) {
	t.Parallel()
	b := socialtest.New(t)
	ada, bob := b.NewUser("ada"), b.NewUser("bob")
	d := newDevice(b, ada)
	secret, response := d.begin(ada)
	if err := b.Passkeys.Add(b.Ctx, testPlace, bob, secret, "", response); !errors.Is(err, auth.ErrPasskey) {
		t.Errorf("Add to bob of a passkey for ada: %v, want ErrPasskey", err)
	}
	if err := d.add(ada, ""); err != nil {
		t.Fatal(err)
	}
	secret, response = d.use()
	if _, err := b.Passkeys.Login(b.Ctx, testPlace, secret, response); err != nil {
		t.Fatal(err)
	}
	other := testPlace
	other.Host, other.Origin = "other.example", "https://other.example"
	wantRefused := func(name string, place auth.Place, secret, response string) {
		t.Helper()
		if _, err := b.Passkeys.Login(b.Ctx, place, secret, response); !errors.Is(err, auth.ErrPasskey) {
			t.Errorf("%s: %v, want ErrPasskey", name, err)
		}
	}
	wantRefused("used twice", testPlace, secret, response)
	secret, response = d.use()
	wantRefused("at another site", other, secret, response)
	d.place = other
	secret, response = d.use()
	wantRefused("created for another site", testPlace, secret, response)
	d.place = testPlace
	secret, _ = d.use()
	_, response = d.use()
	wantRefused("for another log-in", testPlace, secret, response)
	secret, _ = d.use()
	wantRefused("empty response", testPlace, secret, "")
	secret, _ = d.use()
	wantRefused("too long", testPlace, secret, `{"id":"`+strings.Repeat("x", 20_000)+`"}`)
	secret, response = d.use()
	expire(b)
	wantRefused("expired request", testPlace, secret, response)

	stranger := newDevice(b, bob)
	stranger.authn.AddCredential(stranger.key)
	secret, response = stranger.use()
	wantRefused("unknown passkey", testPlace, secret, response)
	d.authn.Options.UserNotVerified = true
	secret, response = d.use()
	wantRefused("without user verification", testPlace, secret, response)
	d.authn.Options.UserNotVerified = false

	if err := b.Moderation.SetStanding(b.Ctx, social.Operator, ada.ID, moderation.StandingChange{Standing: social.Suspended}); err != nil {
		t.Fatal(err)
	}
	var suspended *social.SuspendedError
	if _, err := d.login(); !errors.As(err, &suspended) {
		t.Errorf("log-in of a suspended user: %v, want SuspendedError", err)
	}
}

// expire deletes all pending log-ins, and checks that each has a TTL.
func expire(b *socialtest.Bundle) {
	b.T.Helper()
	for _, key := range strings.Fields(b.Redis("KEYS", "passkey:*")) {
		if b.Redis("TTL", key) == "-1" {
			b.T.Errorf("%s never expires", key)
		}
		b.Redis("DEL", key)
	}
}

func TestMaxPasskeys(t *testing.T) {
	t.Parallel()
	b := socialtest.New(t)
	ada := b.NewUser("ada")
	last := newDevice(b, ada)
	secret, response := last.begin(ada)
	for range auth.MaxPasskeys {
		if err := newDevice(b, ada).add(ada, ""); err != nil {
			t.Fatal(err)
		}
	}
	var invalid *social.InvalidError
	if err := b.Passkeys.Add(b.Ctx, testPlace, ada, secret, "", response); !errors.As(err, &invalid) {
		t.Errorf("Add beyond MaxPasskeys: %v, want InvalidError", err)
	}
	if _, _, err := b.Passkeys.Begin(b.Ctx, testPlace, ada, socialtest.Password); !errors.As(err, &invalid) {
		t.Errorf("Begin at MaxPasskeys: %v, want InvalidError", err)
	}
}
