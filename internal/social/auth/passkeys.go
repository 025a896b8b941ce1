package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

const (
	// MaxPasskeys is the maximum number of passkeys per user.
	MaxPasskeys = 20
	// MaxPasskeyName is the maximum length of a passkey name, in characters.
	MaxPasskeyName = 40
	// maxResponse is the maximum length of a browser's response about a passkey, in bytes.
	maxResponse = 16 << 10
	// ceremonyTimeout is how long a browser may take to create or to use a passkey.
	ceremonyTimeout = 5 * time.Minute
)

// ErrPasskey reports that a passkey is not valid for this site, or that the browser took too long.
var ErrPasskey = errors.New("social: this passkey cannot be used")

// Passkeys manages the passkeys (WebAuthn) with which users log in without a password. A device
// asks for a fingerprint, a face or a PIN before it uses a passkey, so a log-in needs no other
// step. The site stores only public keys, in the field `passkeys` of the user. Passkeys is safe for
// concurrent use.
type Passkeys struct{ auth *Service }

// NewPasskeys returns the passkeys of the users of a site.
func NewPasskeys(auth *Service) *Passkeys { return &Passkeys{auth} }

// Passkey is a passkey of a user.
type Passkey struct {
	Name    string              `json:"name"`
	Host    string              `json:"host"` // the host of the site when the passkey was created
	Created int64               `json:"created"`
	Used    int64               `json:"used,omitempty"`
	Key     webauthn.Credential `json:"key"`
}

// ID identifies the passkey in forms.
func (p Passkey) ID() string { return base64.RawURLEncoding.EncodeToString(p.Key.ID) }

// Place is the address at which a browser visits the site: passkeys belong to one host.
type Place struct {
	Site   string // the site's name
	Host   string // without a port
	Origin string // scheme, host and port
}

