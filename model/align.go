package model

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/script"
)

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// isDamage tells whether an error is one of what a record holds.
func isDamage(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrValue) }

// word is one thing that align.lua found.
type word struct {
	what  string
	entry entry // of an index that the declaration has, or none
	other int   // number of an index that it does not have
	value string
	owner string
}

// align compares records with what they have in the indexes, and brings these
// into line where the run mends. Each is looked at in one script, which begins
// anew where the record has changed since it was read. Two round trips for all of
// them, where nothing is contested.
func (r *run) align(ctx context.Context, ids []string) error {
	for attempt := 0; len(ids) > 0; attempt++ {
		if err := pause(ctx, attempt); err != nil {
			return err
		}
		again, err := r.alignOnce(ctx, ids)
		if err != nil {
			return err
		}
		ids = again
	}
	return nil
}

// alignOnce is one attempt of align. It returns those that changed meanwhile.
func (r *run) alignOnce(ctx context.Context, ids []string) (again []string, err error) {
	all, err := r.t.wantedOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	var there, gone []*wanted
	for i := range all {
		switch w := &all[i]; {
		case !w.there:
			gone = append(gone, w)
		case w.err != nil:
			r.found(Problem{Kind: invalid, ID: w.id, Found: w.err.Error()})
		default:
			there = append(there, w)
		}
	}
	again, err = r.removeGone(ctx, gone)
	if err != nil {
		return nil, err
	}
	replies := r.runAlign(ctx, there, "")
	var aligned []*wanted
	for i, w := range there {
		status, words, err := r.t.words(replies[i])
		if err != nil {
			return nil, err
		}
		if status == "OK" && contested(words) {
			if status, words, err = r.contest(ctx, w, words); err != nil {
				return nil, err
			}
		}
		switch status {
		case "CONFLICT":
			again = append(again, w.id)
		case "UNKNOWN":
			r.found(Problem{Kind: missing, ID: w.id, Found: "no entries in computed indexes: call Repair in the program that computes them"})
		default:
			if err := r.giveBack(ctx, w.id, words); err != nil {
				return nil, err
			}
			r.tell(w, words)
			aligned = append(aligned, w)
		}
	}
	return again, r.checkClaims(ctx, aligned)
}

// runAlign runs align.lua for records: one pipeline.
func (r *run) runAlign(ctx context.Context, all []*wanted, claims string) []rueidis.RedisResult {
	if len(all) == 0 {
		return nil
	}
	t := r.t
	expiring := "0"
	if t.expires >= 0 {
		expiring = "1"
	}
	calls := make([]script.Call, len(all))
	for i, w := range all {
		args := []string{
			string(r.mode), w.id, t.stamp(), t.slots, string(pack(w.due, w.entries)), t.score(w.id), w.read, expiring, t.right, claims,
		}
		for _, f := range t.relevant {
			args = append(args, t.names[f])
		}
		calls[i] = script.Call{Keys: t.writeKeys(t.of(w.id), w.id), Args: args}
	}
	return t.scripts.align.RunMany(ctx, t.client, calls)
}

// words reads a reply of align.lua.
func (t *table) words(reply rueidis.RedisResult) (status string, words []word, err error) {
	list, err := reply.ToArray()
	if err != nil || len(list)%4 != 1 {
		return "", nil, errors.Join(err, errReply(err))
	}
	if status, err = list[0].ToString(); err != nil {
		return "", nil, err
	}
	if status == "SCHEMA" {
		return "", nil, t.otherSchema()
	}
	for i := 1; i < len(list); i += 4 {
		w := word{}
		w.what, _ = list[i].ToString()
		number, err := list[i+1].AsInt64()
		if err != nil {
			return "", nil, err
		}
		w.value, _ = list[i+2].ToString()
		w.owner, _ = list[i+3].ToString()
		w.other = int(number)
		if x := t.numbered(int(number)); x != nil {
			w.entry = entry{x, w.value}
		}
		words = append(words, w)
	}
	return status, words, nil
}

// errReply is what is wrong with a reply that is no error and not what a script
// says.
func errReply(err error) error {
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w: a script has replied something else", ErrCorrupt)
}

// numbered returns the index with a number, or nil.
func (t *table) numbered(number int) *indexSpec {
	if i := slices.IndexFunc(t.indexes, func(x *indexSpec) bool { return x.number == number }); i >= 0 {
		return t.indexes[i]
	}
	return nil
}

// contested tells whether align.lua has changed nothing because of values that
// others have, or that are to be claimed.
func contested(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		return w.what == "claim" || w.what == "taken" || w.what == "unclear"
	})
}

// contest finds out which values a record can have, and aligns it with these.
func (r *run) contest(ctx context.Context, w *wanted, words []word) (status string, rest []word, err error) {
	t := r.t
	for contested(words) {
		for _, x := range words {
			if err := r.decide(ctx, w, x); err != nil {
				t.abandon(ctx, w.claims)
				return "", nil, err
			}
		}
		claims := "any"
		if r.mode != look {
			claims = packClaims(w.token, w.claims)
		}
		if status, words, err = t.words(r.runAlign(ctx, []*wanted{w}, claims)[0]); err != nil {
			return "", nil, err // it may have been written: who asks for the values will see
		}
	}
	if status == "OK" {
		t.settle(ctx, w.id, w.token, w.claims, nil)
	} else {
		t.abandon(ctx, w.claims)
		w.claims = nil
	}
	return status, words, nil
}

