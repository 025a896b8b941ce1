package graph

import (
	"errors"
	"slices"
	"strings"

	"retwis/index/graph/internal/entries"
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

// addReached adds a row for each name that a path reaches. If the other end of the path is
// known, it adds the row itself if that end is reached.
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

// searchEach searches from all starts at once, one round trip per step, and calls each with the
// names that a start reaches. If the names need too much memory, it searches from half of the
// starts at a time.
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

// search returns the names that a path reaches from each start. Up to the minimum length it
// keeps only the names of the last step, since a path may return to a name. After that it is a
// breadth-first search that visits every name once, so that cycles end.
func (j *joiner) search(s *planStep, starts []string) ([]*nameSet, error) {
	path := s.pattern.P.term
	reached := newNameSets(len(starts))
	for i, name := range starts {
		if err := reached[i].add(name, &j.memory); err != nil {
			return nil, err
		}
	}
	for range path.Min {
		if !slices.ContainsFunc(reached, func(set *nameSet) bool { return len(set.names) > 0 }) {
			return reached, nil
		}
		next := newNameSets(len(starts))
		if err := j.expand(s, namesOf(reached, nil), next); err != nil {
			return nil, err
		}
		for _, set := range reached {
			j.memory.left += set.memory
		}
		reached = next
	}
	expanded := make([]int, len(reached)) // number of expanded names of each set
	for k := path.Min; path.Max == 0 || k < path.Max; k++ {
		frontier := namesOf(reached, expanded)
		if !slices.ContainsFunc(frontier, func(names []string) bool { return len(names) > 0 }) {
			break
		}
		for i, set := range reached {
			expanded[i] = len(set.names)
		}
		if err := j.expand(s, frontier, reached); err != nil {
			return nil, err
		}
	}
	return reached, nil
}

// namesOf returns the names of each set without the first skip[i] names.
func namesOf(sets []*nameSet, skip []int) [][]string {
	names := make([][]string, len(sets))
	for i, set := range sets {
		if names[i] = set.names; skip != nil {
			names[i] = set.names[skip[i]:]
		}
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

// expand adds the neighbours of each frontier to the reached set of the same search. It reads
// all frontiers together.
func (j *joiner) expand(s *planStep, frontiers [][]string, reached []*nameSet) error {
	var spans []entries.Range
	var searches [][]int       // searches whose frontier has the name of each span
	spanOf := map[string]int{} // by name
	for i, names := range frontiers {
		for _, name := range names {
			k, ok := spanOf[name]
			if !ok {
				k = len(spans)
				spanOf[name] = k
				spans, searches = append(spans, s.neighbours(name)), append(searches, nil)
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

// neighbours returns the range of the names that are one triple away from a name.
func (s *planStep) neighbours(name string) entries.Range {
	predicate := Name(s.pattern.P.term.Text)
	if s.operator == pathFromObject {
		return Pattern{P: predicate, O: Name(name)}.in(pos, 2)
	}
	return Pattern{S: Name(name), P: predicate}.in(spo, 2)
}
