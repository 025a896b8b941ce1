// Package invite stores invitations: links with which so many people can sign up until a
// time.
//
// The secret of a link is its token. Only the SHA-256 of a token is stored, in the hash
// `invites`, so a copy of the database invites nobody. A use is taken by one script
// before the account is written, and given back where that fails: two people who share
// the last use cannot both have it. A process that dies in between loses the use.
package invite

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout"
)

var (
	//go:embed create.lua
	createSource string
	createScript = script.New(createSource).Retryable()

	//go:embed take.lua
	takeSource string
	takeScript = script.New(takeSource) // not sent twice: it would take two uses

	//go:embed give_back.lua
	giveBackSource string
	giveBackScript = script.New(giveBackSource)
)

// Errors of a Store. Each says why an invitation cannot be used.
var (
	ErrNone    = errors.New("social: no such invitation")
	ErrUsedUp  = errors.New("social: the invitation is used up")
	ErrExpired = errors.New("social: the invitation has expired")
	// ErrFull: there are Max invitations.
	ErrFull = errors.New("social: too many invitations")
)

const (
	// Max is how many invitations there can be.
	Max = 1000
	// MaxUses is how many people one invitation can invite.
	MaxUses = 10_000
	// MaxNote bounds a note, in bytes.
	MaxNote = 200
	// keptFor is how long an invitation is listed after its end.
	keptFor = 30 * 24 * time.Hour
	// idLength is how much of a digest is an id: enough to tell a thousand apart.
	idLength = 12
	// tokenLength is the length of a token: 20 random bytes in base64.
	tokenLength = 27
)

// Invite is an invitation.
type Invite struct {
	ID               string // names it; it is no secret
	Uses, Left       int64
	Created, Expires time.Time
	By               int64 // the user who created it; 0 for an operator
	Note             string

	digest string
}

// Usable reports whether somebody can sign up with it.
func (i Invite) Usable(now time.Time) bool { return i.Left > 0 && now.Before(i.Expires) }

func (i Invite) pack() string {
	return fmt.Sprintf("%d %d %d %d %d %s", i.Uses, i.Left, i.Created.Unix(), i.Expires.Unix(), i.By, i.Note)
}

// parse reads a stored invitation; ok is false for one that is damaged.
func parse(digest, text string) (i Invite, ok bool) {
	parts := strings.SplitN(text, " ", 6)
	if len(parts) != 6 || len(digest) != 2*sha256.Size {
		return i, false
	}
	var n [5]int64
	for k := range n {
		var err error
		if n[k], err = strconv.ParseInt(parts[k], 10, 64); err != nil {
			return i, false
		}
	}
	return Invite{
		ID: digest[:idLength], Uses: n[0], Left: n[1], Created: time.Unix(n[2], 0).UTC(), Expires: time.Unix(n[3], 0).UTC(),
		By: n[4], Note: parts[5], digest: digest,
	}, true
}

// Store reads and writes invitations.
type Store struct{ client rueidis.Client }

// New returns the invitations of a database.
func New(client rueidis.Client) Store { return Store{client: client} }

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Prune removes the invitations that ended a month ago, and returns how many are left.
// One round trip, and one for each that it removes.
func (s Store) Prune(ctx context.Context, now time.Time) (left int, err error) {
	all, err := s.All(ctx)
	if err != nil {
		return 0, err
	}
	for _, i := range all {
		if now.Sub(i.Expires) <= keptFor {
			left++
		} else if err := s.Remove(ctx, i); err != nil {
			return 0, err
		}
	}
	return left, nil
}

// Create adds an invitation and returns its token, which cannot be read again. It returns
// ErrFull where there are too many; see Prune. One round trip.
func (s Store) Create(ctx context.Context, i Invite, now time.Time) (token string, created Invite, err error) {
	var b [20]byte
	rand.Read(b[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(b[:])
	i.digest, i.Left, i.Created = digest(token), i.Uses, now.UTC().Truncate(time.Second)
	i.ID = i.digest[:idLength]
	ok, err := createScript.Run(ctx, s.client, []string{layout.Invites}, []string{i.digest, i.pack(), strconv.Itoa(Max)}).AsBool()
	if err != nil {
		return "", Invite{}, fmt.Errorf("social: create an invitation: %w", err)
	}
	if !ok {
		return "", Invite{}, ErrFull
	}
	return token, i, nil
}

// All returns the invitations, the latest first. Damaged ones are left out. One round
// trip.
func (s Store) All(ctx context.Context) ([]Invite, error) {
	entries, err := s.client.Do(ctx, s.client.B().Hgetall().Key(layout.Invites).Build()).AsStrMap()
	if err != nil && !rediserr.IsWrongType(err) {
		return nil, fmt.Errorf("social: list invitations: %w", err)
	}
	var all []Invite
	for digest, text := range entries {
		if i, ok := parse(digest, text); ok {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b Invite) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.digest, b.digest))
	})
	return all, nil
}

// ByID returns the invitation with an id, or ErrNone. One round trip.
func (s Store) ByID(ctx context.Context, id string) (Invite, error) {
	all, err := s.All(ctx)
	if err != nil {
		return Invite{}, err
	}
	for _, i := range all {
		if i.ID == id {
			return i, nil
		}
	}
	return Invite{}, ErrNone
}

// Remove removes an invitation: nobody can use it from now on. One round trip.
func (s Store) Remove(ctx context.Context, i Invite) error {
	if err := s.client.Do(ctx, s.client.B().Hdel().Key(layout.Invites).Field(i.digest).Build().ToRetryable()).Error(); err != nil {
		return fmt.Errorf("social: remove an invitation: %w", err)
	}
	return nil
}

// Find returns the invitation of a token, and ErrNone, ErrUsedUp or ErrExpired where
// nobody can sign up with it. One round trip.
func (s Store) Find(ctx context.Context, token string, now time.Time) (Invite, error) {
	if len(token) != tokenLength {
		return Invite{}, ErrNone
	}
	d := digest(token)
	text, err := reply.TextOrEmpty(s.client.Do(ctx, s.client.B().Hget().Key(layout.Invites).Field(d).Build()))
	if err != nil {
		return Invite{}, fmt.Errorf("social: look up an invitation: %w", err)
	}
	i, ok := parse(d, text)
	switch {
	case !ok:
		return Invite{}, ErrNone
	case !now.Before(i.Expires):
		return i, ErrExpired
	case i.Left < 1:
		return i, ErrUsedUp
	}
	return i, nil
}

// Take takes one use of the invitation of a token; see Find for its errors. One round
// trip.
func (s Store) Take(ctx context.Context, token string, now time.Time) error {
	if len(token) != tokenLength {
		return ErrNone
	}
	state, err := takeScript.Run(ctx, s.client, []string{layout.Invites}, []string{digest(token), layout.Seconds(now)}).AsInt64()
	if err != nil {
		return fmt.Errorf("social: take a use of an invitation: %w", err)
	}
	switch state {
	case 1:
		return nil
	case 0:
		return ErrUsedUp
	case -1:
		return ErrExpired
	}
	return ErrNone
}

// GiveBack gives the use back that Take has taken. One round trip.
func (s Store) GiveBack(ctx context.Context, token string) error {
	err := giveBackScript.Run(ctx, s.client, []string{layout.Invites}, []string{digest(token)}).Error()
	if err != nil {
		return fmt.Errorf("social: give a use of an invitation back: %w", err)
	}
	return nil
}

// RemoveAll removes the invitations that a user has created.
func (s Store) RemoveAll(ctx context.Context, uid int64) error {
	all, err := s.All(ctx)
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.By != uid {
			continue
		}
		if err := s.Remove(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
