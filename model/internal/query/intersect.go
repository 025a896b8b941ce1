package query

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"retwis/model/internal/schema"
)

// maxIntersected is the maximum number of ids of the smallest set to intersect in one step.
const maxIntersected = 2000

// direct reports whether the matches of a path are exactly the intersection of sets, or all
// records.
func (src *accessPath) direct(e *expr, within *orderedIndex) bool {
	return src.x == nil && within == nil && len(src.residual(e).terms) == 0 &&
		!slices.ContainsFunc(src.groups, func(g *group) bool { return len(g.sets) != 1 })
}

// stepDirect is step for a direct path. It returns false if the step is too much work for
// intersect.lua.
func (w *scan) stepDirect(ctx context.Context, want int) (done bool, err error) {
	if !w.direct || w.stepped || want == 0 || len(w.sets) < 2 && w.at.begun {
		return false, nil
	}
	w.stepped = true
	keys, args := w.directCall(want)
	var rows []row
	err = w.t.Registry.RetryRestored(ctx, func() error {
		m, err := intersectScript.Run(ctx, w.t.Client, keys, args).ToMessage()
		if err != nil {
			return w.t.TypeError(ctx, err, keys...)
		}
		if done = m.IsArray(); !done {
			word, err := m.ToString()
			if err == nil && word == "SCHEMA" {
				err = w.t.Registry.SchemaError()
			}
			return err
		}
		list, err := m.AsStrSlice()
		if err != nil || !w.onlyIDs() && len(list)%2 != 0 {
			return errors.Join(err, schema.ErrReply(err))
		}
		rows = make([]row, 0, len(list))
		for i := 0; i < len(list); i++ {
			h := row{id: list[i], position: position{at: list[i], begun: true}, scan: w.number}
			if !w.onlyIDs() {
				i++
				h.score = list[i]
			}
			rows = append(rows, h)
		}
		return nil
	})
	if !done || err != nil {
		return done, err
	}
	w.checked += int64(len(rows))
	if len(w.sets) < 2 { // read in scan direction, from the start
		w.rows, w.done = append(w.rows, rows...), len(rows) < want
		if !w.done {
			w.at = rows[len(rows)-1].position
		}
		return true, nil
	}
	if w.reverse {
		slices.Reverse(rows)
	}
	from := 0
	for w.at.begun && from < len(rows) && !comesAfter(&rows[from].position, &w.at, w.reverse) {
		from++
	}
	w.rows, w.done = append(w.rows, rows[from:]...), true
	return true, nil
}

// onlyIDs reports whether the positions of rows are not needed: there is no cursor, and there
// are no other partitions to merge.
func (w *scan) onlyIDs() bool {
	return !w.paged && len(w.sets) > 1 && len(w.t.Layout.Parts) == 1 && !w.at.begun
}

// directCall returns the keys and arguments of intersect.lua.
func (w *scan) directCall(want int) (keys, args []string) {
	keys = append(make([]string, 0, 3+max(len(w.sets), 1)), w.part.Expires, w.part.Meta, w.part.All)
	args = []string{
		strconv.FormatInt(flag(w.t.Schema.Expires >= 0), 10), strconv.Itoa(want), strconv.FormatInt(flag(w.reverse), 10),
		strconv.FormatInt(flag(w.onlyIDs()), 10), strconv.Itoa(maxIntersected),
	}
	var used []*schema.Index
	for _, e := range w.sets {
		keys = append(keys, w.t.Layout.ValueKey(w.part, e))
		if !slices.Contains(used, e.Index) {
			used = append(used, e.Index)
			args = append(args, "built:"+e.Index.Identity(w.t.Schema))
		}
	}
	if len(w.sets) == 0 {
		keys = append(keys, w.part.All)
	}
	return keys, args
}

// comesAfter reports whether position a is after b in creation order.
func comesAfter(a, b *position, reverse bool) bool {
	if reverse {
		a, b = b, a
	}
	x, _ := strconv.ParseFloat(a.score, 64) // in the format of Redis
	y, _ := strconv.ParseFloat(b.score, 64)
	if x != y {
		return x > y
	}
	return a.at > b.at
}
