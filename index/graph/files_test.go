package graph

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"retwis/index"
	"retwis/index/graph/rdf"
	"retwis/internal/redistest"
)

// A graph is written to a file and read back as it was.
func TestFiles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGraph(t, redistest.DB(t).Client(t), "g", Options{})
	some := []Triple{{"a\tb", "c\nd", "e\\f\r"}, {"\x00", "\xff:;", "é"}, {"#x", " ", "<y>"}}
	put(t, g, some...)
	var out bytes.Buffer
	if n, err := rdf.Write(&out, rdf.TSV, g.Select(ctx, Pattern{}, index.Page{})); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	var back []Triple
	for _, read := range all(t, rdf.Read(&out, rdf.TSV)) {
		back = append(back, Triple(read))
	}
	slices.SortFunc(some, compareIn(SPO))
	if !slices.Equal(back, some) {
		t.Errorf("%q comes back as %q", some, back)
	}
	if _, err := rdf.Write(&out, rdf.NTriples, g.Select(ctx, Pattern{}, index.Page{})); !errors.Is(err, index.ErrValue) {
		t.Errorf("names that are not terms: %v", err)
	}
}
