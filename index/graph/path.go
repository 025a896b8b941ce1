package graph

import (
	"errors"
	"strings"
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

// search runs a breadth-first search from each of some names. Up to the minimum length
// it keeps the names of the last level only, since a path may return to a name; from
// there on it keeps every name once, so that cycles end.
func (j *joiner) search(s *planStep, starts []string) ([]*nameSet, error) {
	t := s.pattern.P
	now := newNameSets(len(starts))
	for i, start := range starts {
		if err := now[i].add(start, &j.memory); err != nil {
			return nil, err
		}
	}
	for range t.min {
		next := newNameSets(len(starts))
		frontier := make([][]string, len(starts))
		for i := range now {
			frontier[i] = now[i].names
		}
		if err := j.expand(s, frontier, next); err != nil {
			return nil, err
		}
		for _, old := range now {
			j.memory.left += old.memory
		}
		now = next
	}
	expanded := make([]int, len(starts)) // number of names of each set
	for k := t.min; t.max == 0 || k < t.max; k++ {
		frontier := make([][]string, len(starts))
		more := false
		for i, reached := range now {
			frontier[i] = reached.names[expanded[i]:]
			expanded[i] = len(reached.names)
			more = more || len(frontier[i]) > 0
		}
		if !more {
			break
		}
		if err := j.expand(s, frontier, now); err != nil {
			return nil, err
		}
	}
	return now, nil
}

func newNameSets(n int) []*nameSet {
	sets := make([]*nameSet, n)
	for i := range sets {
		sets[i] = &nameSet{}
	}
	return sets
}

// expand adds the neighbours of the names of each frontier to the set of its search.
func (j *joiner) expand(s *planStep, frontiers [][]string, next []*nameSet) error {
	var spans []span
	var searches [][]int // that have the name of the span in their frontier
	at := map[string]int{}
	for i, names := range frontiers {
		for _, name := range names {
			k, ok := at[name]
			if !ok {
				k = len(spans)
				at[name] = k
				spans, searches = append(spans, s.neighbours(name)), append(searches, nil)
			}
			searches[k] = append(searches[k], i)
		}
	}
	return j.store.fetch(j.ctx, spans, true, func(k int, entry string) error {
		name, _, more, ok := cutName(entry[len(spans[k].prefix):])
		if !ok || more {
			return j.store.damaged(entry)
		}
		name = strings.Clone(name) // do not keep the whole entry in memory
		for _, i := range searches[k] {
			if err := next[i].add(name, &j.memory); err != nil {
				return err
			}
		}
		return nil
	})
}

// neighbours returns the range of the names one triple away from a name.
func (s *planStep) neighbours(name string) span {
	predicate := Name(s.pattern.P.text)
	if s.operator == pathFromObject {
		return Pattern{P: predicate, O: Name(name)}.in(POS, 2)
	}
	return Pattern{S: Name(name), P: predicate}.in(SPO, 2)
}
