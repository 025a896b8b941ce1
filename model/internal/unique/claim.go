package unique

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/internal/script"
	"retwis/model/internal/backoff"
	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// In a model that is spread over partitions a record and its unique values are in
// different slots, where no script can change both. They are kept in step so:
//
//  1. The value is claimed, in the partition that it belongs to: the hash says
//     id, token and deadline of the claim.
//  2. The record is written, in its own partition, by a script that refuses
//     claims that are late or void. From here on it has the value.
//  3. The claim is settled: the hash says id and token.
//
// The record decides: it has a value if its content says so. Whoever finds a
// value claimed or settled asks the partition of that record; if it does not have
// the value, its claim is made void there, so that a write that is still under
// way is refused, and the hash is changed if it still says the same. A claim is
// given half a second before that. Its deadline, and until when it is remembered
// as void, are measured by the clock of the same server, so that no two clocks
// need to agree. A process that dies at any point leaves at worst a value that
// the next to ask for it takes over.
const (
	Lease    = 10 * time.Second
	Grace    = 500 * time.Millisecond
	Attempts = 3
)

// claims claims unique values for records, and gives them back.
type Claims struct {
	Client rueidis.Client
	*schema.Layout
	Align func(ctx context.Context, ids []string) error // brings records into their indexes
}

// claimed is a unique value that was claimed for a record.
type Claim struct {
	schema.Entry
	Text     string // what the hash says
	Deadline string
}

// unique are the entries of unique indexes, in an order that all writers keep, so
// that no two wait for each other.
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

// errLate is returned where a claim did not hold until the record was written.
var ErrLate = errors.New("a claim was late")

// unclaimed is what a record would have without a claim.
type Unclaimed struct{ Entries []schema.Entry }

func (u *Unclaimed) Error() string { return "unique values are not claimed" }

// met is the claim of another that stands in the way.
type conflictingClaim struct {
	text  string
	since time.Time
}

// longEnough tells whether a claim has had its time.
func (m *conflictingClaim) longEnough(text string) bool {
	if m.text != text {
		*m = conflictingClaim{text, time.Now()}
	}
	return time.Since(m.since) >= Grace
}

// claimText is what the hash says of a unique value.
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

// packClaims writes claims as write.lua reads them: number, value, token and
// deadline, in turn, in MessagePack.
func Pack(token string, claims []Claim) string {
	if len(claims) == 0 {
		return ""
	}
	b := schema.PackList(nil, 4*len(claims))
	for _, c := range claims {
		b = schema.PackText(schema.PackInt(b, int64(c.Index.Number)), c.Value)
		b = schema.PackText(schema.PackText(b, token), c.Deadline)
	}
	return string(b)
}

// claimAll claims values, and returns them with those claimed before.
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

// claim claims one value, or returns a *TakenError. Nothing is claimed where the
// record has it already.
func (u *Claims) Claim(ctx context.Context, id, token string, e schema.Entry) (Claim, error) {
	key := u.UniqueKey(e)
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
		void := met.longEnough(found)
		has, err := u.Has(ctx, e, found, void)
		switch owner := ParseClaim(found).ID; {
		case err != nil:
			return Claim{}, err
		case has && owner == id:
			return Claim{}, nil
		case has:
			return Claim{}, schema.Taken(e, owner)
		case ParseClaim(found).Deadline == "" || void:
			expected = found
		default:
			if err := backoff.Pause(ctx, attempt); err != nil {
				return Claim{}, err
			}
		}
	}
}

// has tells whether the record that a hash names has its value. If it has, a
// claim is settled for whoever died before that; if not, and it is to be, the
// claim is made void.
func (u *Claims) Has(ctx context.Context, e schema.Entry, text string, void bool) (bool, error) {
	c := ParseClaim(text)
	pending := c.Deadline != ""
	if !void {
		c.Deadline = ""
	}
	has, err := u.Revoke(ctx, e, c)
	if err == nil && has && pending {
		u.swapMany(ctx, []swap{{u.UniqueKey(e), []string{e.Value, text, c.ID + "\x00" + c.token}}})
	}
	return has, err
}

