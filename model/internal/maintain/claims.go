package maintain

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"retwis/maintain"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// With several partitions, a unique value and its record can be in different partitions. A
// record owns a value if the content of the record includes the value; see package unique.

// claimFor claims a value for a record, or returns the id of its owner.
func (r *run) claimFor(ctx context.Context, w *target, e schema.Entry) (owner string, err error) {
	u := r.t.Claims
	if r.mode == DryRun {
		text, err := r.t.Client.Do(ctx, r.t.Client.B().Hget().Key(r.t.Layout.UniqueKey(e)).Field(e.Value).Build()).ToString()
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

// checkClaims checks that the index entries of unique values point to their records.
func (r *run) checkClaims(ctx context.Context, all []*target) error {
	if !r.t.Layout.Spread() {
		return nil
	}
	suspects, err := r.missingClaims(ctx, all)
	if err != nil || len(suspects) == 0 {
		return err
	}
	// A record may have changed since it was compared. An unchanged record owns its values.
	var unchanged []*target
	dryRun := &run{t: r.t, mode: DryRun}
	if err := dryRun.look(ctx, suspects); err != nil {
		return err
	}
	for _, w := range suspects {
		if w.state.ok {
			if dryRun.compare(w); !w.wrong {
				unchanged = append(unchanged, w)
			}
		}
	}
	if unchanged, err = r.missingClaims(ctx, unchanged); err != nil {
		return err
	}
	for _, w := range unchanged {
		if err := r.restoreClaims(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// missingClaims returns records with a unique value whose entry is missing or names another
// record.
func (r *run) missingClaims(ctx context.Context, all []*target) ([]*target, error) {
	var commands rueidis.Commands
	var targets []*target
	for _, w := range all {
		for _, e := range unique.Entries(w.entries) {
			commands = append(commands, r.t.Client.B().Hget().Key(r.t.Layout.UniqueKey(e)).Field(e.Value).Build())
			targets = append(targets, w)
		}
	}
	if len(commands) == 0 {
		return nil, nil
	}
	var found []*target
	for i, reply := range r.t.Client.DoMulti(ctx, commands...) {
		text, err := reply.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		if unique.ParseClaim(text).ID != targets[i].id && (len(found) == 0 || found[len(found)-1] != targets[i]) {
			found = append(found, targets[i])
		}
	}
	return found, nil
}

// restoreClaims claims the unique values of a record, unless another record has them as well.
func (r *run) restoreClaims(ctx context.Context, w *target) error {
	u := r.t.Claims
	token := newToken()
	var claims []unique.Claim
	var names string
	lost := 0
	for _, e := range unique.Entries(w.entries) {
		if r.mode == DryRun {
			names += " " + e.Index.Describe(e.Value)
			continue
		}
		c, err := u.Claim(ctx, w.id, token, e)
		var other *schema.TakenError
		switch {
		case errors.As(err, &other):
			lost++
			r.engine.Found(maintain.Problem{Kind: maintain.Taken, ID: w.id, Found: other.Error()})
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
		// The record may have released the value while no entry pointed to it.
		if err := u.Release(ctx, w.id, c.Entry); err != nil {
			return err
		}
	}
	if lost == 0 && r.mode != migrate {
		r.engine.Found(maintain.Problem{Kind: maintain.Missing, ID: w.id, Found: "unique entries that are missing or name another record:" + names})
		r.repaired(1)
	}
	return nil
}
