package maintain

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/maintain"
	"retwis/model/internal/backoff"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// align compares records with their index entries, and corrects the indexes unless this is a
// dry run. Each record is compared in one script, and again if the record has changed since it
// was read. It takes two round trips for all records, and a third one to correct records.
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

// alignOnce is one attempt of align. It returns the ids of records that have changed meanwhile.
func (r *run) alignOnce(ctx context.Context, ids []string) (again []string, err error) {
	all, err := r.targets(ctx, ids)
	if err != nil {
		return nil, err
	}
	var existing, missing []*target
	for i := range all {
		switch w := &all[i]; {
		case !w.exists:
			w.read, w.entries = "", nil
			missing = append(missing, w)
		case w.err != nil:
			r.engine.Found(maintain.Problem{Kind: maintain.Invalid, ID: w.id, Found: w.err.Error()})
		default:
			existing = append(existing, w)
		}
	}
	if again, err = r.removeMissing(ctx, missing); err != nil {
		return nil, err
	}
	var aligned, wrong []*target
	if r.mode == migrate && !r.t.Layout.Spread() && r.t.Opaque == "" {
		var changed []string
		if aligned, existing, changed, err = r.correct(ctx, existing); err != nil {
			return nil, err
		}
		again = append(again, changed...)
	}
	if err := r.look(ctx, existing); err != nil {
		return nil, err
	}
	for _, w := range existing {
		for w.state.ok && contested(w) { // until the owners of its unique values no longer change
			if err := r.contest(ctx, w); err != nil {
				return nil, err
			}
		}
		switch {
		case !w.state.ok:
			again = append(again, w.id)
		case r.t.Opaque != "" && !w.state.readable:
			r.engine.Found(maintain.Problem{Kind: maintain.Missing, ID: w.id, Found: "no entries in computed indexes: call Repair in the program that computes them"})
		default:
			if r.compare(w); w.wrong && r.mode != DryRun {
				wrong = append(wrong, w)
			} else {
				aligned = append(aligned, w)
			}
		}
	}
	corrected, taken, changed, err := r.correct(ctx, wrong)
	if err != nil {
		return nil, err
	}
	for _, w := range taken {
		again = append(again, w.id)
	}
	again, aligned = append(again, changed...), append(aligned, corrected...)
	for _, w := range aligned {
		r.report(w)
	}
	return again, r.checkClaims(ctx, aligned)
}

// state is a consistent snapshot of the index entries of a record.
type state struct {
	ok              bool // the record has not changed since it was read
	now             int64
	content         schema.Content
	hasContent      bool
	readable        bool // the content can be unpacked
	due             int64
	values          []schema.IndexValue // entries of the content
	created, listed string              // scores in the orders of creation and of expiry; "": none
	ttls            []int64             // milliseconds to live of the record, its sets and its lists; -1: no expiry, -2: does not exist
	at              [][]string          // for each entry, the values in the keys of its index; "": none
}