// revoke tells whether the record of a claim has its value, and makes the claim
// void if not.
func (u *Claims) Revoke(ctx context.Context, e schema.Entry, c ClaimText) (has bool, err error) {
	p := u.Of(c.ID)
	args := []string{c.ID, strconv.Itoa(e.Index.Number), e.Value, c.token, c.Deadline}
	return voidScript.Run(ctx, u.Client, []string{p.Content, p.Voids}, args).AsBool()
}

// confirm ends the claims of a record that was written, and gives back the values
// that it has left. What fails here is made good by whoever asks for the value:
// the record is written, so that is no error of the caller's.
func (u *Claims) Confirm(ctx context.Context, id, token string, claims []Claim, left []schema.Entry) {
	swaps := make([]swap, len(claims))
	for i, c := range claims {
		swaps[i] = swap{u.UniqueKey(c.Entry), []string{c.Value, c.Text, id + "\x00" + token}}
	}
	u.swapMany(ctx, swaps)
	for _, e := range left {
		_ = u.Release(ctx, id, e) // see above
	}
}

// abandon gives back the values that were claimed for a record that was not
// written.
func (u *Claims) Abandon(ctx context.Context, claims []Claim) {
	// Also where the caller has given up: the next to ask would have to wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	swaps := make([]swap, len(claims))
	for i, c := range claims {
		swaps[i] = swap{u.UniqueKey(c.Entry), []string{c.Value, c.Text, ""}}
	}
	u.swapMany(ctx, swaps)
}

// swapMany runs swap.lua in one pipeline. Its failures leave a claim to be made
// void by whoever meets it.
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

// release gives back a value that a record no longer has. What the hash says is
// read before the record is asked, and must be the same after: a claim made in
// between has another token.
func (u *Claims) Release(ctx context.Context, id string, e schema.Entry) error {
	if u.Spread() {
		if err := u.releaseClaim(ctx, id, e); err != nil {
			return err
		}
	}
	return u.handOver(ctx, e)
}

func (u *Claims) releaseClaim(ctx context.Context, id string, e schema.Entry) error {
	key := u.UniqueKey(e)
	text, err := u.Client.Do(ctx, u.Client.B().Hget().Key(key).Field(e.Value).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c := ParseClaim(text)
	if c.ID != id || c.Deadline != "" {
		return nil
	}
	has, err := u.Revoke(ctx, e, c)
	if err != nil || has {
		return err
	}
	return swapScript.Run(ctx, u.Client, []string{key}, []string{e.Value, text, ""}).Error()
}

// releaseAll gives back the values that scripts reply, each its number and value.
func (u *Claims) ReleaseAll(ctx context.Context, id string, reply []rueidis.RedisMessage) error {
	entries, err := ParseEntries(u.Schema, reply)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := u.Release(ctx, id, e); err != nil {
			return err
		}
	}
	return nil
}

// owner returns the id of the record that has a value of a unique index. In a
// model that is spread it is one that claims it, and may not have it: the record
// itself says.
func (u *Claims) Owner(ctx context.Context, x *schema.Index, value string) (id string, ok bool, err error) {
	key := u.IndexKey(&u.Parts[0], x)
	if u.Spread() {
		key = u.UniqueKey(schema.Entry{Index: x, Value: value})
	}
	text, err := u.Client.Do(ctx, u.Client.B().Hget().Key(key).Field(value).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", false, nil
	}
	return ParseClaim(text).ID, err == nil, err
}

// entriesOf reads numbers of indexes and values from the reply of a script.
func ParseEntries(s *schema.Schema, reply []rueidis.RedisMessage) ([]schema.Entry, error) {
	var all []schema.Entry
	for i := 0; i+1 < len(reply); i += 2 {
		number, err := reply[i].AsInt64()
		if err != nil {
			return nil, err
		}
		value, err := reply[i+1].ToString()
		if err != nil {
			return nil, err
		}
		x := s.Numbered(int(number))
		if x == nil {
			return nil, fmt.Errorf("%w: no index has the number %d", schema.ErrCorrupt, number)
		}
		all = append(all, schema.Entry{Index: x, Value: value})
	}
	return all, nil
}

// replace changes what a hash says of a value, if it still says the same.
func (u *Claims) Replace(ctx context.Context, key, value, old, text string) error {
	return swapScript.Run(ctx, u.Client, []string{key}, []string{value, old, text}).Error()
}
