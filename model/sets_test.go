package model_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// odd has an equality index for every kind of value.
type odd struct {
	ID     string        `redis:",id"`
	Text   string        `redis:"text,index"`
	Folded string        `redis:"folded,index,caseinsensitive"`
	Maybe  *string       `redis:"maybe,index"`
	Raw    []byte        `redis:"raw,index"`
	N      int           `redis:"n,index"`
	Big    uint64        `redis:"big,index"`
	F      float64       `redis:"f,index"`
	Single float32       `redis:"single,index"`
	Is     bool          `redis:"is,index"`
	At     time.Time     `redis:"at,index"`
	Unix   time.Time     `redis:"unix,index,unix"`
	Took   time.Duration `redis:"took,index"`
	List   []string      `redis:"list,index"`
	Nums   []float64     `redis:"nums,index"`
}

// keysLike returns the sorted keys that match a pattern.
func keysLike(t testing.TB, client rueidis.Client, pattern string) []string {
	t.Helper()
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern(pattern).Build()).AsStrSlice()
	require.OK(t)(err)
	slices.Sort(keys)
	return keys
}

// The keys of sets are readable. Equal values have the same key, and different values have
// different keys.
func TestSetsOfValues(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "odd", func(t *testing.T, client rueidis.Client, opt model.Options) {
		s := store[odd](t, client, opt)
		texts := []string{"", " ", "a", "A", "a:b", "a{b}c", "{odd}", "line\nbreak", "\x00", "\xff\xfe", "1", "2", "odd.by.text:1", strings.Repeat("x", 58), strings.Repeat("x", 59), strings.Repeat("x", 5000)}
		var many []string
		for i := range 1000 {
			many = append(many, fmt.Sprint("e", i))
		}
		var all []odd
		for i, text := range texts {
			o := odd{
				Text: text, Folded: text, Raw: []byte(text), N: i - 3, Big: math.MaxUint64 - uint64(i), F: float64(i) / 4, Single: 0.1 * float32(i),
				Is: i%2 == 0, Took: time.Duration(i) * time.Minute, List: []string{toValidUTF8(text), toValidUTF8(text), fmt.Sprint(i)}, Nums: []float64{float64(i), -0.5},
			}
			if i > 0 {
				o.Maybe = &texts[i]
				o.At, o.Unix = day.Add(time.Duration(i)), day.Add(time.Duration(i)*time.Second)
			}
			if i == 5 {
				o.List = many
			}
			all = append(all, mustCreate(t, s, o))
		}
		checkEq := func(field string, value any, fits func(o *odd) bool) {
			t.Helper()
			var want []string
			for i := range all {
				if fits(&all[i]) {
					want = append(want, all[i].ID)
				}
			}
			q := s.Find(model.Eq(field, value))
			ids, err := q.IDs(t.Context())
			n, err2 := q.Count(t.Context())
			if err != nil || err2 != nil || int(n) != len(want) || !slices.Equal(ids, want) && len(want) > 0 {
				t.Errorf("%s = %.20q: %q, want %q; counted %d, %v, %v", field, fmt.Sprint(value), ids, want, n, err, err2)
			}
		}
		for i := range all {
			o := all[i]
			checkEq("text", o.Text, func(p *odd) bool { return p.Text == o.Text })
			upper := o.Folded
			if utf8.ValidString(upper) {
				upper = strings.ToUpper(upper)
			}
			checkEq("folded", upper, func(p *odd) bool { return strings.EqualFold(p.Folded, o.Folded) })
			checkEq("raw", o.Raw, func(p *odd) bool { return string(p.Raw) == string(o.Raw) })
			checkEq("n", float64(o.N), func(p *odd) bool { return p.N == o.N })
			checkEq("big", o.Big, func(p *odd) bool { return p.Big == o.Big })
			checkEq("f", o.F, func(p *odd) bool { return p.F == o.F })
			checkEq("single", o.Single, func(p *odd) bool { return p.Single == o.Single })
			checkEq("is", o.Is, func(p *odd) bool { return p.Is == o.Is })
			checkEq("took", o.Took, func(p *odd) bool { return p.Took == o.Took })
			checkEq("nums", i, func(p *odd) bool { return slices.Contains(p.Nums, float64(i)) })
			checkEq("list", o.List[0], func(p *odd) bool { return slices.Contains(p.List, o.List[0]) })
			if i > 0 {
				checkEq("maybe", o.Maybe, func(p *odd) bool { return p.Maybe != nil && *p.Maybe == *o.Maybe })
				checkEq("at", o.At.In(time.FixedZone("", 3600)), func(p *odd) bool { return p.At.Equal(o.At) })
				checkEq("unix", o.Unix, func(p *odd) bool { return p.Unix.Equal(o.Unix) })
			}
		}
		if opt.Partitions < 2 {
			for _, key := range []string{"text:", "text:a:b", "folded:a", "n:-3", "f:0.25", "single:0.1", "is:1", "took:1m0s", "at:2026-11-21T00:00:00.000000001Z", "unix:1795219201", "big:18446744073709551615", "nums:-0.5", "nums:3"} {
				if n, err := client.Do(t.Context(), client.B().Exists().Key("odd.by."+key).Build()).AsInt64(); n != 1 || err != nil {
					t.Errorf("key odd.by.%s does not exist: %v", key, err)
				}
			}
		}
		checkVerify(t, s)
		for _, o := range all {
			o.Text, o.List, o.Nums = "changed", []string{"changed"}, nil
			mustSave(t, s, o)
		}
		checkVerify(t, s)
		for _, o := range all {
			require.OK(t)(s.Delete(t.Context(), o.ID))
		}
		if keys := keysLike(t, client, "*.by.*"); len(keys) != 0 {
			t.Errorf("keys %q are left", keys)
		}
	})
}

