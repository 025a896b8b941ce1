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

// In a model with several partitions, a record and its unique values are in different slots, so
// no script can change both. A write takes three steps:
//
//  1. Claim the value in its own partition: the hash gets the id, a token and the deadline of
//     the claim.
//  2. Write the record in its partition, by a script that refuses late and revoked claims. From
//     now on the record has the value.
//  3. Confirm the claim: the hash now has the id and the token.
//
// The record is authoritative: it has a value if its content includes the value. A process that
// finds a value claimed or confirmed reads the content of the record. If the record does not
// have the value, the process revokes the claim in the partition of the record, so that a write
// in progress is refused, and changes the hash field if the field is still unchanged. A claim
// gets a grace period of half a second first. The server of the record checks the deadline of a
// claim and keeps revocations until the deadline, by the same clock, so the clocks of servers
// need not be synchronized. A process that dies at any point leaves at worst a claim, which the
// next process that needs the value takes over.
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

// Claim is a unique value claimed for a record.
type Claim struct {
	schema.Entry
	Text     string // the hash field
	Deadline string
}

// Entries returns the entries of unique indexes, in the same order for all writers, so that two
// writers never wait for each other.
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

// ErrLate is returned if a claim expired before the record was written.
var ErrLate = errors.New("a claim expired before the record was written")

// Unclaimed is returned for values that a record would get without a claim.
type Unclaimed struct{ Entries []schema.Entry }

func (u *Unclaimed) Error() string { return "unique values are not claimed" }

// conflictingClaim is the claim of another record.
type conflictingClaim struct {
	text  string
	since time.Time
}

// graceElapsed reports whether the grace period of a claim has elapsed.
func (m *conflictingClaim) graceElapsed(text string) bool {
	if m.text != text {
		*m = conflictingClaim{text, time.Now()}
	}
	return time.Since(m.since) >= Grace
}

// ClaimText is the parsed hash field of a unique value.
type ClaimText struct{ ID, token, Deadline string }

// ParseClaim parses the hash field of a unique value.
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

// ClaimAll claims values, and appends them to claims.
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

// Claim claims a value, or returns a TakenError. It claims nothing if the record already has
// the value.
func (u *Claims) Claim(ctx context.Context, id, token string, e schema.Entry) (Claim, error) {
	key := u.Layout.UniqueKey(e)
	lease := strconv.FormatInt(Lease.Milliseconds(), 10)
	expected := ""
	var conflict conflictingClaim
	for attempt := 0; ; attempt++ {
		reply, err := claimScript.Run(ctx, u.Client, []string{key}, []string{e.Value, expected, id, token, lease}).ToArray()
		if err != nil || len(reply) != 2 {
			return Claim{}, errors.Join(err, ctx.Err())
		}
		found, _ := reply[0].ToString()
		if claimed, _ := reply[1].AsInt64(); claimed == 1 {
			return Claim{Entry: e, Text: found, Deadline: ParseClaim(found).Deadline}, nil
		}
		if expected = ""; found == "" {
			continue
		}
		overdue := conflict.graceElapsed(found)
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

// Has reports whether the record named in a hash field has the value. If it has, Has confirms a
// pending claim, whose writer may have died. If the record does not have the value and revoke is
// set, Has revokes the claim.
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

// Revoke reports whether the record of a claim has the value. If the record does not have it,
// Revoke revokes the claim.
func (u *Claims) Revoke(ctx context.Context, e schema.Entry, c ClaimText) (has bool, err error) {
	p := u.Layout.Of(c.ID)
	args := []string{c.ID, strconv.Itoa(e.Index.Number), e.Value, c.token, c.Deadline}
	return voidScript.Run(ctx, u.Client, []string{p.Content, p.Voids}, args).AsBool()
}

// Confirm confirms the claims of a written record, and releases its former values. Errors are
// ignored: the record has been written, and the next process that needs a value resolves its
// claim.
func (u *Claims) Confirm(ctx context.Context, id, token string, claims []Claim, released []schema.Entry) {
	swaps := make([]swap, len(claims))
	for i, c := range claims {
		swaps[i] = swap{u.Layout.UniqueKey(c.Entry), []string{c.Value, c.Text, id + "\x00" + token}}
	}
	u.swapMany(ctx, swaps)
	for _, e := range released {
		_ = u.Release(ctx, id, e)
	}
}

// Abandon releases the values claimed for a record that was not written.
func (u *Claims) Abandon(ctx context.Context, claims []Claim) {
	// Release them even if the context has ended: otherwise the next process would have to
	// wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	swaps := make([]swap, len(claims))
	for i, c := range claims {
		swaps[i] = swap{u.Layout.UniqueKey(c.Entry), []string{c.Value, c.Text, ""}}
	}
	u.swapMany(ctx, swaps)
}

// swapMany runs swap.lua in one pipeline. If a swap fails, the next process that needs the
// value resolves its claim.
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

// Release releases a value that a record no longer has. The hash must be unchanged before and
// after the record is read: a claim made meanwhile has another token.
func (u *Claims) Release(ctx context.Context, id string, e schema.Entry) error {
	key := u.Layout.UniqueKey(e)
	var conflict conflictingClaim
	for attempt := 0; ; attempt++ {
		text, err := u.Client.Do(ctx, u.Client.B().Hget().Key(key).Field(e.Value).Build()).ToString()
		c := ParseClaim(text)
		if rueidis.IsRedisNil(err) || err == nil && c.ID != id {
			return nil
		}
		if err != nil {
			return err
		}
		overdue := conflict.graceElapsed(text)
		has, err := u.Has(ctx, e, text, overdue)
		if err != nil || has {
			return err
		}
		if c.Deadline == "" || overdue {
			return u.Replace(ctx, key, e.Value, text, "")
		}
		// The claim is pending. Its writer may have written the record before the value was
		// released: a confirmation would then stay in the hash.
		if err := backoff.Pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// Owner returns the id of the record with a value of a unique index. With several partitions it
// may be a record that has claimed the value but does not have it: check the record.
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

// Replace changes the hash field of a value if it still equals old.
func (u *Claims) Replace(ctx context.Context, key, value, old, text string) error {
	return swapScript.Run(ctx, u.Client, []string{key}, []string{value, old, text}).Error()
}
