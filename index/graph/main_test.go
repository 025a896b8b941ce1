package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// newGraph returns a graph, or fails the test.
func newGraph(t testing.TB, client rueidis.Client, key string, opt Options) *Graph {
	t.Helper()
	g, err := New(client, key, opt)
	require.OK(t)(err)
	return g
}

// put puts triples, or fails the test.
func put(t testing.TB, g *Graph, triples ...Triple) {
	t.Helper()
	require.OK(t)(g.PutMany(context.Background(), slices.Values(triples)))
}

// all collects the values of a sequence, or fails the test.
func all[T any](t testing.TB, sequence iter.Seq2[T, error]) []T {
	t.Helper()
	found, err := collect(sequence)
	require.OK(t)(err)
	return found
}

// collect returns the values of a sequence before the first error, and the error.
func collect[T any](sequence iter.Seq2[T, error]) (found []T, err error) {
	for v, err := range sequence {
		if err != nil {
			return found, err
		}
		found = append(found, v)
	}
	return found, nil
}

// sourceOf returns a source of triples.
func sourceOf(triples []Triple) iter.Seq2[Triple, error] {
	return func(yield func(Triple, error) bool) {
		for _, t := range triples {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// answers returns the answers to a query as sorted texts.
func answers(t testing.TB, g *Graph, text string) []string {
	t.Helper()
	q, err := Parse(text)
	require.OK(t)(err)
	var found []string
	for _, b := range all(t, g.Query(context.Background(), q)) {
		var names []string
		for _, v := range b.Vars() {
			names = append(names, fmt.Sprintf("%q:%q", v, b.Get(v)))
		}
		found = append(found, "{"+strings.Join(names, ",")+"}")
	}
	slices.Sort(found)
	return found
}
