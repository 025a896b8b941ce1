package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index/graph"
)

const (
	layoutTriples = 200_000
	layoutPeople  = 20_000
	layoutBlock   = 64 // entries
)

// layout is a way to store the entries of triples.
type layout struct {
	name, loses string
	members     func(triples []graph.Triple) iter.Seq2[string, string] // key and member
	bulk        bool                                                   // written once: the time is not that of single writes
}

var (
	sixOrders   = []string{"spo", "sop", "pso", "pos", "osp", "ops"}
	fourOrders  = []string{"spo", "pso", "pos", "osp"}
	threeOrders = []string{"spo", "pos", "osp"}
)

// layouts compares the memory of other ways to store a graph. The members are added by
// plain ZADDs, since the package has only the first and the third.
func (b *graphBench) layouts(ctx context.Context, out io.Writer) error {
	triples := socialGraph(layoutTriples, layoutPeople)
	fmt.Fprintf(out, `Ways to store triples, measured with plain `+"`ZADD`"+`s of %s triples of %s people:

| | bytes per triple | ratio | server CPU, µs per triple | what is lost |
| --- | ---: | ---: | ---: | --- |
`, thousands(layoutTriples), thousands(layoutPeople))
	first := 0.0
	for _, l := range []layout{
		{"six orders in one sorted set", "", entriesIn(sixOrders), false},
		{"four orders: with `pso`", "results of `Select` in the orders `sop` and `ops`", entriesIn(fourOrders), false},
		{"**three orders**: `Options.Compact`", "results of `Select` in the orders `sop`, `pso` and `ops`", entriesIn(threeOrders), false},
		{"six orders of ids of 3 bytes, and two hashes of names", "the order of names, plain commands, answers in one round trip", entriesOfIDs(sixOrders), false},
		{"six orders, a sorted set for each first name", "one key: all triples in order, their count, rebuilds in one step", entriesByName(sixOrders), false},
		{"three orders, a sorted set for each first name", "the same, and the orders above", entriesByName(threeOrders), false},
		{"six orders in blocks of 64 entries with shared prefixes", "plain commands and counts; a write reads and rewrites six blocks", blocks, true},
	} {
		bytes, cpu, err := b.layout(ctx, l, triples)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if first == 0 {
			first = bytes
		}
		time := strconv.FormatFloat(cpu, 'f', 1, 64)
		if l.bulk {
			time = "–"
		}
		fmt.Fprintf(out, "| %s | %.0f | **%.2f** | %s | %s |\n", l.name, bytes, bytes/first, time, l.loses)
	}
	fmt.Fprintln(out)
	return b.empty(ctx)
}

// layout stores triples and returns the bytes and the microseconds of the server per triple.
func (b *graphBench) layout(ctx context.Context, l layout, triples []graph.Triple) (bytes, cpu float64, err error) {
	if err := b.empty(ctx); err != nil {
		return 0, 0, err
	}
	before, err := dataset(ctx, b.client)
	if err != nil {
		return 0, 0, err
	}
	begin, err := serverSeconds(ctx, b.client)
	if err != nil {
		return 0, 0, err
	}
	var commands rueidis.Commands
	send := func() error {
		for _, r := range b.client.DoMulti(ctx, commands...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
		commands = commands[:0]
		return nil
	}
	for key, member := range l.members(triples) {
		if name, id, ok := strings.Cut(key, "="); ok { // of the dictionary
			commands = append(commands, b.client.B().Hset().Key(name).FieldValue().FieldValue(id, member).Build())
		} else {
			commands = append(commands, b.client.B().Zadd().Key(key).ScoreMember().ScoreMember(0, member).Build())
		}
		if len(commands) == 2000 {
			if err := send(); err != nil {
				return 0, 0, err
			}
		}
	}
	if err := send(); err != nil {
		return 0, 0, err
	}
	end, err := serverSeconds(ctx, b.client)
	if err != nil {
		return 0, 0, err
	}
	after, err := dataset(ctx, b.client)
	return float64(after-before) / float64(len(triples)), (end - begin) * 1e6 / float64(len(triples)), err
}

// inOrder returns the parts of a triple in an order.
func inOrder(t graph.Triple, order string) (parts [3]string) {
	for i := range 3 {
		parts[i] = map[byte]string{'s': t.S, 'p': t.P, 'o': t.O}[order[i]]
	}
	return parts
}

// entriesIn yields the entries of the package.
func entriesIn(orders []string) func([]graph.Triple) iter.Seq2[string, string] {
	return func(triples []graph.Triple) iter.Seq2[string, string] {
		return func(yield func(string, string) bool) {
			for _, t := range triples {
				for _, order := range orders {
					p := inOrder(t, order)
					if !yield("people", order+":"+p[0]+":"+p[1]+":"+p[2]) {
						return
					}
				}
			}
		}
	}
}

// entriesByName yields entries with the first name in the key.
func entriesByName(orders []string) func([]graph.Triple) iter.Seq2[string, string] {
	return func(triples []graph.Triple) iter.Seq2[string, string] {
		return func(yield func(string, string) bool) {
			for _, t := range triples {
				for _, order := range orders {
					p := inOrder(t, order)
					if !yield("people:"+order+":"+p[0], p[1]+":"+p[2]) {
						return
					}
				}
			}
		}
	}
}

// entriesOfIDs yields entries of numbers in place of names, and a dictionary.
func entriesOfIDs(orders []string) func([]graph.Triple) iter.Seq2[string, string] {
	return func(triples []graph.Triple) iter.Seq2[string, string] {
		return func(yield func(string, string) bool) {
			ids := map[string]string{}
			for _, t := range triples {
				for _, name := range [3]string{t.S, t.P, t.O} {
					if ids[name] == "" {
						n := len(ids) + 1
						ids[name] = string([]byte{byte(n >> 16), byte(n >> 8), byte(n)})
						if !yield("people.ids="+name, ids[name]) || !yield("people.names="+ids[name], name) {
							return
						}
					}
				}
				for i, order := range orders {
					p := inOrder(t, order)
					if !yield("people", strconv.Itoa(i)+ids[p[0]]+ids[p[1]]+ids[p[2]]) {
						return
					}
				}
			}
		}
	}
}

// blocks yields full blocks of entries: the first one, and of each other the length of the
// prefix that it shares with the one before it, and the rest.
func blocks(triples []graph.Triple) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		var all []string
		for _, entry := range entriesIn(sixOrders)(triples) {
			all = append(all, entry)
		}
		slices.Sort(all)
		for some := range slices.Chunk(all, layoutBlock) {
			block := []byte(some[0])
			for i, entry := range some[1:] {
				shared := 0
				for shared < min(len(entry), len(some[i])) && entry[shared] == some[i][shared] {
					shared++
				}
				block = binary.AppendUvarint(block, uint64(shared))
				block = binary.AppendUvarint(block, uint64(len(entry)-shared))
				block = append(block, entry[shared:]...)
			}
			if !yield("people", string(block)) {
				return
			}
		}
	}
}