// webAuthnFor returns the WebAuthn configuration for a place.
func webAuthnFor(place Place) (*webauthn.WebAuthn, error) {
	w, err := webauthn.New(&webauthn.Config{
		RPID: place.Host, RPDisplayName: place.Site, RPOrigins: []string{place.Origin},
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, social.Invalid("passkeys", "Browsers only create passkeys for a domain name, such as retwis.example, or for localhost.")
	}
	return w, nil
}

// owner implements webauthn.User.
type owner struct {
	storage.Record
	stored string // the field as read
	keys   []Passkey
}

func (o *owner) WebAuthnID() []byte          { return []byte(storage.Itoa(o.ID)) }
func (o *owner) WebAuthnName() string        { return o.Name }
func (o *owner) WebAuthnDisplayName() string { return o.Name }

func (o *owner) WebAuthnCredentials() []webauthn.Credential {
	all := make([]webauthn.Credential, len(o.keys))
	for i, key := range o.keys {
		all[i] = key.Key
	}
	return all
}

// owner reads a user with their passkeys. One round trip.
func (p *Passkeys) owner(ctx context.Context, uid int64) (*owner, error) {
	b := p.auth.sessions.DB.Client.B()
	res := p.auth.sessions.DB.Client.DoMulti(ctx,
		b.Hmget().Key(storage.UserKey(uid)).Field(storage.RecordFields...).Build(),
		b.Hget().Key(storage.UserKey(uid)).Field(PasskeysField).Build())
	rec, err := storage.ParseRecord(uid, res[0])
	if err != nil {
		return nil, err
	}
	o := &owner{Record: rec}
	if o.stored, err = reply.TextOrEmpty(res[1]); err != nil {
		return nil, fmt.Errorf("social: read passkeys: %w", err)
	}
	if o.stored != "" {
		// A field damaged by another program counts as no passkeys; new ones can be created.
		_ = json.Unmarshal([]byte(o.stored), &o.keys)
	}
	return o, nil
}

// change replaces the passkeys of a user with the result of edit. If edit returns an error, nothing
// is written. Two round trips.
func (p *Passkeys) change(ctx context.Context, uid int64, edit func([]Passkey) ([]Passkey, error)) error {
	for {
		o, err := p.owner(ctx, uid)
		if err != nil {
			return err
		}
		keys, err := edit(o.keys)
		if err != nil {
			return err
		}
		value := ""
		if len(keys) > 0 {
			text, err := json.Marshal(keys)
			if err != nil {
				return fmt.Errorf("social: passkeys: %w", err)
			}
			value = string(text)
		}
		if done, err := p.auth.replaceField(ctx, uid, PasskeysField, o.stored, value); done || err != nil {
			return err
		}
	}
}

// All returns the passkeys of a user, oldest first. One round trip.
func (p *Passkeys) All(ctx context.Context, uid int64) ([]Passkey, error) {
	o, err := p.owner(ctx, uid)
	if err != nil {
		return nil, err
	}
	return o.keys, nil
}

// Begin returns what a browser needs to create a passkey, and the secret to pass to Add. It returns
// ErrBadLogin if the password is wrong, and *InvalidError if the user has too many. Three round
// trips and one password hash.
func (p *Passkeys) Begin(ctx context.Context, place Place, user social.User, password string) (secret string, options any, err error) {
	if _, err := p.auth.confirmPassword(ctx, user.ID, password); err != nil {
		return "", nil, err
	}
	o, err := p.owner(ctx, user.ID)
	if err != nil {
		return "", nil, err
	}
	if len(o.keys) >= MaxPasskeys {
		return "", nil, tooManyPasskeys()
	}
	w, err := webAuthnFor(place)
	if err != nil {
		return "", nil, err
	}
	creation, session, err := w.BeginRegistration(o,
		webauthn.WithExclusions(webauthn.Credentials(o.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return "", nil, fmt.Errorf("social: make a passkey: %w", err)
	}
	secret, err = p.storeChallenge(ctx, session)
	return secret, creation, err
}

func tooManyPasskeys() error {
	return social.Invalid("name", "You have {n} passkeys, the maximum. Remove one first.", MaxPasskeys)
}

// Add adds the passkey that a browser has created. It returns ErrPasskey if that took too long or
// the response is not valid, and *InvalidError if the name is too long. Three round trips.
func (p *Passkeys) Add(ctx context.Context, place Place, user social.User, secret, name, response string) error {
	name, err := social.CleanLine(name, "name", MaxPasskeyName)
	if err != nil {
		return err
	}
	if name == "" {
		name = "Passkey"
	}
	session, err := p.takeChallenge(ctx, secret)
	if err != nil {
		return err
	}
	w, err := webAuthnFor(place)
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(bounded(response))
	if err != nil {
		return passkeyError(err)
	}
	key, err := w.CreateCredential(&owner{Record: storage.Record{User: user}}, session, parsed)
	if err != nil {
		return passkeyError(err)
	}
	key.Attestation = webauthn.CredentialAttestation{} // describes the device, and is never read
	added := Passkey{Name: name, Host: place.Host, Created: p.auth.sessions.Now().Unix(), Key: *key}
	return warn(ctx, p.auth.opt.Warner, user.ID, PasskeysField, func() error {
		return p.change(ctx, user.ID, func(keys []Passkey) ([]Passkey, error) {
			switch {
			case len(keys) >= MaxPasskeys:
				return nil, tooManyPasskeys()
			case slices.ContainsFunc(keys, func(k Passkey) bool { return k.ID() == added.ID() }):
				return keys, nil
			}
			return append(keys, added), nil
		})
	})
}

// Remove removes a passkey. It returns ErrBadLogin if the password is wrong. Removing a passkey
// again changes nothing. Three round trips and one password hash.
func (p *Passkeys) Remove(ctx context.Context, user social.User, id, password string) error {
	if _, err := p.auth.confirmPassword(ctx, user.ID, password); err != nil {
		return err
	}
	return p.change(ctx, user.ID, func(keys []Passkey) ([]Passkey, error) {
		return slices.DeleteFunc(keys, func(k Passkey) bool { return k.ID() == id }), nil
	})
}

// BeginLogin returns what a browser needs to log in, and the secret to pass to Login. One round
// trip.
func (p *Passkeys) BeginLogin(ctx context.Context, place Place) (secret string, options any, err error) {
	w, err := webAuthnFor(place)
	if err != nil {
		return "", nil, err
	}
	assertion, session, err := w.BeginDiscoverableLogin()
	if err != nil {
		return "", nil, fmt.Errorf("social: log in with a passkey: %w", err)
	}
	secret, err = p.storeChallenge(ctx, session)
	return secret, assertion, err
}

// Login opens a session for the owner of the passkey that a browser has used. It returns
// ErrPasskey, or *SuspendedError. Six round trips.
func (p *Passkeys) Login(ctx context.Context, place Place, secret, response string) (Session, error) {
	waiting, err := p.takeChallenge(ctx, secret)
	if err != nil {
		return Session{}, err
	}
	w, err := webAuthnFor(place)
	if err != nil {
		return Session{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(bounded(response))
	if err != nil {
		return Session{}, passkeyError(err)
	}
	uid, ok := storage.ParseID(string(parsed.Response.UserHandle))
	if !ok {
		return Session{}, ErrPasskey
	}
	o, err := p.owner(ctx, uid)
	if errors.Is(err, social.ErrNotFound) {
		return Session{}, ErrPasskey
	}
	if err != nil {
		return Session{}, err
	}
	_, key, err := w.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return o, nil }, waiting, parsed)
	if err != nil {
		return Session{}, passkeyError(err)
	}
	if key.Authenticator.CloneWarning {
		return Session{}, passkeyError(errors.New("the signature counter of the passkey went back: the passkey may have been copied"))
	}
	if err := p.auth.mayLogIn(ctx, o.Record); err != nil {
		return Session{}, err
	}
	if o.Standing.Hidden() {
		return Session{}, ErrPasskey
	}
	err = p.change(ctx, uid, func(keys []Passkey) ([]Passkey, error) {
		i := slices.IndexFunc(keys, func(k Passkey) bool { return slices.Equal(k.Key.ID, key.ID) })
		if i < 0 {
			return nil, ErrPasskey // removed in the meantime
		}
		keys[i].Key, keys[i].Used = *key, p.auth.sessions.Now().Unix()
		return keys, nil
	})
	if err != nil {
		return Session{}, err
	}
	return p.auth.sessions.OpenSession(ctx, o.User)
}

// passkeyError wraps an error of the library in ErrPasskey.
func passkeyError(err error) error {
	var detail *protocol.Error
	if errors.As(err, &detail) && detail.DevInfo != "" {
		return fmt.Errorf("%w: %w: %s", ErrPasskey, err, detail.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrPasskey, err)
}

// bounded returns a response as bytes, or nil if the response is too long.
func bounded(response string) []byte {
	if len(response) > maxResponse {
		return nil
	}
	return []byte(response)
}

// storeChallenge stores the challenge of a ceremony, and returns its secret. One round trip.
func (p *Passkeys) storeChallenge(ctx context.Context, session *webauthn.SessionData) (secret string, err error) {
	text, err := json.Marshal(session)
	if err != nil {
		return "", fmt.Errorf("social: passkeys: %w", err)
	}
	secret = rand.Text()
	err = p.auth.sessions.DB.Client.Do(ctx, p.auth.sessions.DB.Client.B().Set().Key(storage.PasskeyKey(loginHash(secret))).Value(string(text)).
		Ex(ceremonyTimeout).Build().ToRetryable()).Error()
	if err != nil {
		return "", fmt.Errorf("social: passkeys: %w", err)
	}
	return secret, nil
}

// takeChallenge returns the challenge of a ceremony, and deletes it. One round trip.
func (p *Passkeys) takeChallenge(ctx context.Context, secret string) (session webauthn.SessionData, err error) {
	if len(secret) > maxSecret {
		return session, ErrPasskey
	}
	text, err := p.auth.sessions.DB.Client.Do(ctx, p.auth.sessions.DB.Client.B().Getdel().Key(storage.PasskeyKey(loginHash(secret))).Build()).AsBytes()
	if rueidis.IsRedisNil(err) {
		return session, fmt.Errorf("%w: it took more than %s", ErrPasskey, ceremonyTimeout)
	}
	if err == nil {
		err = json.Unmarshal(text, &session)
	}
	if err != nil {
		return session, fmt.Errorf("social: passkeys: %w", err)
	}
	return session, nil
}
