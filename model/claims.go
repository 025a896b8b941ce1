package model

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// What upkeep does for unique values in other partitions than their records. A
// record has a value if its content says so; see claim.go.

// checkClaims looks whether unique values lead to the records that have them.
func (r *run) checkClaims(ctx context.Context, all []*wanted) error {
	if !r.t.spread() {
		return nil
	}
	suspects, err := r.unled(ctx, all)
	if err != nil || len(suspects) == 0 {
		return err
	}
	// Between the script that looked at a record and this it may have changed:
	// it has the values if it is still as it was.
	var still []*wanted
	for i, reply := range (&run{t: r.t, mode: look}).runAlign(ctx, suspects, "any") {
		status, words, err := r.t.words(reply)
		if err != nil {
			return err
		}
		if status == "OK" && len(words) == 0 {
			still = append(still, suspects[i])
		}
	}
	if still, err = r.unled(ctx, still); err != nil {
		return err
	}
	for _, w := range still {
		if err := r.lead(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// unled returns the records to which a unique value of theirs does not lead.
func (r *run) unled(ctx context.Context, all []*wanted) ([]*wanted, error) {
	var commands rueidis.Commands
	var of []*wanted
	for _, w := range all {
		for _, e := range unique(w.entries) {
			commands = append(commands, r.t.client.B().Hget().Key(r.t.claimHash(e)).Field(e.value).Build())
			of = append(of, w)
		}
	}
	if len(commands) == 0 {
		return nil, nil
	}
	var found []*wanted
	for i, reply := range r.t.client.DoMulti(ctx, commands...) {
		text, err := reply.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		if claimParts(text).id != of[i].id && (len(found) == 0 || found[len(found)-1] != of[i]) {
			found = append(found, of[i])
		}
	}
	return found, nil
}

// lead makes the unique values of a record lead to it, unless another has them
// too.
func (r *run) lead(ctx context.Context, w *wanted) error {
	t := r.t
	token := rand.Text()[:16]
	var claims []claimed
	var names string
	lost := 0
	for _, e := range unique(w.entries) {
		if r.mode == look {
			names += " " + e.index.described(e.value)
			continue
		}
		c, err := t.claim(ctx, w.id, token, e)
		var other *TakenError
		switch {
		case errors.As(err, &other):
			lost++
			r.found(Problem{Kind: taken, ID: w.id, Found: other.Error()})
		case err != nil:
			t.abandon(ctx, claims)
			return err
		case c.text != "":
			claims = append(claims, c)
			names += " " + e.index.described(e.value)
		}
	}
	t.settle(ctx, w.id, token, claims, nil)
	for _, c := range claims {
		// It may have left the value meanwhile, when nothing led to it.
		if err := t.release(ctx, w.id, c.entry); err != nil {
			return err
		}
	}
	if lost == 0 && r.mode != migrate {
		r.found(Problem{Kind: missing, ID: w.id, Found: "not all of its unique values lead to it:" + names})
		r.mended(1)
	}
	return nil
}

// strayClaims looks at values of a unique index that lead to records of other
// partitions.
func (r *run) strayClaims(ctx context.Context, p *partition, x *indexSpec, pairs []string) error {
	t := r.t
	key := t.indexKey(p, x)
	have, err := t.contentsAnywhere(ctx, pairs)
	if err != nil {
		return err
	}
	var suspects []strayClaim
	for i := 0; i+1 < len(pairs); i += 2 {
		e, c := entry{x, pairs[i]}, claimParts(pairs[i+1])
		switch misplaced := t.claimHash(e) != key; {
		case misplaced, !have.have(c.id, x, e.value) && !underWay(c.deadline):
			suspects = append(suspects, strayClaim{key, e, pairs[i+1], misplaced})
		case have.have(c.id, x, e.value) && c.deadline != "" && r.mode != look:
			if _, err := t.has(ctx, e, pairs[i+1], false); err != nil { // and settles it
				return err
			}
		}
	}
	return r.checkStrayClaims(ctx, suspects)
}

// contentsAnywhere are the contents of the records that claims name.
func (t *table) contentsAnywhere(ctx context.Context, pairs []string) (contents, error) {
	byPart := map[*partition][]string{}
	for i := 1; i < len(pairs); i += 2 {
		id := claimParts(pairs[i]).id
		byPart[t.of(id)] = append(byPart[t.of(id)], id)
	}
	have := contents{}
	for q, ids := range byPart {
		some, err := t.contentsOf(ctx, q, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(have, some)
	}
	return have, nil
}

// underWay tells whether a claim may still be followed by its write. The clocks
// of others may be behind.
func underWay(deadline string) bool {
	ms, err := strconv.ParseInt(deadline, 10, 64)
	return err == nil && time.Since(time.UnixMilli(ms)) < claimLease
}

// strayClaim is a value whose record does not seem to have it.
type strayClaim struct {
	key       string
	entry     entry
	text      string // what the hash says
	misplaced bool   // nobody asks this hash for the value
}

// checkStrayClaims sees to values whose records do not seem to have them. A writer
// gives back what its record has left a moment after it has written that: before
// this is told it gets the time that claims get. To take it back is right at once.
func (r *run) checkStrayClaims(ctx context.Context, suspects []strayClaim) error {
	begin := time.Now()
	for pause := time.Millisecond; len(suspects) > 0; pause *= 2 {
		var err error
		if suspects, err = r.t.stillStray(ctx, suspects); err != nil {
			return err
		}
		if r.mode != look || time.Since(begin) >= claimPatience {
			break
		}
		timer := time.NewTimer(min(pause, claimPatience-time.Since(begin)))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, s := range suspects {
		if err := r.dropClaim(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// stillStray returns those of which the hash says the same, and that do not lead
// to a record which is not indexed yet: that may be found to have it.
func (t *table) stillStray(ctx context.Context, suspects []strayClaim) ([]strayClaim, error) {
	b := t.client.B()
	var commands rueidis.Commands
	for _, s := range suspects {
		id := claimParts(s.text).id
		p := t.of(id)
		commands = append(commands, b.Hget().Key(s.key).Field(s.entry.value).Build(),
			b.Exists().Key(p.of(id)).Build(), b.Hexists().Key(p.content).Field(id).Build())
	}
	replies := t.client.DoMulti(ctx, commands...)
	var still []strayClaim
	for i, s := range suspects {
		now, err := replies[3*i].ToString()
		if rueidis.IsRedisNil(err) || err == nil && now != s.text {
			continue
		}
		there, err2 := replies[3*i+1].AsBool()
		indexed, err3 := replies[3*i+2].AsBool()
		if err := errors.Join(err, err2, err3); err != nil {
			return nil, err
		}
		if s.misplaced || indexed || !there {
			still = append(still, s)
		}
	}
	return still, nil
}

// dropClaim sees to a value whose record does not have it, if the hash still says
// the same after the record was asked.
func (r *run) dropClaim(ctx context.Context, s strayClaim) error {
	t := r.t
	c := claimParts(s.text)
	if !s.misplaced {
		asked := c
		if r.mode == look {
			asked.deadline = "" // nothing is to be made void
		}
		has, err := t.void(ctx, s.entry, asked)
		if err != nil || has {
			return err
		}
	}
	r.tellStrays(s.entry.index, []stray{{c.id, s.entry.value}}, "")
	if r.mode == look {
		return nil
	}
	return t.scripts.swap.Run(ctx, t.client, []string{s.key}, []string{s.entry.value, s.text, ""}).Error()
}
