package model_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// bounded has a field for each limit.
type bounded struct {
	ID    string             `redis:",id"`
	Range string             `redis:"range,range"`
	Email string             `redis:"email,unique"`
	Kind  string             `redis:"kind"`
	A     []int              `redis:"a,index"`
	B     []int              `redis:"b,index"`
	C     []int              `redis:"c,index"`
	D     []int              `redis:"d,range"`
	E     []int              `redis:"e,range"`
	F     []model.Ref[band2] `redis:"f,exists"`
	Set   model.Set          `redis:"set"`
	List  model.List         `redis:"list"`
}

type band2 struct {
	ID string `redis:",id"`
}

var limitRow = regexp.MustCompile(`(?m)^\| (.*) \| ([0-9,]+) \|$`)

// The documented table of limits is correct: values at a limit are accepted, and values above it
// are refused.
func TestLimits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/model.md")
	require.OK(t)(err)
	_, section, _ := strings.Cut(string(text), "\n## Limits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	client := redistest.DB(t).Client(t)
	s := store[bounded](t, client, model.Options{Name: "bounded", IDs: model.ClientAssigned})
	bands := store[band2](t, client, model.Options{Name: "band2"})
	checkErr(t, model.Relate(t.Context(), s, bands))
	band := mustCreate(t, bands, band2{})
	mustCreate(t, s, bounded{ID: "owner"})
	probes := limitProbes(t.Context(), s, band.ID, &creator{s: s})
	probes["`Options.Partitions`"] = func(n int) error {
		_, err := model.New[band2](t.Context(), client, model.Options{Name: fmt.Sprintf("p%d", n), Partitions: n})
		return err
	}
	probes["bytes of the name of a model"] = func(n int) error {
		_, err := model.New[band2](t.Context(), client, model.Options{Name: strings.Repeat("n", n)})
		return err
	}
	probes["characters of the name of a field"] = func(n int) error {
		// Field names come from Go structs, so a computed index is used, whose name has the
		// same limit.
		longName = strings.Repeat("n", n)
		_, err := model.New[longNamed](t.Context(), client, model.Options{Name: fmt.Sprintf("l%d", n)})
		return err
	}
	for _, row := range limitRow.FindAllStringSubmatch(section, -1) {
		limit, err := strconv.Atoi(strings.ReplaceAll(row[2], ",", ""))
		probe := probes[row[1]]
		if err != nil || probe == nil {
			t.Errorf("no probe for limit %q (%v)", row[1], err)
			continue
		}
		delete(probes, row[1])
		if err := probe(limit); err != nil {
			t.Errorf("%s: %d is refused: %v", row[1], limit, err)
		}
		err = probe(limit + 1)
		if !errors.Is(err, model.ErrValue) && !errors.Is(err, model.ErrDeclaration) {
			t.Errorf("%s: %d is not refused: %v", row[1], limit+1, err)
		} else if !strings.Contains(err.Error(), strconv.Itoa(limit)) {
			t.Errorf("%s: the error does not name the limit: %v", row[1], err)
		}
	}
	for what := range probes {
		t.Errorf("docs/model.md does not list %q", what)
	}
}

// longName is the name of the index of longNamed.
var longName string

type longNamed struct {
	ID string `redis:",id"`
}

func (longNamed) Indexes() []model.Index[longNamed] {
	return []model.Index[longNamed]{model.Computed(longName, func(longNamed) int { return 1 })}
}

// creator creates records with new ids.
type creator struct {
	s *model.Store[bounded]
	n int
}

func (c *creator) create(ctx context.Context, b bounded) error {
	if c.n++; b.ID == "" {
		b.ID = fmt.Sprint("n", c.n)
	}
	if b.Email == "" {
		b.Email = b.ID
	}
	_, err := c.s.Create(ctx, b)
	return err
}

// limitProbes returns a function for each row of the table. The function returns the error for
// the value n.
func limitProbes(ctx context.Context, s *model.Store[bounded], id string, c *creator) map[string]func(n int) error {
	ids := func(q *model.Query[bounded]) error { _, err := q.IDs(ctx); return err }
	list := s.List("list", "owner")
	length := 0 // of the list
	return map[string]func(n int) error{
		"bytes of a value in a `range`, `unique` or composite index": func(n int) error {
			// A value in an ordered index has a terminator of two bytes.
			return errors.Join(c.create(ctx, bounded{Email: strings.Repeat("e", n)}), c.create(ctx, bounded{Range: strings.Repeat("r", n-2)}))
		},
		"elements of an indexed list": func(n int) error { return c.create(ctx, bounded{A: manyInts(n)}) },
		"entries of a record in all indexes together": func(n int) error {
			all := manyInts(n - 2) // Range and Email have one entry each
			var lists [5][]int
			for i := range lists {
				lists[i] = all[:min(len(all), 1000)]
				all = all[len(lists[i]):]
			}
			return c.create(ctx, bounded{A: lists[0], B: lists[1], C: lists[2], D: lists[3], E: lists[4]})
		},
		"references in a list with `exists`": func(n int) error {
			refs := make([]model.Ref[band2], 0, n)
			for i := range n - 1 {
				refs = append(refs, model.To[band2](fmt.Sprint(i+10)))
			}
			err := c.create(ctx, bounded{F: append(refs, model.To[band2](id))})
			if errors.Is(err, model.ErrDangling) {
				return nil // not found, so the limit was not exceeded
			}
			return err
		},
		"conditions of a query": func(n int) error {
			return ids(s.Find(slices.Repeat([]model.Cond{model.Eq("a", 1)}, n)...))
		},
		"values of one `In`": func(n int) error { return ids(s.Find(model.In("a", manyInts(n)...))) },
		"values of all conditions of a query": func(n int) error {
			return ids(s.Find(model.In("a", manyInts(n/3)...), model.In("b", manyInts(n/3)...), model.In("c", manyInts(n-2*(n/3))...)))
		},
		"bytes of the values of all conditions of a query": func(n int) error {
			var values []string
			for ; n > 0; n -= min(n, 1024) {
				values = append(values, strings.Repeat("v", min(n, 1024)))
			}
			return ids(s.Find(model.In("email", values...)))
		},
		"bytes of an id": func(n int) error { return c.create(ctx, bounded{ID: strings.Repeat("i", n)}) },
		"bytes of a member of a set, or of a value of a list": func(n int) error {
			_, err := s.Set("set", "owner").Put(ctx, strings.Repeat("m", n))
			_, err2 := s.List("list", "n1").PushBack(ctx, strings.Repeat("m", n))
			return errors.Join(err, err2)
		},
		"values of one `Replace`": func(n int) error { return s.Set("set", "owner").Replace(ctx, slices.Repeat([]string{"x"}, n)...) },
		"bytes of one `Replace`": func(n int) error {
			return s.Set("set", "owner").Replace(ctx, append(slices.Repeat([]string{strings.Repeat("x", 1<<15)}, n>>15), strings.Repeat("y", n%(1<<15)))...)
		},
		"values of a list that `Has`, `Remove` and `Among` search": func(n int) error {
			if _, err := list.PushBack(ctx, make([]string, n-length)...); err != nil {
				return err
			}
			length = n
			_, err := list.Has(ctx, "absent")
			_, err2 := list.Remove(ctx, "absent")
			return errors.Join(err, err2, ids(s.Find().Among(list)))
		},
	}
}
