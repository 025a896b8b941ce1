package graph

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/index/graph/internal/entries"
)

// store reads the triples of a graph.
type store struct {
	entries.Reader
	compact bool
}

// rangeOf returns the range of a pattern without variables.
func (st *store) rangeOf(p Pattern) (entries.Range, error) {
	order, err := st.orderOf(p)
	if err != nil {
		return entries.Range{}, err
	}
	return p.in(order, p.known()), nil
}

// orderOf returns an order in which a pattern without variables is one range.
func (st *store) orderOf(p Pattern) (tripleOrder, error) {
	for _, order := range ordersOf(st.compact) {
		if (p.Order == "" || p.Order == string(order)) && p.leads(order, p.known()) {
			return order, nil
		}
	}
	return "", invalid("the graph has no order %q that begins with the names in %s; it has %v", p.Order, p, ordersOf(st.compact))
}

// present reports which triples exist: one round trip.
func (st *store) present(ctx context.Context, triples []Triple) ([]bool, error) {
	members := make([][]string, len(st.Set.Keys))
	positions := make([][]int, len(st.Set.Keys))
	for i, t := range triples {
		k := st.Set.Index(t.S)
		members[k], positions[k] = append(members[k], t.id()), append(positions[k], i)
	}
	var commands rueidis.Commands
	var partitions []int
	for k := range members {
		if len(members[k]) > 0 {
			commands = append(commands, st.Set.Client.B().Zmscore().Key(st.Set.Keys[k].Index).Member(members[k]...).Build())
			partitions = append(partitions, k)
		}
	}
	found := make([]bool, len(triples))
	for i, r := range st.Set.Client.DoMulti(ctx, commands...) {
		scores, err := r.ToArray()
		if err != nil {
			return nil, st.Wrap(ctx, err)
		}
		for j, score := range scores {
			found[positions[partitions[i]][j]] = !score.IsNil()
		}
	}
	return found, nil
}