// decide finds out about one value. Where another record has it this one goes
// without.
func (r *run) decide(ctx context.Context, w *wanted, x word) error {
	drop := func(owner string) error {
		w.entries = slices.DeleteFunc(w.entries, func(e entry) bool { return e.index == x.entry.index && e.value == x.value })
		w.taken = append(w.taken, takenBy(entry{x.entry.index, x.value}, owner))
		if r.mode == look {
			return nil
		}
		return r.t.wait(ctx, w.id, entry{x.entry.index, x.value})
	}
	switch x.what {
	case "taken":
		return drop(x.owner)
	case "unclear":
		has, err := r.unindexed(ctx, x)
		if has && err == nil {
			err = drop(x.owner)
		}
		return err
	case "claim":
		owner, err := r.claimFor(ctx, w, x.entry)
		if owner != "" && err == nil {
			err = drop(owner)
		}
		return err
	}
	return nil
}

// unindexed tells whether a record without content has a value that the index
// says it has. If not, the index is made not to say so.
func (r *run) unindexed(ctx context.Context, x word) (has bool, err error) {
	all, err := r.t.wantedOf(ctx, []string{x.owner})
	if err != nil {
		return false, err
	}
	owner := &all[0]
	switch {
	case owner.there && (owner.err != nil || slices.Contains(owner.entries, x.entry)):
		return true, nil
	case r.mode == look:
		return false, nil
	}
	_, err = r.strays(ctx, r.t.of(x.owner), unindexedOwner, x.entry.index, []stray{{x.owner, x.value}})
	return false, err
}

// claimFor claims a value for a record, or returns whose it is.
func (r *run) claimFor(ctx context.Context, w *wanted, e entry) (owner string, err error) {
	t := r.t
	if r.mode == look {
		text, err := t.client.Do(ctx, t.client.B().Hget().Key(t.claimHash(e)).Field(e.value).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		c := claimParts(text)
		c.deadline = ""
		if has, err := t.void(ctx, e, c); err != nil || !has || c.id == w.id {
			return "", err
		}
		return c.id, nil
	}
	if w.token == "" {
		w.token = rand.Text()[:16]
	}
	c, err := t.claim(ctx, w.id, w.token, e)
	var other *TakenError
	switch {
	case errors.As(err, &other):
		return other.Owner, nil
	case err == nil && c.text != "":
		w.claims = append(w.claims, c)
	}
	return "", err
}

// giveBack gives back the unique values elsewhere that a record has no longer.
func (r *run) giveBack(ctx context.Context, id string, words []word) error {
	for _, w := range words {
		if w.what == "left" {
			if err := r.t.release(ctx, id, w.entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell reports what was found of a record that is there.
func (r *run) tell(w *wanted, words []word) {
	for _, t := range w.taken {
		r.found(Problem{Kind: taken, ID: w.id, Found: t.Error()})
	}
	if len(words) == 0 || r.mode == migrate {
		return
	}
	r.found(problemOf(w.id, words))
	r.mended(1)
}

// problemOf words what align.lua found.
func problemOf(id string, words []word) Problem {
	p := Problem{Kind: stale, ID: id}
	var found, want []string
	changed := false
	for _, w := range words {
		name := "an index that is not declared"
		if w.entry.index != nil {
			name = w.entry.index.described(w.value)
		}
		switch w.what {
		case "absent":
			p.Kind = missing
			found = append(found, "no content")
		case "entry":
			p.Kind = missing
			found = append(found, "no entry "+name)
		case "lacks":
			want = append(want, name)
			p.Kind = missing
		case "extra":
			found = append(found, name)
			changed = true
		case "all":
			p.Kind = missing
			found = append(found, "no place in the order of creation")
		case "expires":
			found = append(found, "another time at which it expires")
		case "ttl":
			found = append(found, "another time to live")
		}
	}
	if changed {
		p.Kind = stale
	}
	p.Found, p.Want = strings.Join(found, ", "), strings.Join(want, ", ")
	return p
}

// removeGone sees to records that are not there. It returns those that are, by
// now.
func (r *run) removeGone(ctx context.Context, gone []*wanted) (again []string, err error) {
	t := r.t
	if len(gone) == 0 {
		return nil, nil
	}
	calls := make([]script.Call, len(gone))
	for i, w := range gone {
		p := t.of(w.id)
		keys := t.writeKeys(p, w.id)
		for _, name := range t.collections {
			keys = append(keys, p.member(name, w.id))
		}
		does := mend
		if r.mode == look {
			does = look
		}
		calls[i] = script.Call{Keys: keys, Args: []string{
			string(does), w.id, t.stamp(), t.slots, strconv.Itoa(t.opt.Changes), strconv.Itoa(len(t.collections)),
		}}
	}
	for i, reply := range t.scripts.gone.RunMany(ctx, t.client, calls) {
		list, err := reply.ToArray()
		if err != nil || len(list) == 0 {
			return nil, errors.Join(err, errReply(err))
		}
		switch status, _ := list[0].ToString(); status {
		case "SCHEMA":
			return nil, t.otherSchema()
		case "CONFLICT":
			again = append(again, gone[i].id)
		case "DANGLING":
			if r.mode != migrate {
				r.found(Problem{Kind: dangling, ID: gone[i].id, Found: "entries of a record that is not there"})
				r.mended(1)
			}
		}
		if err := t.releaseAll(ctx, gone[i].id, list[1:]); err != nil {
			return nil, err
		}
	}
	return again, nil
}