// look reads the index entries of records: one pipeline.
func (r *run) look(ctx context.Context, all []*target) error {
	calls := make([]script.Call, len(all))
	for i, w := range all {
		calls[i] = r.lookCall(w)
	}
	for i, reply := range lookScript.RunMany(ctx, r.t.Client, calls) {
		list, err := reply.ToArray()
		if err != nil || len(list) == 0 {
			return errors.Join(r.t.TypeError(ctx, err, calls[i].Keys...), schema.ErrReply(err))
		}
		if all[i].state, err = r.parseState(all[i], list); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) lookCall(w *target) script.Call {
	t, p := r.t, r.t.Layout.Of(w.id)
	var fields []string
	if w.exists {
		fields = t.Schema.NamesOf(t.Rows.Relevant)
	}
	keys := []string{p.Record(w.id), p.Meta, p.Content, p.All, p.Expires, p.Record(w.id)}
	args := append([]string{t.Registry.Stamp(), w.read, strconv.Itoa(len(fields))}, fields...)
	args = append(args, "HGET", w.id, "ZSCORE", w.id, "ZSCORE", w.id, "PTTL", "")
	keys = t.Layout.CollectionKeys(keys, p, w.id)
	for range t.Schema.Collections {
		args = append(args, "PTTL", "")
	}
	for _, e := range w.entries {
		switch {
		case e.Index.Place < 0:
		case e.Index.PerValue:
			keys = append(keys, t.Layout.ValueKey(p, e), p.Indexes[e.Index.Place])
			args = append(args, "ZSCORE", w.id, "ZSCORE", e.Value)
		case e.Index.Unique:
			keys, args = append(keys, p.Indexes[e.Index.Place]), append(args, "HGET", e.Value)
			if owner := w.owners[e]; owner != "" {
				keys, args = append(keys, p.Content), append(args, "HGET", owner)
			}
		default:
			keys = append(keys, p.Indexes[e.Index.Place])
			args = append(args, "ZSCORE", e.Value+w.id)
		}
	}
	return script.Call{Keys: keys, Args: args}
}

// parseState reads a reply of look.lua.
func (r *run) parseState(w *target, list []rueidis.RedisMessage) (s state, err error) {
	switch word, _ := list[0].ToString(); {
	case word == "SCHEMA":
		return s, r.t.Registry.SchemaError()
	case word == "CONFLICT":
		return s, nil
	}
	texts := make([]string, len(list))
	has := make([]bool, len(list))
	for i := range list {
		switch m := &list[i]; {
		case m.IsInt64():
			n, _ := m.AsInt64()
			texts[i], has[i] = strconv.FormatInt(n, 10), true
		case !m.IsNil():
			if texts[i], err = m.ToString(); err != nil {
				return s, err
			}
			has[i] = true
		}
	}
	next := func() (text string) {
		if len(texts) > 0 {
			text, texts = texts[0], texts[1:]
		}
		return text
	}
	s.ok = next() == "OK"
	if s.now, err = strconv.ParseInt(next(), 10, 64); err != nil {
		return s, schema.ErrReply(err)
	}
	s.content, s.hasContent = schema.Content(next()), has[2]
	if due, values, err := schema.Unpack(s.content); err == nil && s.hasContent {
		s.readable, s.due, s.values = true, due, values
	}
	s.created, s.listed = next(), next()
	for range 1 + len(r.t.Schema.Collections) {
		ms, err := strconv.ParseInt(next(), 10, 64)
		if err != nil {
			return s, schema.ErrReply(err)
		}
		s.ttls = append(s.ttls, ms)
	}
	for _, e := range w.entries {
		var at []string
		if e.Index.Place >= 0 {
			at = append(at, next())
			if e.Index.PerValue || w.owners[e] != "" {
				at = append(at, next())
			}
		}
		s.at = append(s.at, at)
	}
	return s, nil
}

// had reports whether the content of a record includes an entry.
func (s *state) had(e schema.Entry) bool {
	return slices.Contains(s.values, schema.IndexValue{Number: e.Index.Number, Value: e.Value})
}

// contested reports whether other records may own unique values of a record, or values must be
// claimed first.
func contested(w *target) bool {
	for i := range w.entries {
		if w.inConflict(i) {
			return true
		}
	}
	return false
}

func (w *target) inConflict(i int) bool {
	e := w.entries[i]
	switch {
	case !e.Index.Unique || slices.Contains(w.decided, e):
		return false
	case e.Index.Place < 0:
		return !w.state.had(e)
	}
	owner := w.state.at[i][0]
	return owner != "" && owner != w.id
}

// contest determines which unique values a record can have, and removes the values that other
// records own. If the owners have changed, contest only reads the index entries again, with the
// contents of the new owners in the same snapshot.
func (r *run) contest(ctx context.Context, w *target) error {
	owners := map[schema.Entry]string{}
	for i, e := range w.entries {
		if e.Index.Place >= 0 && w.inConflict(i) {
			owners[e] = w.state.at[i][0]
		}
	}
	if !maps.Equal(owners, w.owners) {
		w.owners = owners
		return r.look(ctx, []*target{w})
	}
	var entries []schema.Entry
	var at [][]string
	for i, e := range w.entries {
		if w.inConflict(i) {
			owner, err := r.ownerOf(ctx, w, e, w.state.at[i])
			if err != nil {
				r.t.Claims.Abandon(ctx, w.claims)
				return err
			}
			if owner != "" {
				w.taken = append(w.taken, schema.Taken(e, owner))
				continue
			}
			w.decided = append(w.decided, e)
		}
		entries, at = append(entries, e), append(at, w.state.at[i])
	}
	w.entries, w.state.at = entries, at
	return nil
}

// ownerOf returns the owner of a unique value, or "" if the record can have the value. It may
// claim the value for the record, or remove the index entry of an owner that does not have the
// value.
func (r *run) ownerOf(ctx context.Context, w *target, e schema.Entry, at []string) (string, error) {
	if e.Index.Place < 0 {
		return r.claimFor(ctx, w, e)
	}
	owner := at[0]
	if at[1] == "" { // the content of the owner is unknown
		all, err := r.targets(ctx, []string{owner})
		if err != nil {
			return "", err
		}
		if t := &all[0]; t.exists && (t.err != nil || slices.Contains(t.entries, e)) {
			return owner, nil
		}
	}
	due, values, err := schema.Unpack(schema.Content(at[1]))
	ownerState := state{values: values}
	if err == nil && ownerState.had(e) && (due == 0 || due > w.state.now) {
		return owner, nil
	}
	if r.mode == DryRun {
		return "", nil
	}
	_, err = r.t.Orphans(ctx, r.t.Layout.Of(owner), record.Any, record.InUnique, e.Index, []record.Orphan{{ID: owner, Value: e.Value}})
	return "", err
}

// compare finds surplus and missing index entries of a record.
func (r *run) compare(w *target) {
	s := &w.state
	w.problem, w.wrong = maintain.Problem{Kind: maintain.Stale, ID: w.id}, false
	var found, want []string
	note := func(kind maintain.Kind, to *[]string, what string) {
		w.wrong = true
		if kind == maintain.Missing {
			w.problem.Kind = kind
		}
		if len(found)+len(want) < 8 {
			*to = append(*to, what)
		}
	}
	if !s.hasContent {
		note(maintain.Missing, &found, "no content")
	}
	for i, e := range w.entries {
		switch {
		case !s.had(e):
			note(maintain.Missing, &want, e.Index.Describe(e.Value))
		case !s.in(w.id, e, s.at[i]):
			note(maintain.Missing, &found, "no entry "+e.Index.Describe(e.Value))
		}
	}
	extra := false
	for _, v := range s.values {
		x := r.t.Schema.Numbered(v.Number)
		switch {
		case x == nil && r.mode != migrate, x != nil && r.t.IsOpaque(x):
		case x == nil:
			w.wrong = true
		case !slices.Contains(w.entries, schema.Entry{Index: x, Value: v.Value}):
			extra = true
			note(maintain.Stale, &found, x.Describe(v.Value))
		}
	}
	w.wrong = w.wrong || s.hasContent && (!s.readable || s.due != w.due)
	if s.created == "" {
		note(maintain.Missing, &found, "no place in the order of creation")
	}
	if listed, _ := strconv.ParseFloat(cmp.Or(s.listed, "0"), 64); int64(listed) != w.due || w.due == 0 && s.listed != "" {
		note(maintain.Stale, &found, "a wrong time of expiry")
	}
	if s.mistimed(w.due, r.t.Schema.Expires >= 0) {
		note(maintain.Stale, &found, "a wrong time to live")
	}
	if extra {
		w.problem.Kind = maintain.Stale
	}
	w.problem.Found, w.problem.Want = strings.Join(found, ", "), strings.Join(want, ", ")
}

// in reports whether an index has an entry of a record, given the values in the keys of the
// index.
func (s *state) in(id string, e schema.Entry, at []string) bool {
	switch {
	case e.Index.Place < 0:
		return true
	case e.Index.PerValue: // in the set of the value, and the value is in the directory
		return at[0] != "" && (s.created == "" || at[0] == s.created) && at[1] != ""
	case e.Index.Unique:
		return at[0] == id
	}
	return at[0] == "0"
}

// mistimed reports whether a record, or one of its sets and lists, has the wrong expiry. Sets
// and lists must expire with the record, even if the record has no expires field. A difference
// of up to one second is tolerated, since the clocks of servers differ.
func (s *state) mistimed(due int64, expires bool) bool {
	want := s.ttls[0]
	if due != 0 {
		want = max(due-s.now, 0)
	} else if expires || s.due != 0 {
		want = -1
	}
	return slices.ContainsFunc(s.ttls, func(left int64) bool {
		return left != -2 && ((left < 0) != (want < 0) || max(left-want, want-left) > 1000)
	})
}

// correct adds records to their indexes: one pipeline. It also returns the records whose unique
// values are taken, and the ids of the records that have changed.
func (r *run) correct(ctx context.Context, wrong []*target) (corrected, taken []*target, changed []string, err error) {
	t := r.t
	all := make([]record.Alignment, len(wrong))
	for i, w := range wrong {
		all[i] = record.Alignment{ID: w.id, Content: w.state.content, Read: w.read, Due: w.due, Entries: w.entries, Drops: r.mode == migrate, Token: w.token, Claims: w.claims}
	}
	for i, err := range t.Align(ctx, all) {
		w := wrong[i]
		switch {
		case err == nil:
			t.Claims.Confirm(ctx, w.id, w.token, w.claims, nil)
			if err := r.followRecord(ctx, w); err != nil {
				return nil, nil, nil, err
			}
			corrected = append(corrected, w)
			continue
		case errors.Is(err, schema.ErrTaken):
			taken = append(taken, w)
		case errors.Is(err, schema.ErrConflict), errors.Is(err, schema.ErrNotFound), errors.Is(err, unique.ErrLate):
			changed = append(changed, w.id)
		default: // unknown outcome: the next process that needs the unique values resolves the claims
			return nil, nil, nil, err
		}
		t.Claims.Abandon(ctx, w.claims)
		w.claims, w.token = nil, ""
	}
	return corrected, taken, changed, nil
}

// followRecord makes the sets and lists of a record expire with the record, if the model has no
// expires field.
func (r *run) followRecord(ctx context.Context, w *target) error {
	s, p := &w.state, r.t.Layout.Of(w.id)
	if w.due != 0 || s.due != 0 || r.t.Schema.Expires >= 0 || !w.wrong || s.listed == "" && !s.mistimed(0, false) {
		return nil
	}
	b := r.t.Client.B()
	commands := rueidis.Commands{b.Zrem().Key(p.Expires).Member(w.id).Build()}
	for _, key := range r.t.Layout.CollectionKeys(nil, p, w.id) {
		if s.ttls[0] < 0 {
			commands = append(commands, b.Persist().Key(key).Build())
		} else {
			commands = append(commands, b.Pexpire().Key(key).Milliseconds(s.ttls[0]).Build())
		}
	}
	for _, reply := range r.t.Client.DoMulti(ctx, commands...) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}

// report reports the problems of an existing record.
func (r *run) report(w *target) {
	for _, t := range w.taken {
		r.engine.Found(maintain.Problem{Kind: maintain.Taken, ID: w.id, Found: t.Error()})
	}
	if w.invalid != nil {
		r.engine.Found(maintain.Problem{Kind: maintain.Rejected, ID: w.id, Found: w.invalid.Error()})
	}
	if w.wrong && r.mode != migrate {
		r.engine.Found(w.problem)
		r.repaired(1)
	}
}

// removeMissing removes leftovers of missing records. It returns the ids of the records that
// exist by now.
func (r *run) removeMissing(ctx context.Context, missing []*target) (again []string, err error) {
	if err := r.look(ctx, missing); err != nil {
		return nil, err
	}
	var remains []record.Remains
	var dangling []string
	for _, w := range missing {
		s := &w.state
		exists := func(ms int64) bool { return ms != -2 }
		switch {
		case !s.ok:
			again = append(again, w.id)
			continue
		case !s.hasContent && s.created == "" && s.listed == "" && !slices.ContainsFunc(s.ttls, exists):
			continue
		case s.due == 0 || s.due > s.now: // otherwise the record has expired, but has not been swept yet
			dangling = append(dangling, w.id)
		}
		remains = append(remains, record.Remains{ID: w.id, Content: s.content})
	}
	var exist []string
	if r.mode != DryRun {
		if exist, err = r.t.RemoveRemains(ctx, remains); err != nil {
			return nil, err
		}
	}
	for _, id := range dangling {
		if r.mode != migrate && !slices.Contains(exist, id) {
			r.engine.Found(maintain.Problem{Kind: maintain.Dangling, ID: id, Found: "entries of a record that does not exist"})
			r.repaired(1)
		}
	}
	return append(again, exist...), nil
}

// newToken returns a token for the claims of a writer.
func newToken() string { return rand.Text()[:16] }
