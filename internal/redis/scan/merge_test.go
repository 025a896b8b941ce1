package scan_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"retwis/internal/redis/scan"
)

func TestCursors(t *testing.T) {
	t.Parallel()
	for _, position := range []string{"", "a", "\x00\xff", "some:more"} {
		if got, err := scan.DecodeCursor(scan.EncodeCursor(position)); err != nil || got != position {
			t.Errorf("the cursor of %q is decoded as %q, %v", position, got, err)
		}
	}
	if _, err := scan.DecodeCursor("no cursor!"); err == nil {
		t.Error("DecodeCursor accepted text that is not a cursor")
	}
}

// sequence yields numbers, then err if it is not nil, and increments stopped when the sequence
// ends.
func sequence(numbers []int, err error, stopped *int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		defer func() { *stopped++ }()
		for _, n := range numbers {
			if !yield(n, nil) {
				return
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

// Merge stops all sequences, however the merge ends.
func TestMerge(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	compare := func(a, b int) int { return a - b }
	for _, test := range []struct {
		name  string
		lists [][]int
		wrong error // yielded after the last list
		limit int   // number of values to read
		want  string
	}{
		{"one", [][]int{{1, 2}}, nil, 9, "[1 2]"},
		{"three", [][]int{{1, 4, 4}, {}, {2, 3, 9}}, nil, 9, "[1 2 3 4 4 9]"},
		{"cut short", [][]int{{1, 4}, {2, 3}}, nil, 2, "[1 2]"},
		{"an error", [][]int{{1, 9}, {2}}, wrong, 9, "[1 2] wrong"},
		{"an error at once", [][]int{{1, 9}, {}}, wrong, 9, "[] wrong"},
	} {
		stopped := 0
		var all []iter.Seq2[int, error]
		for i, list := range test.lists {
			err := test.wrong
			if i < len(test.lists)-1 {
				err = nil
			}
			all = append(all, sequence(list, err, &stopped))
		}
		got := []int{}
		text := ""
		for n, err := range scan.Merge(compare, all...) {
			if err != nil {
				text = " " + err.Error()
				break
			}
			if got = append(got, n); len(got) == test.limit {
				break
			}
		}
		if text = fmt.Sprint(got) + text; text != test.want || stopped != len(test.lists) {
			t.Errorf("%s: got %s, want %s; %d of %d sequences stopped", test.name, text, test.want, stopped, len(test.lists))
		}
	}
}
