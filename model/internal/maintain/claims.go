package maintain

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"retwis/maintain"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// claimAligner aligns unique values that are in other partitions than their records.
// A record has a value if its content says so; see package unique.
type claimAligner struct{ aligner *aligner }

// claim claims a value for a record, or returns the id of its owner.
func (a *claimAligner) claim(ctx context.Context, w *target, e schema.Entry) (owner string, err error) {
	u := a.aligner.run.t.Claims
	if a.aligner.run.mode == DryRun {
		text, err := a.aligner.run.t.Client.Do(ctx, a.aligner.run.t.Client.B().Hget().Key(a.aligner.run.t.Layout.UniqueKey(e)).Field(e.Value).Build()).ToString()
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
	if !a.aligner.run.t.Layout.Spread() {
		return nil
	}
	suspects, err := a.missing(ctx, all)
	if err != nil || len(suspects) == 0 {
		return err
	}
	// A record may have changed since the script compared it. It has the values if it
	// is unchanged.
	var still []*target
	dry := &aligner{&run{t: a.aligner.run.t, mode: DryRun}}
	outcomes, err := dry.exec(ctx, suspects, "any")
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.status == "OK" && len(o.findings) == 0 {
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
			commands = append(commands, a.aligner.run.t.Client.B().Hget().Key(a.aligner.run.t.Layout.UniqueKey(e)).Field(e.Value).Build())
			of = append(of, w)
		}
	}
	if len(commands) == 0 {
		return nil, nil
	}
	var found []*target
	for i, reply := range a.aligner.run.t.Client.DoMulti(ctx, commands...) {
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
	u := a.aligner.run.t.Claims
	token := newToken()
	var claims []unique.Claim
	var names string
	lost := 0
	for _, e := range unique.Entries(w.entries) {
		if a.aligner.run.mode == DryRun {
			names += " " + e.Index.Describe(e.Value)
			continue
		}
		c, err := u.Claim(ctx, w.id, token, e)
		var other *schema.TakenError
		switch {
		case errors.As(err, &other):
			lost++
			a.aligner.run.engine.Found(maintain.Problem{Kind: maintain.Taken, ID: w.id, Found: other.Error()})
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
	if lost == 0 && a.aligner.run.mode != migrate {
		a.aligner.run.engine.Found(maintain.Problem{Kind: maintain.Missing, ID: w.id, Found: "unique entries that are missing or name another record:" + names})
		a.aligner.run.repaired(1)
	}
	return nil
}
