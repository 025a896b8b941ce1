package graph

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/maintain"
)

// entries compares a page of entries of a partition, each followed by its score.
func (c *checker) entries(ctx context.Context, at int, page []string) (int, error) {
	var entries []string
	for i := 0; i < len(page); i += 2 {
		entries = append(entries, page[i])
	}
	return len(entries), c.judge(ctx, at, entries)
}

// judge reports what is wrong with some entries of a partition, and in a Repair corrects
// it.
func (c *checker) judge(ctx context.Context, at int, entries []string) error {
	var junk []string
	shown := map[Triple][]Order{} // in which orders a triple is among the entries
	for _, entry := range entries {
		order, t, ok := parseEntry(entry)
		if !ok || !slices.Contains(ordersOf(c.g.compact), order) || c.g.set.Index(t.S) != at {
			junk = append(junk, entry)
			c.Found(maintain.Problem{Kind: maintain.Dangling, ID: entry, Found: entry})
			continue
		}
		shown[t] = append(shown[t], order)
	}
	suspects, err := c.suspects(ctx, at, shown)
	if err != nil {
		return err
	}
	scores, err := c.scores(ctx, at, suspects)
	if err != nil {
		return err
	}
	var broken []Triple
	for i, t := range suspects {
		kind, found, judge := c.verdict(scores[i])
		if kind != "" && slices.Contains(shown[t], judge) {
			broken = append(broken, t)
			c.Found(maintain.Problem{Kind: kind, ID: t.id(), Found: found, Want: "an entry in every order, with score 0"})
		}
	}
	if !c.repair {
		return nil
	}
	return c.correct(ctx, at, broken, junk)
}

// suspects returns the triples that are judged by entries of this page. A triple is judged
// by its entry of spo, or, if that is missing, by the first that is there: so it is
// reported once. Most entries only have to ask whether that of spo is there.
func (c *checker) suspects(ctx context.Context, at int, shown map[Triple][]Order) ([]Triple, error) {
	var suspects, others []Triple
	var ids []string
	for t, orders := range shown {
		if slices.Contains(orders, SPO) {
			suspects = append(suspects, t)
		} else {
			others, ids = append(others, t), append(ids, t.id())
		}
	}
	scores, err := c.ask(ctx, at, ids)
	if err != nil {
		return nil, err
	}
	for i, t := range others {
		if scores[i] == nil {
			suspects = append(suspects, t)
		}
	}
	return suspects, nil
}

// scores returns the scores of the entries of triples, in the orders of the graph.
func (c *checker) scores(ctx context.Context, at int, triples []Triple) ([][]*float64, error) {
	orders := ordersOf(c.g.compact)
	entries := make([]string, 0, len(triples)*len(orders))
	for _, t := range triples {
		e := t.escaped()
		for _, order := range orders {
			entries = append(entries, order.entry(e))
		}
	}
	scores, err := c.ask(ctx, at, entries)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(scores, len(orders))), nil
}

// ask returns the scores of entries at one moment, nil for those that are not there.
func (c *checker) ask(ctx context.Context, at int, entries []string) ([]*float64, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	client := c.g.set.Client
	replies, err := client.Do(ctx, client.B().Zmscore().Key(c.g.set.Keys[at].Index).Member(entries...).Build()).ToArray()
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

// verdict returns what is wrong with a triple, if anything, what there is of it, and by
// which of its entries it is judged.
func (c *checker) verdict(scores []*float64) (kind maintain.Kind, found string, judge Order) {
	var there []string
	wrong := false
	for i, order := range ordersOf(c.g.compact) {
		score := scores[i]
		switch {
		case score == nil:
			continue
		case *score == 0:
			there = append(there, string(order))
		default:
			wrong = true
			there = append(there, fmt.Sprintf("%s with score %v", order, *score))
		}
		if judge == "" {
			judge = order
		}
	}
	found = strings.Join(there, ", ")
	switch {
	case len(there) == 0: // removed meanwhile
	case 2*len(there) < len(scores):
		kind = maintain.Dangling
	case len(there) < len(scores):
		kind = maintain.Missing
	case wrong:
		kind = maintain.Stale
	}
	return kind, found, judge
}

// correct repairs triples of a partition, and removes entries.
func (c *checker) correct(ctx context.Context, at int, broken []Triple, junk []string) error {
	run := func(args []string) error {
		n, err := c.g.repair.Run(ctx, c.g.set.Client, c.g.set.Keys[at].All(), args).AsInt64()
		c.Report.Repaired += n
		return err
	}
	if len(junk) > 0 {
		if err := run(append(append(c.g.set.Args(), "0"), junk...)); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(broken, scriptTriples) {
		args := append(c.g.set.Args(), strconv.Itoa(len(some)))
		for _, t := range some {
			e := t.escaped()
			args = append(args, e.S, e.P, e.O)
		}
		if err := run(args); err != nil {
			return err
		}
	}
	return nil
}
