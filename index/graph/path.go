package graph

import (
	"errors"
	"slices"
	"strings"

	"retwis/index/graph/internal/entries"
	"retwis/index/graph/internal/syntax"
)

// followPath extends rows along a path from its known end.
func (j *joiner) followPath(out *sink, rows [][]string) error {
	s := out.step
	from, to := s.operands[0], s.operands[2]
	if s.operator == pathFromObject {
		from, to = to, from
	}
	var starts []string
	rowsOf := map[string][][]string{}
	for _, row := range rows {
		name := from.in(row)
		if _, ok := rowsOf[name]; !ok {
			starts = append(starts, name)
		}
		rowsOf[name] = append(rowsOf[name], row)
	}
	each := func(start string, reached *nameSet) error {
		for _, row := range rowsOf[start] {
			if err := out.addReached(row, to, reached); err != nil {
				return err
			}
		}
		return nil
	}
	if from.kind != constant {
		return j.searchEach(s, starts, each)
	}
	if s.reached == nil { // every batch of rows starts at the same name: search once
		reached, err := j.search(s, starts)
		if err != nil {
			return err
		}
		s.reached = reached[0]
	}
	return each(starts[0], s.reached)
}

// addReached adds a row for each name at the end of a path, or the row itself if the
// other end is known and among them.
func (o *sink) addReached(row []string, to operand, reached *nameSet) error {
	if to.known() {
		if reached.has(to.in(row)) {
			return o.add(row)
		}
		return nil
	}
	for _, name := range reached.names {
		row := o.slab.copy(row)
		if to.kind == binds {
			row[to.column] = name
		}
		if err := o.add(row); err != nil {
			return err
		}
	}
	return nil
}

// searchEach searches from several names together, one round trip a step, and passes on
// the names that each reaches. If these need too much memory it halves the starts.
func (j *joiner) searchEach(s *planStep, starts []string, each func(start string, reached *nameSet) error) error {
	left := j.memory.left
	reached, err := j.search(s, starts)
	if err != nil {
		j.memory.left = left
		if !errors.Is(err, ErrMemory) || len(starts) == 1 {
			return err
		}
		half := len(starts) / 2
		if err := j.searchEach(s, starts[:half], each); err != nil {
			return err
		}
		return j.searchEach(s, starts[half:], each)
	}
	used := left - j.memory.left
	for i, start := range starts {
		if err := each(start, reached[i]); err != nil {
			return err
		}
	}
	j.memory.left += used
	return nil
}

// search returns the names that a path reaches from each of some names.
func (j *joiner) search(s *planStep, starts []string) ([]*nameSet, error) {
	from := make([][]string, len(starts))
	for i := range starts {
		from[i] = starts[i : i+1]
	}
	reached := newNameSets(len(starts))
	return reached, j.follow(s.route, from, reached)
}

// follow adds the names that a route reaches from each of several frontiers to the set of
// the same search.
func (j *joiner) follow(r *syntax.Route, from [][]string, reached []*nameSet) error {
	switch {
	case r.Again != nil:
		return j.repeat(r, from, reached)
	case r.Steps != nil:
		last := len(r.Steps) - 1
		level, err := j.inTurn(r.Steps[:last], from)
		if err != nil {
			return err
		}
		err = j.follow(r.Steps[last], namesOf(level), reached)
		j.release(level)
		return err
	}
	return j.expand(r, from, reached)
}

// inTurn follows routes one after the other. It keeps the names of the last level only,
// since a path may return to a name.
func (j *joiner) inTurn(routes []*syntax.Route, from [][]string) (level []*nameSet, err error) {
	for _, r := range routes {
		if level != nil && !anyNames(level) {
			break
		}
		next := newNameSets(len(from))
		if err := j.follow(r, from, next); err != nil {
			return nil, err
		}
		j.release(level)
		level, from = next, namesOf(next)
	}
	return level, nil
}

// repeat is follow for a repetition, by breadth-first search: after the minimum it keeps
// every name once, so that cycles end.
func (j *joiner) repeat(r *syntax.Route, from [][]string, reached []*nameSet) error {
	now, err := j.inTurn(slices.Repeat([]*syntax.Route{r.Again}, r.Min), from)
	if err != nil {
		return err
	}
	if r.Min == 0 {
		now = newNameSets(len(from))
		if err := j.merge(now, from); err != nil {
			return err
		}
	}
	followed := make([]int, len(now)) // number of names of each set
	for k := r.Min; r.Max == 0 || k < r.Max; k++ {
		frontier := make([][]string, len(now))
		more := false
		for i, set := range now {
			frontier[i] = set.names[followed[i]:]
			followed[i] = len(set.names)
			more = more || len(frontier[i]) > 0
		}
		if !more {
			break
		}
		if err := j.follow(r.Again, frontier, now); err != nil {
			return err
		}
	}
	for i, set := range reached {
		if len(set.names) == 0 { // spare a copy
			*set, *now[i] = *now[i], nameSet{}
		}
	}
	err = j.merge(reached, namesOf(now))
	j.release(now)
	return err
}

// merge adds names to sets.
func (j *joiner) merge(sets []*nameSet, names [][]string) error {
	for i, set := range sets {
		for _, name := range names[i] {
			if err := set.add(name, &j.memory); err != nil {
				return err
			}
		}
	}
	return nil
}

// release gives back the memory of sets.
func (j *joiner) release(sets []*nameSet) {
	for _, set := range sets {
		j.memory.left += set.memory
	}
}

// anyNames reports whether a set has a name.
func anyNames(sets []*nameSet) bool {
	return slices.ContainsFunc(sets, func(s *nameSet) bool { return len(s.names) > 0 })
}

// namesOf returns the names of each set.
func namesOf(sets []*nameSet) [][]string {
	names := make([][]string, len(sets))
	for i, set := range sets {
		names[i] = set.names
	}
	return names
}

func newNameSets(n int) []*nameSet {
	sets := make([]*nameSet, n)
	for i := range sets {
		sets[i] = &nameSet{}
	}
	return sets
}

// expand is follow for a route of one triple. The names of all frontiers are read together.
func (j *joiner) expand(r *syntax.Route, frontiers [][]string, reached []*nameSet) error {
	var spans []entries.Range
	var searches [][]int // that have the name of the span in their frontier
	at := map[string]int{}
	for i, names := range frontiers {
		for _, name := range names {
			k, ok := at[name]
			if !ok {
				k = len(spans)
				at[name] = k
				spans, searches = append(spans, neighbours(r, name)), append(searches, nil)
			}
			searches[k] = append(searches[k], i)
		}
	}
	return j.store.Fetch(j.ctx, spans, true, func(k int, entry string) error {
		name, _, more, ok := entries.CutName(entry[len(spans[k].Prefix):])
		if !ok || more {
			return j.store.Damaged(entry)
		}
		name = strings.Clone(name) // do not keep the whole entry in memory
		for _, i := range searches[k] {
			if err := reached[i].add(name, &j.memory); err != nil {
				return err
			}
		}
		return nil
	})
}

// neighbours returns the range of the names one triple away from a name.
func neighbours(r *syntax.Route, name string) entries.Range {
	p := triplesOf(r, Name(name))
	if r.Inverse {
		return p.in(POS, 2)
	}
	return p.in(SPO, 2)
}

// triplesOf returns the pattern of the triples that a route of one triple follows from a
// term.
func triplesOf(r *syntax.Route, from Term) Pattern {
	if r.Inverse {
		return Pattern{P: Name(r.Predicate), O: from}
	}
	return Pattern{S: from, P: Name(r.Predicate)}
}
