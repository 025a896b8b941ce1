package graph

import (
	"errors"
	"strings"
)

// reached are the names that a path leads to from one name.
type reached struct {
	names []string
	set   map[string]struct{}
	size  int64 // as run.keep counts it
}

func (r *reached) has(name string) bool {
	_, ok := r.set[name]
	return ok
}

// walk extends rows along a path, from the end that is known.
func (r *run) walk(i int, s *planStep, rows [][]string) error {
	from, to := s.places[0], s.places[2]
	if s.method == walkBack {
		from, to = to, from
	}
	var starts []string
	of := map[string][][]string{}
	for _, row := range rows {
		name := from.of(row)
		if _, ok := of[name]; !ok {
			starts = append(starts, name)
		}
		of[name] = append(of[name], row)
	}
	o := out{r: r, i: i, s: s}
	each := func(start string, found *reached) error {
		for _, row := range of[start] {
			if err := o.arrive(row, to, found); err != nil {
				return err
			}
		}
		return nil
	}
	if from.kind != constant {
		if err := r.reach(s, starts, each); err != nil {
			return err
		}
		return o.flush()
	}
	// The same name for every batch of rows: the way is gone once.
	if s.memo == nil {
		found, err := r.search(s, starts)
		if err != nil {
			return err
		}
		s.memo = found[0]
	}
	if err := each(starts[0], s.memo); err != nil {
		return err
	}
	return o.flush()
}

// arrive adds a row for each name that a path leads to, or the row itself where
// the other end is known and among them.
func (o *out) arrive(row []string, to place, found *reached) error {
	if to.known() {
		if found.has(to.of(row)) {
			return o.add(row)
		}
		return nil
	}
	for _, name := range found.names {
		row := o.slab.copy(row)
		if to.kind == open {
			row[to.slot] = name
		}
		if err := o.add(row); err != nil {
			return err
		}
	}
	return nil
}

// reach searches from some names at once, which takes a round trip a step for
// all of them. Where that is too much to remember it searches from fewer.
func (r *run) reach(s *planStep, starts []string, each func(string, *reached) error) error {
	left := r.left
	found, err := r.search(s, starts)
	if err != nil {
		r.left = left
		if !errors.Is(err, ErrMemory) || len(starts) == 1 {
			return err
		}
		half := len(starts) / 2
		if err := r.reach(s, starts[:half], each); err != nil {
			return err
		}
		return r.reach(s, starts[half:], each)
	}
	spent := left - r.left
	for i, start := range starts {
		if err := each(start, found[i]); err != nil {
			return err
		}
	}
	r.left += spent
	return nil
}

// search goes a path from each of some names, breadth first. What takes exactly
// as many steps as it must have at least is found level by level, since a way
// may come back to where it was; what is further is found when it is first met,
// so that a circle has an end.
func (r *run) search(s *planStep, starts []string) ([]*reached, error) {
	t := s.pattern.P
	now := make([]*reached, len(starts))
	for i, start := range starts {
		now[i] = &reached{}
		if err := r.meet(now[i], start); err != nil {
			return nil, err
		}
	}
	for range t.min {
		next := make([]*reached, len(starts))
		for i := range next {
			next[i] = &reached{}
		}
		front := make([][]string, len(starts))
		for i := range now {
			front[i] = now[i].names
		}
		if err := r.further(s, front, next); err != nil {
			return nil, err
		}
		for _, old := range now {
			r.left += old.size
		}
		now = next
	}
	done := make([]int, len(starts)) // names whose neighbours were looked at
	for k := t.min; t.max == 0 || k < t.max; k++ {
		front := make([][]string, len(starts))
		more := false
		for i, found := range now {
			front[i] = found.names[done[i]:]
			done[i] = len(found.names)
			more = more || len(front[i]) > 0
		}
		if !more {
			break
		}
		if err := r.further(s, front, now); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// meet adds a name to those that were reached, if it is new.
func (r *run) meet(found *reached, name string) error {
	if found.has(name) {
		return nil
	}
	if err := r.keep(name); err != nil {
		return err
	}
	if found.set == nil {
		found.set = map[string]struct{}{}
	}
	found.set[name] = struct{}{}
	found.names = append(found.names, name)
	found.size += sizeOf(name)
	return nil
}

// further adds to each of next the names that are one step from those of front.
func (r *run) further(s *planStep, front [][]string, next []*reached) error {
	var spans []span
	var of [][]int // the searches in which a name is at the front
	at := map[string]int{}
	for i, names := range front {
		for _, name := range names {
			k, ok := at[name]
			if !ok {
				k = len(spans)
				at[name] = k
				spans, of = append(spans, r.neighbours(s, name)), append(of, nil)
			}
			of[k] = append(of[k], i)
		}
	}
	return r.g.fetch(r.ctx, spans, true, func(k int, entry string) error {
		name, _, more, ok := cutName(entry[len(spans[k].prefix):])
		if !ok || more {
			return r.g.damaged(entry)
		}
		name = strings.Clone(name) // not all of the entry
		for _, i := range of[k] {
			if err := r.meet(next[i], name); err != nil {
				return err
			}
		}
		return nil
	})
}

// neighbours is the range of the names one step from a name.
func (r *run) neighbours(s *planStep, name string) span {
	p := Pattern{S: Name(name), P: Name(s.pattern.P.text)}
	if s.method == walkBack {
		p = Pattern{P: p.P, O: Name(name)}
		return p.in(POS, 2)
	}
	return p.in(SPO, 2)
}