// mustSave saves a record, and ends the test on an error.
func mustSave[T any](t testing.TB, s *model.Store[T], record T) {
	t.Helper()
	require.OK(t)(s.Save(t.Context(), record))
}

// Numbers that another program has written in different forms are the same value.
func TestSetOfEqualNumbers(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[odd](t, client, model.Options{Name: "odd", Adopt: adoptAll})
	for id, fields := range map[string][]string{"1": {"n", "3", "f", "3"}, "2": {"n", "+3", "f", "3.0"}, "3": {"n", "3", "f", "30e-1"}} {
		redisDo(t, client, append([]string{"HSET", "odd:" + id}, fields...)...)
	}
	if r, err := s.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired+r.Invalid != 3 {
		t.Fatalf("Repair: %+v, %v; want 3 repaired or invalid records", r, err)
	}
	ids, err := s.Find(model.Eq("f", 3)).IDs(t.Context())
	if slices.Sort(ids); err != nil || len(ids) < 2 {
		t.Fatalf("found %q, %v; want at least 2 records", ids, err)
	}
	if keys := keysLike(t, client, "odd.by.f:*"); !slices.Equal(keys, []string{"odd.by.f:3"}) {
		t.Errorf("keys %q, want odd.by.f:3", keys)
	}
}

// If the key of a set has another type, writes and queries return ErrCorrupt, and nothing is
// partially written.
func TestSetOfAnotherType(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		c := mustCreate(t, citizens, citizen{Name: "good", Email: "a@x", Tags: []string{"t"}})
		d := damager{t, client, opt}
		for i, base := range d.bases() {
			kinds := [][]string{{"SET", "x"}, {"SADD", "x"}, {"HSET", "x", "y"}}
			if opt.Partitions > 1 { // a refused write leaves a claim, for which the next write waits
				kinds = kinds[i : i+1]
			}
			for _, kind := range kinds {
				key := base + ".by.name:bad"
				d.do(append([]string{kind[0], key}, kind[1:]...)...)
				d.do(append([]string{kind[0], base + ".by.boss:7"}, kind[1:]...)...)
				checkCorrupt := func(what string, err error) {
					t.Helper()
					if err == nil || !errors.Is(err, model.ErrCorrupt) || !strings.Contains(err.Error(), "holds a") {
						t.Errorf("%s: %v; want ErrCorrupt that names the type", what, err)
					}
				}
				for range 10 * opt.Partitions { // new ids can be in any partition
					if _, err := citizens.Create(t.Context(), citizen{Name: "bad", Email: "b@x"}); err != nil {
						checkCorrupt("create", err)
						break
					} else if _, err := citizens.GetBy(t.Context(), "email", "b@x"); err != nil {
						t.Error(err)
					} else if err := citizens.Delete(t.Context(), mustGetBy(t, citizens, "b@x").ID); err != nil {
						t.Error(err)
					}
				}
				if strings.HasPrefix(d.keyIn(c.ID, ""), base+":") {
					_, err := citizens.Update(t.Context(), c.ID, func(c *citizen) error { c.Name = "bad"; return nil })
					checkCorrupt("update", err)
					_, err = citizens.Update(t.Context(), c.ID, func(c *citizen) error { c.Boss = model.To[citizen]("7"); c.Age = 9; return nil })
					checkCorrupt("update a reference", err)
				}
				_, err := citizens.Find(model.Eq("name", "bad")).Slice(t.Context())
				checkCorrupt("find", err)
				_, err = citizens.Count(t.Context(), model.Eq("name", "bad"), model.Eq("tags", "t"))
				checkCorrupt("count", err)
				d.do("DEL", key, base+".by.boss:7")
				checkVerify(t, citizens)
			}
		}
		last := mustCreate(t, citizens, citizen{Email: "b@x"}) // takes over the claim of a refused write
		checkErr(t, citizens.Delete(t.Context(), last.ID))
		agree(t, client, opt, citizens)
	})
}

// mustGetBy returns the citizen with an email address.
func mustGetBy(t testing.TB, citizens *model.Store[citizen], email string) citizen {
	t.Helper()
	c, err := citizens.GetBy(t.Context(), "email", email)
	require.OK(t)(err)
	return c
}
