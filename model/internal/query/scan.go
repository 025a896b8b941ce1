package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// scan reads an access path in one partition, in steps of select.lua.
type scan struct {
	t *record.Table
	*accessPath
	number  int               // number of the scan in the query
	part    *schema.Partition // nil: a unique index whose values are in all partitions
	packed  string            // the query, encoded for select.lua
	sets    []schema.Entry    // the sets of values that select.lua needs
	reverse bool
	created bool // the positions of rows are in creation order
	direct  bool // see accessPath.direct
	stepped bool // a direct step has been tried
	paged   bool // a cursor needs the positions of rows
	next    int  // number of the next range
	at      position
	rows    []row  // rows not yet taken
	checked int64  // entries scanned so far
	cursor  string // for the members of a set
	done    bool
}

// position is the position of a scan: after a member of an index, a unique value, or a
// record in the order of creation.
type position struct {
	at    string // member, unique value or id
	score string // score of a record in creation order
	begun bool   // the scan is not at the start
}

// row is a record that matches, according to the index.
type row struct {
	id string
	position
	scan int
}

// scanRanges is the maximum number of ranges, or unique values, in a step.
const scanRanges = 128

// maxRows is the maximum number of records returned by a step.
const maxRows = 500

// seek moves a scan to a position.
func (w *scan) seek(p position) {
	w.at, w.cursor = p, ""
	if w.x == nil {
		return
	}
	for w.next < len(w.ranges) && w.passed(w.rangeAt(w.next)) {
		w.next++
	}
	w.done = w.next == len(w.ranges)
}

// rangeAt returns a range, in scan order.
func (w *scan) rangeAt(i int) schema.Range {
	if w.reverse {
		return w.ranges[len(w.ranges)-1-i]
	}
	return w.ranges[i]
}

// passed reports whether a range is before the position of the scan.
func (w *scan) passed(s schema.Range) bool {
	switch {
	case !w.at.begun:
		return false
	case w.x.Unique && w.reverse:
		return s.Low >= w.at.at
	case w.x.Unique:
		return s.Low <= w.at.at
	case w.reverse:
		return w.at.at <= s.Low
	}
	return s.High != "" && s.High <= w.at.at
}

// ends returns the ends of a range, starting at the position, for ZRANGEBYLEX or, in reverse,
// ZREVRANGEBYLEX.
func (w *scan) ends(s schema.Range) (from, to string) {
	low, high := s.Lex()
	switch at := w.at.at; {
	case at == "":
	case w.reverse && (s.High == "" || at < s.High):
		high = "(" + at
	case !w.reverse && at >= s.Low:
		low = "(" + at
	}
	if w.reverse {
		return high, low
	}
	return low, high
}

// step scans the next entries, keeps up to want matches, and returns the number of matches. If
// want is 0, it only counts.
func (w *scan) step(ctx context.Context, want int) (int64, error) {
	t := w.t
	if w.members != nil {
		return w.stepMembers(ctx, want)
	}
	if w.part == nil {
		return w.stepOwners(ctx, want)
	}
	if done, err := w.stepDirect(ctx, min(want, maxRows)); done || err != nil {
		return int64(len(w.rows)), err
	}
	key := w.part.All
	args := []string{w.packed, strconv.Itoa(min(want, maxRows)), w.at.score, ""}
	last := min(len(w.ranges), w.next+scanRanges)
	switch {
	case w.x == nil:
		args[3] = w.at.at
	case w.x.Unique:
		key = t.Layout.IndexKey(w.part, w.x)
		for i := w.next; i < last; i++ {
			args = append(args, w.rangeAt(i).Low)
		}
	default:
		key = t.Layout.IndexKey(w.part, w.x)
		for i := w.next; i < last; i++ {
			from, to := w.ends(w.rangeAt(i))
			args = append(args, from, to)
		}
	}
	keys := w.keys(w.part, key)
	r, err := w.runSelect(ctx, keys, args)
	if err != nil {
		return 0, err
	}
	w.add(r.rows)
	w.checked += r.scanned
	return r.kept, w.advance(r)
}

// keys returns the keys for select.lua.
func (w *scan) keys(p *schema.Partition, key string) []string {
	keys := make([]string, 0, 5+len(w.sets))
	keys = append(keys, p.Content, p.Meta, p.Expires, p.All, key)
	for _, e := range w.sets {
		keys = append(keys, w.t.Layout.ValueKey(p, e))
	}
	return keys
}

// advance moves a scan to where a step ended.
func (w *scan) advance(r selection) error {
	if w.x == nil {
		w.at = position{at: r.last, score: r.ended, begun: r.last != ""}
		w.done = r.ended == ""
		return nil
	}
	ended, err := strconv.Atoi(r.ended)
	if err != nil || ended == 0 && r.last == "" || w.next+ended > len(w.ranges) {
		return errors.Join(fmt.Errorf("%w: select.lua replied %q", schema.ErrCorrupt, r.ended), err)
	}
	w.next += ended
	w.at = position{at: r.last, begun: r.last != ""}
	w.done = w.next == len(w.ranges)
	return nil
}

