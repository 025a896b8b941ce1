package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
)

// errStop ends a run whose reader has had enough.
var errStop = errors.New("enough")

// answer is how many entries are read in one round trip, about.
const answer = 10_000

// run answers one query. Rows go through the steps of the plan in batches, each
// batch to the end before the next is read: depth first, so that what is in
// memory does not grow with the answer.
type run struct {
	g     *Graph
	ctx   context.Context //nolint:containedctx // it lives as long as one call
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
		return fmt.Errorf("graph: %w: more than %d bytes; ask for less, or raise Query.Memory", ErrTooMuch, r.plan.memory)
	}
	return nil
}

// out gathers rows for the step behind one, and takes them there in batches.
type out struct {
	r    *run
	i    int
	s    *planStep
	rows [][]string
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
	if len(o.rows) < step {
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
	err := r.g.fetch(r.ctx, spans, func(k int, entry string) error {
		var t Triple
		if !t.parse(letters, entry[len(spans[k].prefix):]) {
			return r.g.damaged(entry)
		}
		for _, row := range of[k] {
			if row, ok := s.unify(row, t, letters); ok {
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

// unify returns a row with the parts of a triple that some letters mean, or
// false where a variable would have two names.
func (s *planStep) unify(row []string, t Triple, letters string) ([]string, bool) {
	row = slices.Clone(row)
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
func (g *Graph) fetch(ctx context.Context, spans []span, each func(i int, entry string) error) error {
	type part struct {
		i              int
		key, low, high string
	}
	var open []part
	for i, s := range spans {
		low, high := s.bounds()
		for _, key := range g.keys(s) {
			open = append(open, part{i, key, low, high})
		}
	}
	var commands rueidis.Commands
	for len(open) > 0 {
		now := open[:min(len(open), step)]
		count := min(max(answer/len(now), 20), step)
		commands = commands[:0]
		for _, p := range now {
			commands = append(commands, g.set.Client.B().Zrange().Key(p.key).Min(p.low).Max(p.high).Bylex().Limit(0, int64(count)).Build())
		}
		var more []part
		for j, reply := range g.set.Client.DoMulti(ctx, commands...) {
			entries, err := reply.AsStrSlice()
			if err != nil {
				return g.wrap(ctx, err)
			}
			for _, entry := range entries {
				if err := each(now[j].i, entry); err != nil {
					return err
				}
			}
			if len(entries) == count {
				p := now[j]
				p.low = "(" + entries[count-1]
				more = append(more, p)
			}
		}
		open = append(more, open[len(now):]...)
	}
	return nil
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
			row = slices.Clone(row)
			row[s.places[2].slot] = t.O
			if err := o.add(row); err != nil {
				return err
			}
		}
	}
	return o.flush()
}
