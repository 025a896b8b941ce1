package accounts

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

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

var (
	//go:embed invite_create.lua
	inviteCreateSource string
	inviteCreateScript = script.New(inviteCreateSource).Retryable()

	//go:embed invite_take.lua
	inviteTakeSource string
	inviteTakeScript = script.New(inviteTakeSource) // not retried: that would take two uses

	//go:embed invite_give_back.lua
	inviteGiveBackSource string
	inviteGiveBackScript = script.New(inviteGiveBackSource)
)

// Reasons why an invitation cannot be used.
var (
	ErrNoInvite      = errors.New("social: no such invitation")
	ErrInviteUsedUp  = errors.New("social: the invitation is used up")
	ErrInviteExpired = errors.New("social: the invitation has expired")
	// errTooManyInvites reports that there are already maxInvites invitations.
	errTooManyInvites = errors.New("social: too many invitations")
)

const (
	// maxInvites is the maximum number of invitations.
	maxInvites = 1000
	// maxInviteUses is the maximum number of uses of one invitation.
	maxInviteUses = 10_000
	// maxInviteNote limits the length of a note, in bytes.
	maxInviteNote = 200
	// expiredInviteTTL is how long an invitation is listed after it expires.
	expiredInviteTTL = 30 * 24 * time.Hour
	// inviteIDLength is how many characters of a digest form an ID: enough to distinguish
	// maxInvites invitations.
	inviteIDLength = 12
	// inviteTokenLength is the length of a token: 20 random bytes in base64.
	inviteTokenLength = 27
)

// Invite is an invitation.
type Invite struct {
	ID               string // identifies it; not a secret
	Uses, Left       int64
	Created, Expires time.Time
	By               int64 // the user who created it; 0 for an operator
	Note             string
	// Paused reports that the creator may not invite people now. SignUps sets it.
	Paused bool

	digest string
}

func (i Invite) pack() string {
	return fmt.Sprintf("%d %d %d %d %d %s", i.Uses, i.Left, i.Created.Unix(), i.Expires.Unix(), i.By, i.Note)
}

// parseInvite parses a stored invitation; ok is false if it is damaged.
func parseInvite(digest, text string) (i Invite, ok bool) {
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
		ID: digest[:inviteIDLength], Uses: n[0], Left: n[1], Created: time.Unix(n[2], 0).UTC(), Expires: time.Unix(n[3], 0).UTC(),
		By: n[4], Note: parts[5], digest: digest,
	}, true
}

// inviteStore stores the invitations: links with a use limit and an expiry.
//
// The secret of a link is its token. Only the SHA-256 of a token is stored, in the hash `invites`,
// so a copy of the database contains no usable links. A script takes a use before the account is
// written, and the use is given back if registration fails, so two people cannot both sign up with
// the last use. A process that dies in between loses the use.
type inviteStore struct{ client rueidis.Client }

// newInviteStore returns the inviteStore of a database.
func newInviteStore(client rueidis.Client) inviteStore { return inviteStore{client: client} }

func inviteDigest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Prune removes the invitations that expired a month ago, and returns how many are left. One round
// trip, and one for each removed invitation.
func (s inviteStore) Prune(ctx context.Context, now time.Time) (left int, err error) {
	all, err := s.All(ctx)
	if err != nil {
		return 0, err
	}
	for _, i := range all {
		if now.Sub(i.Expires) <= expiredInviteTTL {
			left++
		} else if err := s.Remove(ctx, i); err != nil {
			return 0, err
		}
	}
	return left, nil
}

