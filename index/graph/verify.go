package graph

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/maintain"
)

// entries looks at a page of entries of a partition, each with its score.
func (x *examiner) entries(ctx context.Context, at int, page []string) (int, error) {
	var entries []string
	for i := 0; i < len(page); i += 2 {
		entries = append(entries, page[i])
	}
	return len(entries), x.judge(ctx, at, entries)
}

// judge finds what is wrong with some entries of a partition, reports it and
// mends it.
func (x *examiner) judge(ctx context.Context, at int, entries []string) error {
	var junk []string
	shown := map[Triple][]Order{} // in which orders a triple is among the entries
	for _, entry := range entries {
		order, t, ok := parseEntry(entry)
		if !ok || !slices.Contains(ordersOf(x.g.compact), order) || x.g.set.Index(t.S) != at {
			junk = append(junk, entry)
			x.tell(maintain.Dangling, entry, entry, "")
			continue
		}
		shown[t] = append(shown[t], order)
	}
	suspects, err := x.suspects(ctx, at, shown)
	if err != nil {
		return err
	}
	scores, err := x.scores(ctx, at, suspects)
	if err != nil {
		return err
	}
	var broken []Triple
	for i, t := range suspects {
		kind, found, judge := x.verdict(scores[i])
		if kind != "" && slices.Contains(shown[t], judge) {
			broken = append(broken, t)
			x.tell(kind, t.id(), found, "an entry in every order, with score 0")
		}
	}
	if !x.repair {
		return nil
	}
	return x.mend(ctx, at, broken, junk)
}

// suspects are the triples that some entries are to judge. A triple is judged by
// its entry of spo, or where that is not there by the first that is: so it is
// reported once. Most entries have only to ask whether that of spo is there.
func (x *examiner) suspects(ctx context.Context, at int, shown map[Triple][]Order) ([]Triple, error) {
	var suspects, others []Triple
	var ids []string
	for t, orders := range shown {
		if slices.Contains(orders, SPO) {
			suspects = append(suspects, t)
		} else {
			others, ids = append(others, t), append(ids, t.id())
		}
	}
	scores, err := x.ask(ctx, at, ids)
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

// scores are those of the entries of triples, in the orders that are kept.
func (x *examiner) scores(ctx context.Context, at int, triples []Triple) ([][]*float64, error) {
	orders := ordersOf(x.g.compact)
	entries := make([]string, 0, len(triples)*len(orders))
	for _, t := range triples {
		e := t.escaped()
		for _, order := range orders {
			entries = append(entries, order.entry(e))
		}
	}
	scores, err := x.ask(ctx, at, entries)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(scores, len(orders))), nil
}

// ask returns the scores of entries, all of one moment, nil where there is none.
func (x *examiner) ask(ctx context.Context, at int, entries []string) ([]*float64, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	client := x.g.set.Client
	replies, err := client.Do(ctx, client.B().Zmscore().Key(x.g.set.Keys[at].Index).Member(entries...).Build()).ToArray()
	if err != nil {
		return nil, x.g.wrap(ctx, err)
	}
	scores := make([]*float64, len(entries))
	for i, reply := range replies {
		if reply.IsNil() {
			continue
		}
		score, err := reply.AsFloat64()
		if err != nil {
			return nil, x.g.wrap(ctx, err)
		}
		scores[i] = &score
	}
	return scores, nil
}

// verdict says what is wrong with a triple, if anything, what there is of it, and
// which of its entries is the one to say so.
func (x *examiner) verdict(scores []*float64) (kind maintain.Kind, found string, judge Order) {
	var there []string
	wrong := false
	for i, order := range ordersOf(x.g.compact) {
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

// tell puts a problem into the report.
func (x *examiner) tell(kind maintain.Kind, id, found, want string) {
	x.Found(maintain.Problem{Kind: kind, ID: id, Found: found, Want: want})
}

// mend brings triples and removes entries of a partition in order.
func (x *examiner) mend(ctx context.Context, at int, broken []Triple, junk []string) error {
	run := func(args []string) error {
		n, err := x.g.mend.Run(ctx, x.g.set.Client, x.g.set.Keys[at].All(), args).AsInt64()
		x.Report.Repaired += n
		return x.g.wrap(ctx, err)
	}
	if len(junk) > 0 {
		if err := run(append(append(x.g.set.Args(), "0"), junk...)); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(broken, scriptTriples) {
		args := append(x.g.set.Args(), strconv.Itoa(len(some)))
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
