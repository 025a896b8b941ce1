package unique

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/model/internal/backoff"
	"retwis/model/internal/schema"
)

// A model with several partitions has a record and its unique values in different
// slots, where no script can change both. They are kept consistent in three steps:
//
//  1. The value is claimed in its own partition: the hash has the id, a token and the
//     deadline of the claim.
//  2. The record is written in its partition, by a script that refuses late and revoked
//     claims. From here on the record has the value.
//  3. The claim is confirmed: the hash has the id and the token.
//
// The record decides: it has a value if its content says so. A process that finds a
// value claimed or confirmed asks the partition of that record. If the record does not
// have the value, the claim is revoked there, so that a write in progress is refused,
// and the hash is changed if it still says the same. A claim gets half a second before
// that. Its deadline, and the time for which the revocation is remembered, are measured
// by the clock of one server, so that no two clocks need to agree. A process that dies
// at any point leaves at worst a value that the next process that asks for it takes
// over.
const (
	Lease    = 10 * time.Second
	Grace    = 500 * time.Millisecond
	Attempts = 3
)

// Claims claims unique values for records, and releases them.
type Claims struct {
	Client rueidis.Client
	Layout *schema.Layout
}

// Claim is a unique value that was claimed for a record.
type Claim struct {
	schema.Entry
	Text     string // what the hash says
	Deadline string
}

// Entries returns the entries of unique indexes, in an order that is the same for all
// writers, so that no two wait for each other.
func Entries(entries []schema.Entry) []schema.Entry {
	var all []schema.Entry
	for _, e := range entries {
		if e.Index.Unique {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b schema.Entry) int {
		if a.Index != b.Index {
			return a.Index.Number - b.Index.Number
		}
		return strings.Compare(a.Value, b.Value)
	})
	return all
}

// ErrLate is returned if a claim ended before the record was written.
var ErrLate = errors.New("a claim was late")

// Unclaimed is returned for values that a record would have without a claim.
type Unclaimed struct{ Entries []schema.Entry }

func (u *Unclaimed) Error() string { return "unique values are not claimed" }

// conflictingClaim is the claim of another record.
type conflictingClaim struct {
	text  string
	since time.Time
}

// longEnough reports whether a claim has had its grace period.
func (m *conflictingClaim) longEnough(text string) bool {
	if m.text != text {
		*m = conflictingClaim{text, time.Now()}
	}
	return time.Since(m.since) >= Grace
}

// ClaimText is what the hash says of a unique value.
type ClaimText struct{ ID, token, Deadline string }

func ParseClaim(text string) ClaimText {
	id, rest, _ := strings.Cut(text, "\x00")
	token, deadline, _ := strings.Cut(rest, "\x00")
	return ClaimText{id, token, deadline}
}

// swap is one run of swap.lua.
type swap struct {
	key  string
	args []string
}

// ClaimAll claims values, and returns them after those claimed before.
func (u *Claims) ClaimAll(ctx context.Context, id, token string, wanted []schema.Entry, claims []Claim) ([]Claim, error) {
	for _, e := range wanted {
		c, err := u.Claim(ctx, id, token, e)
		if err != nil {
			return claims, err
		}
		if c.Text != "" {
			claims = append(claims, c)
		}
	}
	return claims, nil
}

// Claim claims one value, or returns a TakenError. It claims nothing if the record has
// the value already.
func (u *Claims) Claim(ctx context.Context, id, token string, e schema.Entry) (Claim, error) {
	key := u.Layout.UniqueKey(e)
	lease := strconv.FormatInt(Lease.Milliseconds(), 10)
	expected := ""
	var met conflictingClaim
	for attempt := 0; ; attempt++ {
		reply, err := claimScript.Run(ctx, u.Client, []string{key}, []string{e.Value, expected, id, token, lease}).ToArray()
		if err != nil || len(reply) != 2 {
			return Claim{}, errors.Join(err, ctx.Err())
		}
		found, _ := reply[0].ToString()
		if ours, _ := reply[1].AsInt64(); ours == 1 {
			return Claim{Entry: e, Text: found, Deadline: ParseClaim(found).Deadline}, nil
		}
		if expected = ""; found == "" {
			continue
		}
		overdue := met.longEnough(found)
		has, err := u.Has(ctx, e, found, overdue)
		switch owner := ParseClaim(found).ID; {
		case err != nil:
			return Claim{}, err
		case has && owner == id:
			return Claim{}, nil
		case has:
			return Claim{}, schema.Taken(e, owner)
		case ParseClaim(found).Deadline == "" || overdue:
			expected = found
		default:
			if err := backoff.Pause(ctx, attempt); err != nil {
				return Claim{}, err
			}
		}
	}
}

