package graph

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// newGraph makes a graph, or fails the test.
func newGraph(t testing.TB, client rueidis.Client, key string, opt Options) *Graph {
	t.Helper()
	g, err := New(client, key, opt)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// put puts triples, or fails the test.
func put(t testing.TB, g *Graph, triples ...Triple) {
	t.Helper()
	if _, err := g.PutMany(context.Background(), slices.Values(triples)); err != nil {
		t.Fatal(err)
	}
}

// all collects what a sequence yields, or fails the test.
func all[T any](t testing.TB, sequence iter.Seq2[T, error]) []T {
	t.Helper()
	found, err := collect(sequence)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func collect[T any](sequence iter.Seq2[T, error]) (found []T, err error) {
	for v, err := range sequence {
		if err != nil {
			return found, err
		}
		found = append(found, v)
	}
	return found, nil
}

// sourceOf yields triples.
func sourceOf(triples []Triple) iter.Seq2[Triple, error] {
	return func(yield func(Triple, error) bool) {
		for _, t := range triples {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// answers returns the answers to a query as text, sorted.
func answers(t testing.TB, g *Graph, text string) []string {
	t.Helper()
	q, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, b := range all(t, g.Query(context.Background(), q)) {
		json, err := b.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(json))
	}
	slices.Sort(found)
	return found
}
