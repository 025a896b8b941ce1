package graph

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	engine "retwis/internal/maintain"
	"retwis/maintain"
)

// checker is a running Verify or Repair.
type checker struct {
	*engine.Run
	g      *Graph
	repair bool
}

// entries compares a page of a partition: entries, each followed by its score.
func (c *checker) entries(ctx context.Context, part int, page []string) (int, error) {
	var entries []string
	for i := 0; i < len(page); i += 2 {
		entries = append(entries, page[i])
	}
	return len(entries), c.compareEntries(ctx, part, entries)
}

// compareEntries reports problems of entries of a partition. In a Repair, it also corrects the
// problems.
func (c *checker) compareEntries(ctx context.Context, part int, entries []string) error {
	var orphans []string
	orders := map[Triple][]tripleOrder{} // of each triple among the entries
	for _, entry := range entries {
		order, t, ok := parseEntry(entry)
		if !ok || !slices.Contains(ordersOf(c.g.store.compact), order) || c.g.store.Set.Index(t.S) != part {
			orphans = append(orphans, entry)
			c.Found(maintain.Problem{Kind: maintain.Dangling, ID: entry, Found: entry})
			continue
		}
		orders[t] = append(orders[t], order)
	}
	triples, err := c.owned(ctx, part, orders)
	if err != nil {
		return err
	}
	scores, err := c.scores(ctx, part, triples)
	if err != nil {
		return err
	}
	var broken []Triple
	for i, t := range triples {
		kind, found, owner := c.problem(scores[i])
		if kind != "" && slices.Contains(orders[t], owner) {
			broken = append(broken, t)
			c.Found(maintain.Problem{Kind: kind, ID: t.id(), Found: found, Want: "an entry in every order, with score 0"})
		}
	}
	if !c.repair {
		return nil
	}
	return c.correct(ctx, part, broken, orphans)
}

// owned returns the triples that this page may have to report. A triple is reported once: on
// the page of its spo entry or, if the spo entry is missing, of its first existing entry. For
// most entries, it is enough to check that the spo entry exists.
func (c *checker) owned(ctx context.Context, part int, ordersOf map[Triple][]tripleOrder) ([]Triple, error) {
	var owned, others []Triple
	var ids []string
	for t, orders := range ordersOf {
		if slices.Contains(orders, spo) {
			owned = append(owned, t)
		} else {
			others, ids = append(others, t), append(ids, t.id())
		}
	}
	scores, err := c.lookUp(ctx, part, ids)
	if err != nil {
		return nil, err
	}
	for i, t := range others {
		if scores[i] == nil {
			owned = append(owned, t)
		}
	}
	return owned, nil
}

// scores returns the scores of the entries of triples, in the orders of the graph.
func (c *checker) scores(ctx context.Context, part int, triples []Triple) ([][]*float64, error) {
	orders := ordersOf(c.g.store.compact)
	entries := make([]string, 0, len(triples)*len(orders))
	for _, t := range triples {
		e := t.escaped()
		for _, order := range orders {
			entries = append(entries, order.entry(e))
		}
	}
	scores, err := c.lookUp(ctx, part, entries)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(scores, len(orders))), nil
}

// lookUp returns the scores of entries, nil for missing entries, in one round trip.
func (c *checker) lookUp(ctx context.Context, part int, entries []string) ([]*float64, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	client := c.g.store.Set.Client
	replies, err := client.Do(ctx, client.B().Zmscore().Key(c.g.store.Set.Keys[part].Index).Member(entries...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	scores := make([]*float64, len(entries))
	for i, reply := range replies {
		if reply.IsNil() {
			continue
		}
		score, err := reply.AsFloat64()
		if err != nil {
			return nil, err
		}
		scores[i] = &score
	}
	return scores, nil
}

// problem returns the kind of problem of a triple, if any, the orders that exist, and the order
// whose page must report the problem.
func (c *checker) problem(scores []*float64) (kind maintain.Kind, found string, owner tripleOrder) {
	var present []string
	wrongScore := false
	for i, order := range ordersOf(c.g.store.compact) {
		score := scores[i]
		switch {
		case score == nil:
			continue
		case *score == 0:
			present = append(present, string(order))
		default:
			wrongScore = true
			present = append(present, fmt.Sprintf("%s with score %v", order, *score))
		}
		if owner == "" {
			owner = order
		}
	}
	found = strings.Join(present, ", ")
	switch {
	case len(present) == 0: // removed concurrently
	case 2*len(present) < len(scores):
		kind = maintain.Dangling
	case len(present) < len(scores):
		kind = maintain.Missing
	case wrongScore:
		kind = maintain.Stale
	}
	return kind, found, owner
}

// correct repairs triples of a partition and removes orphaned entries.
func (c *checker) correct(ctx context.Context, part int, broken []Triple, orphans []string) error {
	run := func(args []string) error {
		n, err := c.g.repair.Run(ctx, c.g.store.Set.Client, c.g.store.Set.Keys[part].All(), args).AsInt64()
		c.Report.Repaired += n
		return err
	}
	if len(orphans) > 0 {
		if err := run(append(append(c.g.store.Set.Args(), "0"), orphans...)); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(broken, scriptTriples) {
		args := append(c.g.store.Set.Args(), strconv.Itoa(len(chunk)))
		for _, t := range chunk {
			e := t.escaped()
			args = append(args, e.S, e.P, e.O)
		}
		if err := run(args); err != nil {
			return err
		}
	}
	return nil
}
