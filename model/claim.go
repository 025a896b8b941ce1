package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/script"
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
	claimLease    = 10 * time.Second
	claimPatience = 500 * time.Millisecond
	claimAttempts = 3
)

// claims claims unique values for records, and gives them back.
type claims struct {
	client rueidis.Client
	*layout
	align func(ctx context.Context, ids []string) error // brings records into their indexes
}

// claimed is a unique value that was claimed for a record.
type claimed struct {
	entry
	text     string // what the hash says
	deadline string
}

// unique are the entries of unique indexes, in an order that all writers keep, so
// that no two wait for each other.
func uniqueEntries(entries []entry) []entry {
	var all []entry
	for _, e := range entries {
		if e.index.Unique {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		if a.index != b.index {
			return a.index.number - b.index.number
		}
		return strings.Compare(a.value, b.value)
	})
	return all
}

// errLate is returned where a claim did not hold until the record was written.
var errLate = errors.New("a claim was late")

// unclaimed is what a record would have without a claim.
type unclaimed struct{ entries []entry }

func (u *unclaimed) Error() string { return "unique values are not claimed" }

// met is the claim of another that stands in the way.
type met struct {
	text  string
	since time.Time
}

// longEnough tells whether a claim has had its time.
func (m *met) longEnough(text string) bool {
	if m.text != text {
		*m = met{text, time.Now()}
	}
	return time.Since(m.since) >= claimPatience
}

// claimText is what the hash says of a unique value.
type claimText struct{ id, token, deadline string }

func claimParts(text string) claimText {
	id, rest, _ := strings.Cut(text, "\x00")
	token, deadline, _ := strings.Cut(rest, "\x00")
	return claimText{id, token, deadline}
}

// swap is one run of swap.lua.
type swap struct {
	key  string
	args []string
}

// packClaims writes claims as write.lua reads them: number, value, token and
// deadline, in turn, in MessagePack.
func packClaims(token string, claims []claimed) string {
	if len(claims) == 0 {
		return ""
	}
	b := packList(nil, 4*len(claims))
	for _, c := range claims {
		b = packText(packInt(b, int64(c.index.number)), c.value)
		b = packText(packText(b, token), c.deadline)
	}
	return string(b)
}

// claimAll claims values, and returns them with those claimed before.
func (u *claims) claimAll(ctx context.Context, id, token string, wanted []entry, claims []claimed) ([]claimed, error) {
	for _, e := range wanted {
		c, err := u.claim(ctx, id, token, e)
		if err != nil {
			return claims, err
		}
		if c.text != "" {
			claims = append(claims, c)
		}
	}
	return claims, nil
}

// claim claims one value, or returns a *TakenError. Nothing is claimed where the
// record has it already.
func (u *claims) claim(ctx context.Context, id, token string, e entry) (claimed, error) {
	key := u.claimHash(e)
	lease := strconv.FormatInt(claimLease.Milliseconds(), 10)
	expected := ""
	var met met
	for attempt := 0; ; attempt++ {
		reply, err := claimScript.Run(ctx, u.client, []string{key}, []string{e.value, expected, id, token, lease}).ToArray()
		if err != nil || len(reply) != 2 {
			return claimed{}, errors.Join(err, ctx.Err())
		}
		found, _ := reply[0].ToString()
		if ours, _ := reply[1].AsInt64(); ours == 1 {
			return claimed{entry: e, text: found, deadline: claimParts(found).deadline}, nil
		}
		if expected = ""; found == "" {
			continue
		}
		void := met.longEnough(found)
		has, err := u.has(ctx, e, found, void)
		switch owner := claimParts(found).id; {
		case err != nil:
			return claimed{}, err
		case has && owner == id:
			return claimed{}, nil
		case has:
			return claimed{}, takenBy(e, owner)
		case claimParts(found).deadline == "" || void:
			expected = found
		default:
			if err := pause(ctx, attempt); err != nil {
				return claimed{}, err
			}
		}
	}
}

// has tells whether the record that a hash names has its value. If it has, a
// claim is settled for whoever died before that; if not, and it is to be, the
// claim is made void.
func (u *claims) has(ctx context.Context, e entry, text string, void bool) (bool, error) {
	c := claimParts(text)
	pending := c.deadline != ""
	if !void {
		c.deadline = ""
	}
	has, err := u.revoke(ctx, e, c)
	if err == nil && has && pending {
		u.swapMany(ctx, []swap{{u.claimHash(e), []string{e.value, text, c.id + "\x00" + c.token}}})
	}
	return has, err
}

