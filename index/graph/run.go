package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
)

// errStop ends a run whose reader has had enough.
var errStop = errors.New("enough")

const (
	batch  = 1000   // how many rows go through a step together
	answer = 10_000 // how many entries are read in one round trip, about
)

// run answers one query. Rows go through the steps of the plan in batches, each
// batch to the end before the next is read: depth first, so that what is in
// memory does not grow with the answer.
type run struct {
	g     *Graph
	ctx   context.Context // of the one call it lives for
	plan  *plan
	yield func(Binding) bool
	given map[string]struct{} // answers that were given, if they are to be remembered
	count int
	left  int64 // bytes that may be remembered
}

// from takes rows through a step and all behind it.
func (r *run) from(i int, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if i == len(r.plan.steps) {
		return r.answer(rows)
	}
	switch s := r.plan.steps[i]; s.method {
	case ask:
		return r.ask(i, s, rows)
	case ends:
		return r.ends(i, s, rows)
	case walk, walkBack:
		return r.walk(i, s, rows)
	default:
		return r.lookUp(i, s, rows)
	}
}

// answer yields what is selected of rows.
func (r *run) answer(rows [][]string) error {
	for _, row := range rows {
		b := Binding{vars: r.plan.wanted, names: make([]string, len(r.plan.selected))}
		for i, slot := range r.plan.selected {
			b.names[i] = row[slot]
		}
		if r.given != nil {
			key := b.key()
			if _, ok := r.given[key]; ok {
				continue
			}
			if err := r.keep(key); err != nil {
				return err
			}
			r.given[key] = struct{}{}
		}
		r.count++
		if !r.yield(b) || r.count == r.plan.limit {
			return errStop
		}
	}
	return nil
}

// key is the same for the same names only.
func (b Binding) key() string {
	if len(b.names) == 1 {
		return b.names[0]
	}
	var key strings.Builder
	for _, name := range b.names {
		key.WriteString(escape(name))
		key.WriteByte(':')
	}
	return key.String()
}

// sizeOf is what it takes to remember a name, about: its bytes, and what a map
// and a list need beside them.
func sizeOf(name string) int64 { return int64(len(name)) + 64 }

// keep counts what is remembered.
func (r *run) keep(name string) error {
	r.left -= sizeOf(name)
	if r.left < 0 {
		return fmt.Errorf("graph: %w: more than %d bytes; ask for less, or raise Query.Memory", ErrMemory, r.plan.memory)
	}
	return nil
}

// out gathers rows for the step behind one, and takes them there in batches.
type out struct {
	r    *run
	i    int
	s    *planStep
	rows [][]string
	slab slab
}

// add adds a row that it may keep.
func (o *out) add(row []string) error {
	if len(o.s.filters) > 0 {
		b := Binding{vars: o.r.plan.vars, names: row}
		for _, f := range o.s.filters {
			if !f.keep(b) {
				return nil
			}
		}
	}
	o.rows = append(o.rows, row)
	if len(o.rows) < batch {
		return nil
	}
	return o.flush()
}

func (o *out) flush() error {
	rows := o.rows
	o.rows = nil
	return o.r.from(o.i+1, rows)
}

// ask keeps rows whose triple is there: one round trip.
func (r *run) ask(i int, s *planStep, rows [][]string) error {
	if s.few && (s.all != nil || len(rows) == batch) {
		done, err := r.among(i, s, rows)
		if done || err != nil {
			return err
		}
		s.few = false
	}
	triples := make([]Triple, len(rows))
	for j, row := range rows {
		triples[j] = Triple{s.places[0].of(row), s.places[1].of(row), s.places[2].of(row)}
	}
	found, err := r.g.present(r.ctx, triples)
	if err != nil {
		return err
	}
	o := out{r: r, i: i, s: s}
	for j, row := range rows {
		if found[j] {
			if err := o.add(row); err != nil {
				return err
			}
		}
	}
	return o.flush()
}

// among is ask for many rows: it reads all triples of the pattern, once, and
// keeps rows that are among them. It returns false where that would be too much
// to remember.
func (r *run) among(i int, s *planStep, rows [][]string) (done bool, err error) {
	p := s.pattern.named()
	letters := p.free()
	if s.all == nil {
		one, err := r.g.spanOf(p)
		if err != nil {
			return false, err
		}
		left, all := r.left, &reached{set: make(map[string]struct{}, s.count)}
		err = r.g.fetch(r.ctx, []span{one}, true, func(_ int, entry string) error {
			name, _, more, ok := cutName(entry[len(one.prefix):])
			if !ok || more {
				return r.g.damaged(entry)
			}
			return r.meet(all, name)
		})
		if errors.Is(err, ErrMemory) {
			r.left = left
			return false, nil
		}
		if err != nil {
			return false, err
		}
		s.all = all
	}
	o := out{r: r, i: i, s: s}
	at := s.place(letters[0])
	for _, row := range rows {
		if s.all.has(at.of(row)) {
			if err := o.add(row); err != nil {
				return true, err
			}
		}
	}
	return true, o.flush()
}

