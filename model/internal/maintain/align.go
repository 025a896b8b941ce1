package maintain

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/maintain"
	"retwis/model/internal/backoff"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// finding is one thing that align.lua found.
type finding struct {
	what  string
	entry schema.Entry // of a declared index; its index is nil for others
	value string
	owner string
}

// align compares records with what they have in the indexes, and corrects the indexes unless
// this is a dry run. Each is compared in one script, again if the record has changed
// since it was read. Two round trips for all of them, unless unique values are in
// conflict.
func (r *run) align(ctx context.Context, ids []string) error {
	for attempt := 0; len(ids) > 0; attempt++ {
		if err := backoff.Pause(ctx, attempt); err != nil {
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

// alignOnce is one attempt of align. It returns the records that changed meanwhile.
func (r *run) alignOnce(ctx context.Context, ids []string) (again []string, err error) {
	all, err := r.targets(ctx, ids)
	if err != nil {
		return nil, err
	}
	var there, gone []*target
	for i := range all {
		switch w := &all[i]; {
		case !w.there:
			gone = append(gone, w)
		case w.err != nil:
			r.engine.Found(maintain.Problem{Kind: maintain.Invalid, ID: w.id, Found: w.err.Error()})
		default:
			there = append(there, w)
		}
	}
	again, err = r.removeGone(ctx, gone)
	if err != nil {
		return nil, err
	}
	outcomes, err := r.runAlign(ctx, there, "")
	if err != nil {
		return nil, err
	}
	var aligned []*target
	for i, w := range there {
		status, findings := outcomes[i].status, outcomes[i].findings
		if status == "OK" && contested(findings) {
			if status, findings, err = r.contest(ctx, w, findings); err != nil {
				return nil, err
			}
		}
		switch status {
		case "CONFLICT":
			again = append(again, w.id)
		case "UNKNOWN":
			r.engine.Found(maintain.Problem{Kind: maintain.Missing, ID: w.id, Found: "no entries in computed indexes: call Repair in the program that computes them"})
		default:
			if err := r.releaseLeft(ctx, w.id, findings); err != nil {
				return nil, err
			}
			r.reportFindings(w, findings)
			aligned = append(aligned, w)
		}
	}
	return again, r.checkClaims(ctx, aligned)
}

// outcome is a reply of align.lua.
type outcome struct {
	status   string
	findings []finding
}

// runAlign runs align.lua for records: one pipeline, and another one for those that are in
// sets of values which only their contents name.
func (r *run) runAlign(ctx context.Context, all []*target, claims string) ([]outcome, error) {
	outcomes := make([]outcome, len(all))
	left := make([]int, len(all))
	for i := range all {
		left[i] = i
	}
	for len(left) > 0 {
		calls := make([]script.Call, len(left))
		for i, n := range left {
			calls[i] = r.alignCall(all[n], claims)
		}
		var again []int
		for i, reply := range alignScript.RunMany(ctx, r.t.Client, calls) {
			o, err := r.parseFindings(reply)
			if err != nil {
				return nil, r.t.TypeError(ctx, err, calls[i].Keys...)
			}
			w := all[left[i]]
			if o.status == "KEYS" {
				for _, f := range o.findings {
					w.sets = append(w.sets, f.entry)
				}
				again = append(again, left[i])
			}
			outcomes[left[i]] = o
		}
		left = again
	}
	return outcomes, nil
}

// alignCall returns the call of align.lua for a record.
func (r *run) alignCall(w *target, claims string) script.Call {
	t := r.t
	expiring := "0"
	if t.Schema.Expires >= 0 {
		expiring = "1"
	}
	p := t.Layout.Of(w.id)
	keys, sets := t.Layout.ValueKeys(t.Layout.CollectionKeys(t.Layout.WriteKeys(p, w.id), p, w.id), p, w.entries, w.sets)
	args := []string{
		string(r.mode), w.id, t.Registry.Stamp(), t.Layout.IndexNumbers, string(schema.Pack(w.due, w.entries)), t.Layout.CreationScore(w.id), w.read, expiring, t.Opaque, claims, sets,
	}
	return script.Call{Keys: keys, Args: append(args, t.Schema.NamesOf(t.Rows.Relevant)...)}
}

// parseFindings reads a reply of align.lua.
func (r *run) parseFindings(reply rueidis.RedisResult) (o outcome, err error) {
	list, err := reply.ToArray()
	if err != nil || len(list)%4 != 1 {
		return o, errors.Join(err, schema.ErrReply(err))
	}
	if o.status, err = list[0].ToString(); err != nil {
		return o, err
	}
	if o.status == "SCHEMA" {
		return o, r.t.Registry.SchemaError()
	}
	for i := 1; i < len(list); i += 4 {
		f := finding{}
		f.what, _ = list[i].ToString()
		number, err := list[i+1].AsInt64()
		if err != nil {
			return o, err
		}
		f.value, _ = list[i+2].ToString()
		f.owner, _ = list[i+3].ToString()
		if x := r.t.Schema.Numbered(int(number)); x != nil {
			f.entry = schema.Entry{Index: x, Value: f.value}
		}
		o.findings = append(o.findings, f)
	}
	return o, nil
}

// contested reports whether align.lua has changed nothing because other records have
// unique values, or because values must be claimed first.
func contested(findings []finding) bool {
	return slices.ContainsFunc(findings, func(f finding) bool {
		return f.what == "claim" || f.what == "taken" || f.what == "unclear"
	})
}

// contest finds out which unique values a record can have, and aligns it with these.
func (r *run) contest(ctx context.Context, w *target, findings []finding) (status string, rest []finding, err error) {
	u := r.t.Claims
	for contested(findings) {
		for _, f := range findings {
			if err := r.decide(ctx, w, f); err != nil {
				u.Abandon(ctx, w.claims)
				return "", nil, err
			}
		}
		claims := "any"
		if r.mode != DryRun {
			claims = unique.Pack(w.token, w.claims)
		}
		outcomes, err := r.runAlign(ctx, []*target{w}, claims)
		if err != nil {
			return "", nil, err // outcome unknown: the next reader of these values resolves it
		}
		status, findings = outcomes[0].status, outcomes[0].findings
		if refused(w.claims, findings) {
			u.Abandon(ctx, w.claims)
			w.claims, w.token = nil, ""
		}
	}
	if status == "OK" {
		u.Confirm(ctx, w.id, w.token, w.claims, nil)
	} else {
		u.Abandon(ctx, w.claims)
		w.claims = nil
	}
	return status, findings, nil
}

// refused reports whether align.lua asks for a value that is claimed already: another process
// has revoked the claim because this one was slow, and all others of its token with it.
func refused(claims []unique.Claim, findings []finding) bool {
	return slices.ContainsFunc(findings, func(f finding) bool {
		return f.what == "claim" && slices.ContainsFunc(claims, func(c unique.Claim) bool { return c.Entry == f.entry })
	})
}

// decide resolves one unique value. If another record has it, this record goes without.
func (r *run) decide(ctx context.Context, w *target, f finding) error {
	owner, err := "", error(nil)
	switch f.what {
	case "taken":
		owner = f.owner
	case "unclear":
		var has bool
		if has, err = r.ownerHas(ctx, f); has {
			owner = f.owner
		}
	case "claim":
		owner, err = r.claimFor(ctx, w, f.entry)
	}
	if err != nil || owner == "" {
		return err
	}
	w.entries = slices.DeleteFunc(w.entries, func(e schema.Entry) bool { return e == f.entry })
	w.taken = append(w.taken, schema.Taken(f.entry, owner))
	return nil
}

// ownerHas reports whether a record without content has a value that the index
// assigns to it. If not, it removes the value from the index.
func (r *run) ownerHas(ctx context.Context, f finding) (has bool, err error) {
	all, err := r.targets(ctx, []string{f.owner})
	if err != nil {
		return false, err
	}
	owner := &all[0]
	switch {
	case owner.there && (owner.err != nil || slices.Contains(owner.entries, f.entry)):
		return true, nil
	case r.mode == DryRun:
		return false, nil
	}
	_, err = r.removeOrphans(ctx, r.t.Layout.Of(f.owner), inUnindexed, f.entry.Index, []orphan{{f.owner, f.value}})
	return false, err
}

// releaseLeft gives back the unique values that a record no longer has.
func (r *run) releaseLeft(ctx context.Context, id string, findings []finding) error {
	for _, f := range findings {
		if f.what == "left" {
			if err := r.t.Claims.Release(ctx, id, f.entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportFindings reports what was found about a record that exists.
func (r *run) reportFindings(w *target, findings []finding) {
	for _, t := range w.taken {
		r.engine.Found(maintain.Problem{Kind: maintain.Taken, ID: w.id, Found: t.Error()})
	}
	if w.invalid != nil {
		r.engine.Found(maintain.Problem{Kind: maintain.Rejected, ID: w.id, Found: w.invalid.Error()})
	}
	if len(findings) == 0 || r.mode == migrate {
		return
	}
	r.engine.Found(problemOf(w.id, findings))
	r.repaired(1)
}

// problemOf describes the findings of align.lua.
func problemOf(id string, findings []finding) maintain.Problem {
	p := maintain.Problem{Kind: maintain.Stale, ID: id}
	var found, want []string
	changed := false
	for _, f := range findings {
		name := "an undeclared index"
		if f.entry.Index != nil {
			name = f.entry.Index.Describe(f.value)
		}
		switch f.what {
		case "absent":
			p.Kind = maintain.Missing
			found = append(found, "no content")
		case "entry":
			p.Kind = maintain.Missing
			found = append(found, "no entry "+name)
		case "lacks":
			want = append(want, name)
			p.Kind = maintain.Missing
		case "extra":
			found = append(found, name)
			changed = true
		case "all":
			p.Kind = maintain.Missing
			found = append(found, "no place in the order of creation")
		case "expires":
			found = append(found, "a wrong time of expiry")
		case "ttl":
			found = append(found, "a wrong time to live")
		}
	}
	if changed {
		p.Kind = maintain.Stale
	}
	p.Found, p.Want = strings.Join(found, ", "), strings.Join(want, ", ")
	return p
}

// removeGone removes what is left of records that do not exist. It returns the ids of
// those that exist by now.
func (r *run) removeGone(ctx context.Context, gone []*target) (again []string, err error) {
	t := r.t
	if len(gone) == 0 {
		return nil, nil
	}
	calls := make([]script.Call, len(gone))
	for i, w := range gone {
		p := t.Layout.Of(w.id)
		keys, sets := t.Layout.ValueKeys(t.Layout.CollectionKeys(t.Layout.WriteKeys(p, w.id), p, w.id), p, w.sets)
		calls[i] = script.Call{Keys: keys, Args: []string{
			r.effect(), w.id, t.Registry.Stamp(), t.Layout.IndexNumbers, strconv.Itoa(len(t.Schema.Collections)), sets,
		}}
	}
	var unknown []*target // in sets of values that only their contents name
	for i, reply := range goneScript.RunMany(ctx, t.Client, calls) {
		list, err := reply.ToArray()
		if err != nil || len(list) == 0 {
			return nil, errors.Join(t.TypeError(ctx, err, calls[i].Keys...), schema.ErrReply(err))
		}
		w := gone[i]
		switch status, _ := list[0].ToString(); status {
		case "SCHEMA":
			return nil, t.Registry.SchemaError()
		case "CONFLICT":
			again = append(again, w.id)
		case "KEYS":
			sets, err := unique.ParseEntries(t.Schema, list[1:])
			if err != nil {
				return nil, err
			}
			w.sets = append(w.sets, sets...)
			unknown = append(unknown, w)
			continue
		case "DANGLING":
			if r.mode != migrate {
				r.engine.Found(maintain.Problem{Kind: maintain.Dangling, ID: w.id, Found: "entries of a record that does not exist"})
				r.repaired(1)
			}
		}
		if err := t.Claims.ReleaseAll(ctx, w.id, list[1:]); err != nil {
			return nil, err
		}
	}
	more, err := r.removeGone(ctx, unknown)
	return append(again, more...), err
}

// newToken returns the token of a writer's claims.
func newToken() string { return rand.Text()[:16] }
