package partition

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// mode is a client that is never asked.
type mode struct {
	rueidis.Client
	is rueidis.ClientMode
}

func (m mode) Mode() rueidis.ClientMode { return m.is }

func TestKeys(t *testing.T) {
	t.Parallel()
	single, cluster := mode{is: rueidis.ClientModeStandalone}, mode{is: rueidis.ClientModeCluster}
	for _, test := range []struct {
		client     mode
		key        string
		partitions int
		first      string // key of the first partition, or what is wrong
	}{
		{single, "ages", 1, "ages"},
		{single, "ages", 3, "{ages.0}"},
		{single, "app:{ages}:by", 3, "app:{ages.0}:by"},
		{single, "a{b", 1, "a{b"},
		{single, "a{b", 2, "has a brace but no hash tag"},
		{single, "{}a", 2, "has a brace but no hash tag"},
		{single, "", 1, "from 1 to 1024"},
		{single, strings.Repeat("x", 1025), 1, "from 1 to 1024"},
		{single, "ages", 1025, "from 1 to 1024 are allowed"},
		{single, "ages", -1, "from 1 to 1024 are allowed"},
		{cluster, "{ages}", 1, "{ages}"},
		{cluster, "ages", 1, `call it "{ages}"`},
		{cluster, "ages", 2, "{ages.0}"},
	} {
		s, err := New(test.client, test.key, Declaration{Kind: "k", Partitions: test.partitions})
		if err != nil {
			if !strings.Contains(err.Error(), test.first) {
				t.Errorf("%.20q: %v, expected %q", test.key, err, test.first)
			}
			continue
		}
		if s.Keys[0].Index != test.first || len(s.Keys) != test.partitions {
			t.Errorf("%q: %d partitions from %q, expected %q", test.key, len(s.Keys), s.Keys[0].Index, test.first)
		}
		for _, k := range s.Keys {
			for _, other := range k.All() {
				if !strings.HasPrefix(other, k.Index) {
					t.Errorf("%q is not beside %q", other, k.Index)
				}
			}
		}
	}
}

// Ids are spread about evenly, and each always to the same partition.
func TestSpread(t *testing.T) {
	t.Parallel()
	s, err := New(mode{}, "k", Declaration{Partitions: 8})
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]int, 8)
	for i := range 8000 {
		counts[s.Index(fmt.Sprint(i))]++
	}
	if slices.Min(counts) < 700 || slices.Max(counts) > 1300 {
		t.Errorf("%v", counts)
	}
	// What is stored where must not change with a version.
	if got := [3]int{s.Index("90"), s.Index("Manuel"), s.Index("")}; got != [3]int{4, 7, 5} {
		t.Errorf("%v", got)
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	for _, position := range []string{"", "a", "\x00\xff", "some:more"} {
		if got, err := DecodeCursor(EncodeCursor(position)); err != nil || got != position {
			t.Errorf("%q comes back as %q, %v", position, got, err)
		}
	}
	if _, err := DecodeCursor("no cursor!"); err == nil {
		t.Error("what is no cursor was taken for one")
	}
}

func sequence(numbers []int, wrong error, stopped *int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		defer func() { *stopped++ }()
		for _, n := range numbers {
			if !yield(n, nil) {
				return
			}
		}
		if wrong != nil {
			yield(0, wrong)
		}
	}
}

// All sequences are ended, however the merging ends.
func TestMerge(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	compare := func(a, b int) int { return a - b }
	for _, test := range []struct {
		name  string
		lists [][]int
		wrong error // behind the last list
		take  int
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
		for n, err := range Merge(compare, all...) {
			if err != nil {
				text = " " + err.Error()
				break
			}
			if got = append(got, n); len(got) == test.take {
				break
			}
		}
		if text = fmt.Sprint(got) + text; text != test.want || stopped != len(test.lists) {
			t.Errorf("%s: %s, expected %s; %d of %d ended", test.name, text, test.want, stopped, len(test.lists))
		}
	}
}