// Has reports whether the record named by a hash has its value. If it has, the claim of
// a writer that died is confirmed; if not, and revoke is set, the claim is revoked.
func (u *Claims) Has(ctx context.Context, e schema.Entry, text string, revoke bool) (bool, error) {
	c := ParseClaim(text)
	pending := c.Deadline != ""
	if !revoke {
		c.Deadline = ""
	}
	has, err := u.Revoke(ctx, e, c)
	if err == nil && has && pending {
		u.swapMany(ctx, []swap{{u.Layout.UniqueKey(e), []string{e.Value, text, c.ID + "\x00" + c.token}}})
	}
	return has, err
}

// Revoke reports whether the record of a claim has its value, and revokes the claim if
// not.
func (u *Claims) Revoke(ctx context.Context, e schema.Entry, c ClaimText) (has bool, err error) {
	p := u.Layout.Of(c.ID)
	args := []string{c.ID, strconv.Itoa(e.Index.Number), e.Value, c.token, c.Deadline}
	return voidScript.Run(ctx, u.Client, []string{p.Content, p.Voids}, args).AsBool()
}

// Confirm confirms the claims of a record that was written, and releases the values
// that it has left. Errors are ignored: the record is written, and the next process
// that asks for a value resolves it.
func (u *Claims) Confirm(ctx context.Context, id, token string, claims []Claim, left []schema.Entry) {
	swaps := make([]swap, len(claims))
	for i, c := range claims {
		swaps[i] = swap{u.Layout.UniqueKey(c.Entry), []string{c.Value, c.Text, id + "\x00" + token}}
	}
	u.swapMany(ctx, swaps)
	for _, e := range left {
		_ = u.Release(ctx, id, e) // see above
	}
}

// Abandon releases the values that were claimed for a record that was not written.
func (u *Claims) Abandon(ctx context.Context, claims []Claim) {
	// Even if the caller has given up: the next process would have to wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	swaps := make([]swap, len(claims))
	for i, c := range claims {
		swaps[i] = swap{u.Layout.UniqueKey(c.Entry), []string{c.Value, c.Text, ""}}
	}
	u.swapMany(ctx, swaps)
}

// swapMany runs swap.lua in one pipeline. If it fails, the next process revokes the
// claim.
func (u *Claims) swapMany(ctx context.Context, swaps []swap) {
	switch len(swaps) {
	case 0:
	case 1:
		_ = swapScript.Run(ctx, u.Client, []string{swaps[0].key}, swaps[0].args).Error()
	default:
		multi := make([]script.Call, len(swaps))
		for i, c := range swaps {
			multi[i] = script.Call{Keys: []string{c.key}, Args: c.args}
		}
		swapScript.RunMany(ctx, u.Client, multi)
	}
}

// Release releases a value that a record no longer has. The hash must say the same
// before and after the record is asked: a claim made meanwhile has another token.
func (u *Claims) Release(ctx context.Context, id string, e schema.Entry) error {
	key := u.Layout.UniqueKey(e)
	var met conflictingClaim
	for attempt := 0; ; attempt++ {
		text, err := u.Client.Do(ctx, u.Client.B().Hget().Key(key).Field(e.Value).Build()).ToString()
		c := ParseClaim(text)
		if rueidis.IsRedisNil(err) || err == nil && c.ID != id {
			return nil
		}
		if err != nil {
			return err
		}
		overdue := met.longEnough(text)
		has, err := u.Has(ctx, e, text, overdue)
		if err != nil || has {
			return err
		}
		if c.Deadline == "" || overdue {
			return u.Replace(ctx, key, e.Value, text, "")
		}
		// The writer of the claim may have written the record before the value was left:
		// what it confirms then would stay.
		if err := backoff.Pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// Owner returns the id of the record that has a value of a unique index. With several
// partitions it may be a record that claims the value and does not have it: the record
// decides.
func (u *Claims) Owner(ctx context.Context, x *schema.Index, value string) (id string, ok bool, err error) {
	key := u.Layout.IndexKey(&u.Layout.Parts[0], x)
	if u.Layout.Spread() {
		key = u.Layout.UniqueKey(schema.Entry{Index: x, Value: value})
	}
	text, err := u.Client.Do(ctx, u.Client.B().Hget().Key(key).Field(value).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", false, nil
	}
	return ParseClaim(text).ID, err == nil, err
}

// Replace changes what a hash says of a value, if it still says the same.
func (u *Claims) Replace(ctx context.Context, key, value, old, text string) error {
	return swapScript.Run(ctx, u.Client, []string{key}, []string{value, old, text}).Error()
}