// stepOwners is step for unique values in other partitions than their records. It first reads
// the owners of the values.
func (w *scan) stepOwners(ctx context.Context, want int) (int64, error) {
	t := w.t
	last := min(len(w.ranges), w.next+scanRanges)
	if want > 0 {
		last = min(last, w.next+max(want, 8))
	}
	values := make([]string, last-w.next)
	owners := make([]string, len(values))
	for i := range values {
		values[i] = w.rangeAt(w.next + i).Low
	}
	err := each(len(values), func(i int) error {
		var err error
		owners[i], _, err = t.Claims.Owner(ctx, w.x, values[i])
		return err
	})
	if err != nil {
		return 0, err
	}
	byPart := make([][]string, len(t.Layout.Parts))
	for i, id := range owners {
		if id != "" {
			p := keys.Partition(id, len(t.Layout.Parts))
			byPart[p] = append(byPart[p], values[i], id)
		}
	}
	found := make([]selection, len(byPart))
	err = each(len(byPart), func(i int) error {
		var err error
		found[i], err = w.selectIDs(ctx, &t.Layout.Parts[i], byPart[i], want)
		return err
	})
	if err != nil {
		return 0, err
	}
	var rows []row
	kept := int64(0)
	for _, f := range found {
		kept += f.kept
		rows = append(rows, f.rows...)
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if w.reverse {
			a, b = b, a
		}
		return strings.Compare(a.at, b.at)
	})
	w.add(rows)
	w.next, w.at = last, position{}
	w.done = w.next == len(w.ranges)
	return kept, nil
}

// selectIDs checks records of a partition by their ids. pairs has alternating unique values and
// ids.
func (w *scan) selectIDs(ctx context.Context, p *schema.Partition, pairs []string, want int) (selection, error) {
	var all selection
	if want > 0 {
		want = len(pairs) // return all matches
	}
	for len(pairs) > 0 {
		args := append([]string{w.packed, strconv.Itoa(want), "", ""}, pairs...)
		r, err := w.runSelect(ctx, w.keys(p, p.Content), args)
		if err != nil {
			return all, err
		}
		n, err := strconv.Atoi(r.ended)
		if err != nil || n < 1 || 2*n > len(pairs) {
			return all, errors.Join(fmt.Errorf("%w: select.lua replied %q", schema.ErrCorrupt, r.ended), err)
		}
		all.kept += r.kept
		all.rows = append(all.rows, r.rows...)
		pairs = pairs[2*n:]
	}
	return all, nil
}

// selection is a reply of select.lua.
type selection struct {
	ended, last string
	kept        int64
	scanned     int64
	rows        []row
}

// runSelect runs select.lua.
func (w *scan) runSelect(ctx context.Context, keys, args []string) (r selection, err error) {
	err = w.t.Registry.RetryRestored(ctx, func() error {
		r, err = w.runSelectOnce(ctx, keys, args)
		return err
	})
	return r, err
}

// runSelectOnce runs select.lua once, and decodes the reply.
func (w *scan) runSelectOnce(ctx context.Context, keys, args []string) (selection, error) {
	t := w.t
	var r selection
	m, err := selectScript.Run(ctx, t.Client, keys, args).ToMessage()
	if err != nil {
		return r, t.TypeError(ctx, err, keys...)
	}
	if m.IsString() {
		return r, t.Registry.SchemaError()
	}
	list, err := m.ToArray()
	if err != nil || len(list) < 4 || len(list)%2 != 0 {
		return r, errors.Join(schema.ErrCorrupt, err)
	}
	if r.ended, err = textOf(&list[0]); err != nil {
		return r, err
	}
	if r.last, err = textOf(&list[1]); err != nil {
		return r, err
	}
	if r.kept, err = list[2].AsInt64(); err != nil {
		return r, err
	}
	if r.scanned, err = list[3].AsInt64(); err != nil {
		return r, err
	}
	r.rows = make([]row, 0, len(list)/2)
	for i := 4; i < len(list); i += 2 {
		at, err := list[i].ToString()
		if err != nil {
			return r, err
		}
		id, err := list[i+1].ToString()
		if err != nil {
			return r, err
		}
		r.rows = append(r.rows, row{id: id, position: position{at: at, begun: true}})
	}
	return r, nil
}

// textOf decodes a number or text.
func textOf(m *rueidis.RedisMessage) (string, error) {
	if m.IsInt64() {
		n, err := m.ToInt64()
		return strconv.FormatInt(n, 10), err
	}
	return m.ToString()
}

// maxScripts is the maximum number of scripts of a query that run concurrently.
const maxScripts = 32

// each calls f for the numbers below n, concurrently so that the calls share round trips, and
// joins the errors.
func each(n int, f func(i int) error) error {
	if n == 1 {
		return f(0)
	}
	errs := make([]error, n)
	slots := make(chan struct{}, maxScripts)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i)
			<-slots
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
