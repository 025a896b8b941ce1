package maintain

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"time"

	"retwis/maintain"
	"retwis/model/internal/backoff"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"

	"github.com/redis/rueidis"
)

// claimAligner aligns unique values that are in other partitions than their records.
// A record has a value if its content says so; see package unique.
type claimAligner struct{ *aligner }

// claim claims a value for a record, or returns the id of its owner.
func (a *claimAligner) claim(ctx context.Context, w *target, e schema.Entry) (owner string, err error) {
	u := a.t.Claims
	if a.mode == DryRun {
		text, err := a.t.Client.Do(ctx, a.t.Client.B().Hget().Key(a.t.UniqueKey(e)).Field(e.Value).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		c := unique.ParseClaim(text)
		c.Deadline = ""
		if has, err := u.Revoke(ctx, e, c); err != nil || !has || c.ID == w.id {
			return "", err
		}
		return c.ID, nil
	}
	if w.token == "" {
		w.token = newToken()
	}
	c, err := u.Claim(ctx, w.id, w.token, e)
	var other *schema.TakenError
	switch {
	case errors.As(err, &other):
		return other.Owner, nil
	case err == nil && c.Text != "":
		w.claims = append(w.claims, c)
	}
	return "", err
}

// check checks that the unique values of records lead to them.
func (a *claimAligner) check(ctx context.Context, all []*target) error {
	if !a.t.Spread() {
		return nil
	}
	suspects, err := a.missing(ctx, all)
	if err != nil || len(suspects) == 0 {
		return err
	}
	// A record may have changed since the script compared it. It has the values if it
	// is unchanged.
	var still []*target
	dry := &aligner{&run{t: a.t, mode: DryRun}}
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
		for _, e := range unique.Entries(w.entries) {
			commands = append(commands, a.t.Client.B().Hget().Key(a.t.UniqueKey(e)).Field(e.Value).Build())
			of = append(of, w)
		}
	}
	if len(commands) == 0 {
		return nil, nil
	}
	var found []*target
	for i, reply := range a.t.Client.DoMulti(ctx, commands...) {
		text, err := reply.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		if unique.ParseClaim(text).ID != of[i].id && (len(found) == 0 || found[len(found)-1] != of[i]) {
			found = append(found, of[i])
		}
	}
	return found, nil
}

// restore claims the unique values of a record, unless another record has them too.
func (a *claimAligner) restore(ctx context.Context, w *target) error {
	u := a.t.Claims
	token := newToken()
	var claims []unique.Claim
	var names string
	lost := 0
	for _, e := range unique.Entries(w.entries) {
		if a.mode == DryRun {
			names += " " + e.Index.Describe(e.Value)
			continue
		}
		c, err := u.Claim(ctx, w.id, token, e)
		var other *schema.TakenError
		switch {
		case errors.As(err, &other):
			lost++
			a.Found(maintain.Problem{Kind: maintain.Taken, ID: w.id, Found: other.Error()})
		case err != nil:
			u.Abandon(ctx, claims)
			return err
		case c.Text != "":
			claims = append(claims, c)
			names += " " + e.Index.Describe(e.Value)
		}
	}
	u.Confirm(ctx, w.id, token, claims, nil)
	for _, c := range claims {
		// The record may have left the value while no entry led to it.
		if err := u.Release(ctx, w.id, c.Entry); err != nil {
			return err
		}
	}
	if lost == 0 && a.mode != migrate {
		a.Found(maintain.Problem{Kind: maintain.Missing, ID: w.id, Found: "unique entries that are missing or name another record:" + names})
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
	entry     schema.Entry
	text      string // what the hash says
	misplaced bool   // the value belongs to another hash
}

// check checks a page of a unique index.
func (o *orphanClaims) check(ctx context.Context, p *schema.Partition, x *schema.Index, pairs []string) error {
	key := o.t.IndexKey(p, x)
	have, err := o.contentsOf(ctx, pairs)
	if err != nil {
		return err
	}
	var suspects []orphanClaim
	for i := 0; i+1 < len(pairs); i += 2 {
		e, c := schema.Entry{Index: x, Value: pairs[i]}, unique.ParseClaim(pairs[i+1])
		switch misplaced := o.t.UniqueKey(e) != key; {
		case misplaced, !have.have(c.ID, x, e.Value) && !inProgress(c.Deadline):
			suspects = append(suspects, orphanClaim{key, e, pairs[i+1], misplaced})
		case have.have(c.ID, x, e.Value) && c.Deadline != "" && o.mode != DryRun:
			if _, err := o.t.Claims.Has(ctx, e, pairs[i+1], false); err != nil { // and confirms it
				return err
			}
		}
	}
	return o.checkSuspects(ctx, suspects)
}

// contentsOf reads the entries of the records that claims name.
func (o *orphanClaims) contentsOf(ctx context.Context, pairs []string) (contents, error) {
	byPart := map[*schema.Partition][]string{}
	for i := 1; i < len(pairs); i += 2 {
		id := unique.ParseClaim(pairs[i]).ID
		byPart[o.t.Of(id)] = append(byPart[o.t.Of(id)], id)
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
	return err == nil && time.Since(time.UnixMilli(ms)) < unique.Lease
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
		if o.mode != DryRun || time.Since(begin) >= unique.Grace {
			break
		}
		if err := backoff.Sleep(ctx, min(delay, unique.Grace-time.Since(begin))); err != nil {
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
	b := o.t.Client.B()
	var commands rueidis.Commands
	for _, s := range suspects {
		id := unique.ParseClaim(s.text).ID
		p := o.t.Of(id)
		commands = append(commands, b.Hget().Key(s.key).Field(s.entry.Value).Build(),
			b.Exists().Key(p.Record(id)).Build(), b.Hexists().Key(p.Content).Field(id).Build())
	}
	replies := o.t.Client.DoMulti(ctx, commands...)
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
	u := o.t.Claims
	c := unique.ParseClaim(s.text)
	if !s.misplaced {
		asked := c
		if o.mode == DryRun {
			asked.Deadline = "" // revokes nothing
		}
		has, err := u.Revoke(ctx, s.entry, asked)
		if err != nil || has {
			return err
		}
	}
	o.report(s.entry.Index, []orphan{{c.ID, s.entry.Value}}, "")
	if o.mode == DryRun {
		return nil
	}
	return u.Replace(ctx, s.key, s.entry.Value, s.text, "")
}