// lookUp extends each row by every triple of its range. Rows that ask the same
// share one range.
func (r *run) lookUp(i int, s *planStep, rows [][]string) error {
	var spans []span
	var of [][][]string // the rows of each
	at := map[string]int{}
	for _, row := range rows {
		p := Pattern{}
		for k, t := range [3]*Term{&p.S, &p.P, &p.O} {
			if s.places[k].known() {
				*t = Name(s.places[k].of(row))
			}
		}
		one := p.in(s.order, s.fixed)
		k, ok := at[one.prefix]
		if !ok {
			k = len(spans)
			at[one.prefix] = k
			spans, of = append(spans, one), append(of, nil)
		}
		of[k] = append(of[k], row)
	}
	letters := string(s.order[s.fixed:])
	o := out{r: r, i: i, s: s}
	err := r.g.fetch(r.ctx, spans, r.plan.limit == 0, func(k int, entry string) error {
		var t Triple
		if !t.parse(letters, entry[len(spans[k].prefix):]) {
			return r.g.damaged(entry)
		}
		for _, row := range of[k] {
			if row, ok := s.unify(&o.slab, row, t, letters); ok {
				if err := o.add(row); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return o.flush()
}

// slab hands out rows of which many are allocated together.
type slab struct{ free []string }

// copy returns a copy of a row.
func (b *slab) copy(row []string) []string {
	if len(b.free) < len(row) {
		b.free = make([]string, max(len(row), 1)*64)
	}
	to := b.free[:len(row):len(row)]
	b.free = b.free[len(row):]
	copy(to, row)
	return to
}

// unify returns a row with the parts of a triple that some letters mean, or
// false where a variable would have two names.
func (s *planStep) unify(rows *slab, row []string, t Triple, letters string) ([]string, bool) {
	row = rows.copy(row)
	for i := range len(letters) {
		if at := s.place(letters[i]); at.kind == open {
			row[at.slot] = t.part(letters[i])
		}
	}
	for i := range len(letters) {
		if at := s.place(letters[i]); at.kind == same && row[at.slot] != t.part(letters[i]) {
			return nil, false
		}
	}
	return row, true
}

// fetch reads ranges and hands on their entries, some 10,000 a round trip: a
// few of each range where there are many, then more of those that have more.
// While the entries of one round trip are handed on the next is under way; not
// yet with the first where the reader may want few (hurry is false).
func (g *Graph) fetch(ctx context.Context, spans []span, hurry bool, each func(i int, entry string) error) (err error) {
	var open []part
	for i, s := range spans {
		low, high := s.bounds()
		for _, key := range g.keys(s) {
			open = append(open, part{i, key, low, high})
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var ahead chan round
	defer func() {
		cancel()
		if ahead != nil {
			<-ahead
		}
	}()
	for n := 0; len(open) > 0 || ahead != nil; n++ {
		var now round
		if ahead != nil {
			now, ahead = <-ahead, nil
		} else {
			now, open = g.round(ctx, open[:min(len(open), step)]), open[min(len(open), step):]
		}
		if now.err != nil {
			return now.err
		}
		open = append(now.more, open...)
		if (hurry || n > 0) && len(open) > 0 {
			next := open[:min(len(open), step)]
			open = open[len(next):]
			ahead = make(chan round, 1)
			go func(to chan<- round) { to <- g.round(ctx, next) }(ahead)
		}
		for j, entries := range now.entries {
			for _, entry := range entries {
				if err := each(now.parts[j].i, entry); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// part is what is left of a range in one partition.
type part struct {
	i              int // of the range
	key, low, high string
}

// round is what one round trip has brought.
type round struct {
	parts   []part
	entries [][]string // of each
	more    []part     // that have more
	err     error
}

func (g *Graph) round(ctx context.Context, parts []part) round {
	count := min(max(answer/len(parts), 20), batch)
	commands := make(rueidis.Commands, len(parts))
	for i, p := range parts {
		commands[i] = g.set.Client.B().Zrange().Key(p.key).Min(p.low).Max(p.high).Bylex().Limit(0, int64(count)).Build()
	}
	r := round{parts: parts, entries: make([][]string, len(parts))}
	for i, reply := range g.set.Client.DoMulti(ctx, commands...) {
		entries, err := reply.AsStrSlice()
		if err != nil {
			r.err = g.wrap(ctx, err)
			return r
		}
		r.entries[i] = entries
		if len(entries) == count {
			p := parts[i]
			p.low = "(" + entries[count-1]
			r.more = append(r.more, p)
		}
	}
	return r
}

// ends extends each row by every object of a predicate.
func (r *run) ends(i int, s *planStep, rows [][]string) error {
	one, err := r.g.spanOf(Pattern{P: Name(s.places[1].text), Order: POS})
	if err != nil {
		return err
	}
	o := out{r: r, i: i, s: s}
	last, any := "", false
	for entry, err := range r.g.entries(r.ctx, one, index.Page{}, "") {
		if err != nil {
			return err
		}
		_, t, ok := parseEntry(entry)
		if !ok {
			return r.g.damaged(entry)
		}
		if any && t.O == last {
			continue
		}
		last, any = t.O, true
		for _, row := range rows {
			row = o.slab.copy(row)
			row[s.places[2].slot] = t.O
			if err := o.add(row); err != nil {
				return err
			}
		}
	}
	return o.flush()
}