// Create adds an invitation and returns its token, which cannot be read again. It returns
// errTooManyInvites if there are too many; see Prune. One round trip.
func (s inviteStore) Create(ctx context.Context, i Invite, now time.Time) (token string, created Invite, err error) {
	var b [20]byte
	rand.Read(b[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(b[:])
	i.digest, i.Left, i.Created = inviteDigest(token), i.Uses, now.UTC().Truncate(time.Second)
	i.ID = i.digest[:inviteIDLength]
	ok, err := inviteCreateScript.Run(ctx, s.client, []string{storage.Invites}, []string{i.digest, i.pack(), strconv.Itoa(maxInvites)}).AsBool()
	if err != nil {
		return "", Invite{}, fmt.Errorf("social: create an invitation: %w", err)
	}
	if !ok {
		return "", Invite{}, errTooManyInvites
	}
	return token, i, nil
}

// All returns the invitations, latest first, omitting damaged ones. One round trip.
func (s inviteStore) All(ctx context.Context) ([]Invite, error) {
	entries, err := reply.OrEmpty(s.client.Do(ctx, s.client.B().Hgetall().Key(storage.Invites).Build()).AsStrMap())
	if err != nil {
		return nil, fmt.Errorf("social: list invitations: %w", err)
	}
	var all []Invite
	for digest, text := range entries {
		if i, ok := parseInvite(digest, text); ok {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b Invite) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.digest, b.digest))
	})
	return all, nil
}

// ByID returns the invitation with an ID, or ErrNoInvite. One round trip.
func (s inviteStore) ByID(ctx context.Context, id string) (Invite, error) {
	all, err := s.All(ctx)
	if err != nil {
		return Invite{}, err
	}
	for _, i := range all {
		if i.ID == id {
			return i, nil
		}
	}
	return Invite{}, ErrNoInvite
}

// Remove removes an invitation, so that nobody can use it from now on. One round trip.
func (s inviteStore) Remove(ctx context.Context, i Invite) error {
	if err := s.client.Do(ctx, s.client.B().Hdel().Key(storage.Invites).Field(i.digest).Build().ToRetryable()).Error(); err != nil {
		return fmt.Errorf("social: remove an invitation: %w", err)
	}
	return nil
}

// Find returns the invitation of a token, or ErrNoInvite, ErrInviteUsedUp or ErrInviteExpired if
// nobody can sign up with it. One round trip.
func (s inviteStore) Find(ctx context.Context, token string, now time.Time) (Invite, error) {
	if len(token) != inviteTokenLength {
		return Invite{}, ErrNoInvite
	}
	d := inviteDigest(token)
	text, err := reply.TextOrEmpty(s.client.Do(ctx, s.client.B().Hget().Key(storage.Invites).Field(d).Build()))
	if err != nil {
		return Invite{}, fmt.Errorf("social: look up an invitation: %w", err)
	}
	i, ok := parseInvite(d, text)
	switch {
	case !ok:
		return Invite{}, ErrNoInvite
	case !now.Before(i.Expires):
		return i, ErrInviteExpired
	case i.Left < 1:
		return i, ErrInviteUsedUp
	}
	return i, nil
}

// Take takes one use of the invitation of a token; see Find for its errors. One round trip.
func (s inviteStore) Take(ctx context.Context, token string, now time.Time) error {
	if len(token) != inviteTokenLength {
		return ErrNoInvite
	}
	state, err := inviteTakeScript.Run(ctx, s.client, []string{storage.Invites}, []string{inviteDigest(token), storage.Seconds(now)}).AsInt64()
	if err != nil {
		return fmt.Errorf("social: take a use of an invitation: %w", err)
	}
	switch state {
	case 1:
		return nil
	case 0:
		return ErrInviteUsedUp
	case -1:
		return ErrInviteExpired
	}
	return ErrNoInvite
}

// GiveBack gives back the use taken by Take. One round trip.
func (s inviteStore) GiveBack(ctx context.Context, token string) error {
	err := inviteGiveBackScript.Run(ctx, s.client, []string{storage.Invites}, []string{inviteDigest(token)}).Error()
	if err != nil {
		return fmt.Errorf("social: give back a use of an invitation: %w", err)
	}
	return nil
}

// RemoveAll removes the invitations that a user created.
func (s inviteStore) RemoveAll(ctx context.Context, uid int64) error {
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
