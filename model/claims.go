package model

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/maintain"
)

// claimAligner aligns unique values that are in other partitions than their records.
// A record has a value if its content says so; see package unique.
type claimAligner struct{ *aligner }

// claim claims a value for a record, or returns the id of its owner.
func (a *claimAligner) claim(ctx context.Context, w *target, e entry) (owner string, err error) {
	u := a.t.claims
	if a.mode == dryRun {
		text, err := a.t.client.Do(ctx, a.t.client.B().Hget().Key(a.t.claimHash(e)).Field(e.value).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		c := claimParts(text)
		c.deadline = ""
		if has, err := u.revoke(ctx, e, c); err != nil || !has || c.id == w.id {
			return "", err
		}
		return c.id, nil
	}
	if w.token == "" {
		w.token = newToken()
	}
	c, err := u.claim(ctx, w.id, w.token, e)
	var other *TakenError
	switch {
	case errors.As(err, &other):
		return other.Owner, nil
	case err == nil && c.text != "":
		w.claims = append(w.claims, c)
	}
	return "", err
}

// check checks that the unique values of records lead to them.
func (a *claimAligner) check(ctx context.Context, all []*target) error {
	if !a.t.spread() {
		return nil
	}
	suspects, err := a.missing(ctx, all)
	if err != nil || len(suspects) == 0 {
		return err
	}
	// A record may have changed since the script compared it. It has the values if it
	// is unchanged.
	var still []*target
	dry := &aligner{&run{t: a.t, mode: dryRun}}
	for i, reply := range dry.exec(ctx, suspects, "any") {
		status, findings, err := dry.parse(reply)
		if err != nil {
			return err
		}
		if status == "OK" && len(findings) == 0 {
			still = append(still, suspects[i])
		}
	}
	if still, err = a.missing(ctx, still); err != nil {
		return err
	}
	for _, w := range still {
		if err := a.restore(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// missing returns the records with a unique value whose entry is missing or names
// another record.
func (a *claimAligner) missing(ctx context.Context, all []*target) ([]*target, error) {
	var commands rueidis.Commands
	var of []*target
	for _, w := range all {
		for _, e := range uniqueEntries(w.entries) {
			commands = append(commands, a.t.client.B().Hget().Key(a.t.claimHash(e)).Field(e.value).Build())
			of = append(of, w)
		}
	}
	if len(commands) == 0 {
		return nil, nil
	}
	var found []*target
	for i, reply := range a.t.client.DoMulti(ctx, commands...) {
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

// restore claims the unique values of a record, unless another record has them too.
func (a *claimAligner) restore(ctx context.Context, w *target) error {
	u := a.t.claims
	token := newToken()
	var claims []claimed
	var names string
	lost := 0
	for _, e := range uniqueEntries(w.entries) {
		if a.mode == dryRun {
			names += " " + e.index.described(e.value)
			continue
		}
		c, err := u.claim(ctx, w.id, token, e)
		var other *TakenError
		switch {
		case errors.As(err, &other):
			lost++
			a.Found(maintain.Problem{Kind: maintain.Taken, ID: w.id, Found: other.Error()})
		case err != nil:
			u.abandon(ctx, claims)
			return err
		case c.text != "":
			claims = append(claims, c)
			names += " " + e.index.described(e.value)
		}
	}
	u.confirm(ctx, w.id, token, claims, nil)
	for _, c := range claims {
		// The record may have left the value while no entry led to it.
		if err := u.release(ctx, w.id, c.entry); err != nil {
			return err
		}
	}
	if lost == 0 && a.mode != migrate {
		a.Found(maintain.Problem{Kind: maintain.Missing, ID: w.id, Found: "not all of its unique values lead to it:" + names})
		a.repaired(1)
	}
	return nil
}

// orphanClaims finds unique values whose records, in other partitions, do not have
// them.
type orphanClaims struct{ *orphans }

// orphanClaim is a value whose record does not seem to have it.
type orphanClaim struct {
	key       string
	entry     entry
	text      string // what the hash says
	misplaced bool   // the value belongs to another hash
}

// check checks a page of a unique index.
func (o *orphanClaims) check(ctx context.Context, p *partition, x *indexSpec, pairs []string) error {
	key := o.t.indexKey(p, x)
	have, err := o.contentsOf(ctx, pairs)
	if err != nil {
		return err
	}
	var suspects []orphanClaim
	for i := 0; i+1 < len(pairs); i += 2 {
		e, c := entry{x, pairs[i]}, claimParts(pairs[i+1])
		switch misplaced := o.t.claimHash(e) != key; {
		case misplaced, !have.have(c.id, x, e.value) && !inProgress(c.deadline):
			suspects = append(suspects, orphanClaim{key, e, pairs[i+1], misplaced})
		case have.have(c.id, x, e.value) && c.deadline != "" && o.mode != dryRun:
			if _, err := o.t.claims.has(ctx, e, pairs[i+1], false); err != nil { // and confirms it
				return err
			}
		}
	}
	return o.checkSuspects(ctx, suspects)
}

// contentsOf reads the entries of the records that claims name.
func (o *orphanClaims) contentsOf(ctx context.Context, pairs []string) (contents, error) {
	byPart := map[*partition][]string{}
	for i := 1; i < len(pairs); i += 2 {
		id := claimParts(pairs[i]).id
		byPart[o.t.of(id)] = append(byPart[o.t.of(id)], id)
	}
	have := contents{}
	for p, ids := range byPart {
		some, err := o.contents(ctx, p, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(have, some)
	}
	return have, nil
}

// inProgress reports whether the record of a claim may still be written. It allows for
// clocks that are late.
func inProgress(deadline string) bool {
	ms, err := strconv.ParseInt(deadline, 10, 64)
	return err == nil && time.Since(time.UnixMilli(ms)) < claimLease
}

// checkSuspects removes values whose records do not have them. A writer gives back the
// values that its record has left shortly after it has written the record: a dry run
// waits that long before it reports one. Giving a value back early does no harm.
func (o *orphanClaims) checkSuspects(ctx context.Context, suspects []orphanClaim) error {
	begin := time.Now()
	for delay := time.Millisecond; len(suspects) > 0; delay *= 2 {
		var err error
		if suspects, err = o.unchanged(ctx, suspects); err != nil {
			return err
		}
		if o.mode != dryRun || time.Since(begin) >= claimPatience {
			break
		}
		if err := sleep(ctx, min(delay, claimPatience-time.Since(begin))); err != nil {
			return err
		}
	}
	for _, s := range suspects {
		if err := o.drop(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// unchanged returns the claims whose hash says the same as before, without those of
// records that are not indexed yet.
func (o *orphanClaims) unchanged(ctx context.Context, suspects []orphanClaim) ([]orphanClaim, error) {
	b := o.t.client.B()
	var commands rueidis.Commands
	for _, s := range suspects {
		id := claimParts(s.text).id
		p := o.t.of(id)
		commands = append(commands, b.Hget().Key(s.key).Field(s.entry.value).Build(),
			b.Exists().Key(p.of(id)).Build(), b.Hexists().Key(p.content).Field(id).Build())
	}
	replies := o.t.client.DoMulti(ctx, commands...)
	var still []orphanClaim
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

// drop reports a value whose record does not have it, and removes it if the hash still
// says the same after the record was asked.
func (o *orphanClaims) drop(ctx context.Context, s orphanClaim) error {
	u := o.t.claims
	c := claimParts(s.text)
	if !s.misplaced {
		asked := c
		if o.mode == dryRun {
			asked.deadline = "" // revokes nothing
		}
		has, err := u.revoke(ctx, s.entry, asked)
		if err != nil || has {
			return err
		}
	}
	o.report(s.entry.index, []orphan{{c.id, s.entry.value}}, "")
	if o.mode == dryRun {
		return nil
	}
	return u.replace(ctx, s.key, s.entry.value, s.text, "")
}
