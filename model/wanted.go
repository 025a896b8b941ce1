package model

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/rueidis"
)

// wanted is what a record should have in the indexes.
type wanted struct {
	id      string
	there   bool
	read    string // what align.lua compares the record with
	due     int64
	entries []entry
	err     error // why nothing can be said of it

	token  string // of a model that is spread: that of its claims
	claims []claimed
	taken  []*TakenError // values that it cannot have
}

// wantedOf reads records, and says what they should have: one pipeline.
func (t *table) wantedOf(ctx context.Context, ids []string) ([]wanted, error) {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = rueidis.Completed(t.command(id))
	}
	all := make([]wanted, len(ids))
	var unknown []int // there may be a record without any of its fields
	for i, r := range t.client.DoMulti(ctx, commands...) {
		w := &all[i]
		w.id = ids[i]
		stored := make([]text, len(t.fields))
		known, err := t.parse(w.id, r, stored)
		switch {
		case isNotFound(err):
			continue
		case isDamage(err):
			w.there, w.err = true, err
			continue
		case err != nil:
			return nil, err
		case !known:
			unknown = append(unknown, i)
		}
		w.there = true
		t.want(w, stored)
	}
	if len(unknown) == 0 {
		return all, nil
	}
	commands = nil
	for _, i := range unknown {
		commands = append(commands, t.client.B().Exists().Key(t.of(ids[i]).of(ids[i])).Build())
	}
	for j, r := range t.client.DoMulti(ctx, commands...) {
		var err error
		if all[unknown[j]].there, err = r.AsBool(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// want fills in what a record that was read should have.
func (t *table) want(w *wanted, stored []text) {
	w.read = t.fingerprint(stored)
	if t.compute != nil {
		if w.err = t.compute(w.id, stored); w.err != nil {
			return
		}
	}
	if w.due, w.err = t.due(stored); w.err == nil {
		w.entries, w.err = t.entries(stored)
	}
}

// relevantFields are the numbers of the fields that what a record has in the
// indexes depends on.
func (t *table) relevantFields() []int {
	var all []int
	for i := range t.names {
		used := i == t.expires || t.compute != nil && len(t.fields) > len(t.names)
		for _, x := range t.indexes {
			used = used || slices.Contains(x.fieldOf, i)
		}
		if used {
			all = append(all, i)
		}
	}
	return all
}

// computed tells whether an index has a column that only the Go type can compute.
func (t *table) computed(x *indexSpec) bool {
	return slices.ContainsFunc(x.fieldOf, func(i int) bool { return t.fields[i].Computed })
}

// score is the score that a record without one gets in user.all, or nothing: the
// time of the server.
func (t *table) score(id string) string {
	switch t.opt.IDs {
	case Counter:
		if n, err := strconv.ParseUint(id, 10, 53); err == nil {
			return strconv.FormatUint(n, 10)
		}
	case ULID:
		if u, err := ulid.ParseStrict(id); err == nil {
			return strconv.FormatUint(u.Time()*1000, 10)
		}
	}
	return ""
}

// isID tells whether what stands behind the prefix in a key is the id of a record:
// other keys may begin so too.
func (t *table) isID(id string) bool {
	switch t.opt.IDs {
	case Counter:
		n, err := strconv.ParseUint(id, 10, 63)
		return err == nil && strconv.FormatUint(n, 10) == id
	case ULID:
		_, err := ulid.ParseStrict(id)
		return err == nil
	}
	return id != "" && len(id) <= maxID && !strings.Contains(id, "\x00")
}

// described words an entry.
func (x *indexSpec) described(value string) string {
	if x.Unique && len(x.Columns) == 1 {
		return fmt.Sprintf("%s=%q", x.Name, shortened(value))
	}
	var words []string
	for i, c := range x.Columns {
		v, rest, err := x.encoding[i].Next(value)
		if err != nil {
			return fmt.Sprintf("%s=%q", x.Name, shortened(value))
		}
		value = rest
		switch v := v.(type) {
		case string:
			words = append(words, fmt.Sprintf("%s=%q", c.Field, shortened(v)))
		case time.Time:
			words = append(words, c.Field+"="+v.Format(time.RFC3339Nano))
		default:
			words = append(words, fmt.Sprintf("%s=%v", c.Field, v))
		}
	}
	return strings.Join(words, ",")
}

// idOf cuts the id off a member of the sorted set of an index.
func (x *indexSpec) idOf(member string) (value, id string, ok bool) {
	rest := member
	for i := range x.Columns {
		var err error
		if _, rest, err = x.encoding[i].Next(rest); err != nil {
			return member, "", false
		}
	}
	return member[:len(member)-len(rest)], rest, rest != ""
}