// revoke tells whether the record of a claim has its value, and makes the claim
// void if not.
func (u *claims) revoke(ctx context.Context, e entry, c claimText) (has bool, err error) {
	p := u.of(c.id)
	args := []string{c.id, strconv.Itoa(e.index.number), e.value, c.token, c.deadline}
	return voidScript.Run(ctx, u.client, []string{p.content, p.voids}, args).AsBool()
}

// confirm ends the claims of a record that was written, and gives back the values
// that it has left. What fails here is made good by whoever asks for the value:
// the record is written, so that is no error of the caller's.
func (u *claims) confirm(ctx context.Context, id, token string, claims []claimed, left []entry) {
	swaps := make([]swap, len(claims))
	for i, c := range claims {
		swaps[i] = swap{u.claimHash(c.entry), []string{c.value, c.text, id + "\x00" + token}}
	}
	u.swapMany(ctx, swaps)
	for _, e := range left {
		_ = u.release(ctx, id, e) // see above
	}
}

// abandon gives back the values that were claimed for a record that was not
// written.
func (u *claims) abandon(ctx context.Context, claims []claimed) {
	// Also where the caller has given up: the next to ask would have to wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	swaps := make([]swap, len(claims))
	for i, c := range claims {
		swaps[i] = swap{u.claimHash(c.entry), []string{c.value, c.text, ""}}
	}
	u.swapMany(ctx, swaps)
}

// swapMany runs swap.lua in one pipeline. Its failures leave a claim to be made
// void by whoever meets it.
func (u *claims) swapMany(ctx context.Context, swaps []swap) {
	switch len(swaps) {
	case 0:
	case 1:
		_ = swapScript.Run(ctx, u.client, []string{swaps[0].key}, swaps[0].args).Error()
	default:
		multi := make([]script.Call, len(swaps))
		for i, c := range swaps {
			multi[i] = script.Call{Keys: []string{c.key}, Args: c.args}
		}
		swapScript.RunMany(ctx, u.client, multi)
	}
}

// release gives back a value that a record no longer has. What the hash says is
// read before the record is asked, and must be the same after: a claim made in
// between has another token.
func (u *claims) release(ctx context.Context, id string, e entry) error {
	if u.spread() {
		if err := u.releaseClaim(ctx, id, e); err != nil {
			return err
		}
	}
	return u.handOver(ctx, e)
}

func (u *claims) releaseClaim(ctx context.Context, id string, e entry) error {
	key := u.claimHash(e)
	text, err := u.client.Do(ctx, u.client.B().Hget().Key(key).Field(e.value).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c := claimParts(text)
	if c.id != id || c.deadline != "" {
		return nil
	}
	has, err := u.revoke(ctx, e, c)
	if err != nil || has {
		return err
	}
	return swapScript.Run(ctx, u.client, []string{key}, []string{e.value, text, ""}).Error()
}

// releaseAll gives back the values that scripts reply, each its number and value.
func (u *claims) releaseAll(ctx context.Context, id string, reply []rueidis.RedisMessage) error {
	entries, err := entriesOf(u.schema, reply)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := u.release(ctx, id, e); err != nil {
			return err
		}
	}
	return nil
}

// owner returns the id of the record that has a value of a unique index. In a
// model that is spread it is one that claims it, and may not have it: the record
// itself says.
func (u *claims) owner(ctx context.Context, x *indexSpec, value string) (id string, ok bool, err error) {
	key := u.indexKey(&u.parts[0], x)
	if u.spread() {
		key = u.claimHash(entry{x, value})
	}
	text, err := u.client.Do(ctx, u.client.B().Hget().Key(key).Field(value).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", false, nil
	}
	return claimParts(text).id, err == nil, err
}

// entriesOf reads numbers of indexes and values from the reply of a script.
func entriesOf(s *schema, reply []rueidis.RedisMessage) ([]entry, error) {
	var all []entry
	for i := 0; i+1 < len(reply); i += 2 {
		number, err := reply[i].AsInt64()
		if err != nil {
			return nil, err
		}
		value, err := reply[i+1].ToString()
		if err != nil {
			return nil, err
		}
		x := s.numbered(int(number))
		if x == nil {
			return nil, fmt.Errorf("%w: no index has the number %d", ErrCorrupt, number)
		}
		all = append(all, entry{x, value})
	}
	return all, nil
}

// replace changes what a hash says of a value, if it still says the same.
func (u *claims) replace(ctx context.Context, key, value, old, text string) error {
	return swapScript.Run(ctx, u.client, []string{key}, []string{value, old, text}).Error()
}
