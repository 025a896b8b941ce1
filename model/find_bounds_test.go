package model_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// Limit accepts any size.
func TestFindLargeLimits(t *testing.T) {
	t.Parallel()
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, 30, func(i int) pupil { return pupil{Class: i, Grade: float32(-i)} })
	for _, limit := range []int{10_000, 10_001, math.MaxInt / 4, math.MaxInt - 20, math.MaxInt} {
		for what, q := range map[string]*model.Query[pupil]{
			"sorted": s.Find(model.Below("class", 3)).OrderBy("grade").Limit(limit),
			"walked": s.Find(model.Above("class", 26)).OrderBy("class").Limit(limit),
			"all":    s.Find(model.Not(model.Below("class", 27))).Limit(limit),
		} {
			page, err := q.Page(t.Context())
			ids, err2 := q.IDs(t.Context())
			if len(page.Items) != 3 || page.Next != "" || len(ids) != 3 || err != nil || err2 != nil {
				t.Errorf("%s, limit %d: page %v, %v; ids %q, %v; want 3 results", what, limit, page, err, ids, err2)
			}
		}
	}
}

// Long text is stored as a prefix and a digest, which no other text matches.
func TestFindWhatLooksLikeADigest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 100)
	sum := sha256.Sum256([]byte(long))
	names := []string{long, long[:24] + "…" + hex.EncodeToString(sum[:16]), long[:58], long[:59], long[:60]}
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, len(names), func(i int) pupil { return pupil{Name: names[i]} })
	for i, name := range names {
		if ids, err := s.Find(model.Eq("name", name)).IDs(t.Context()); len(ids) != 1 || ids[0] != strconv.Itoa(i) || err != nil {
			t.Errorf("%q: found %q, %v; want %d", name, ids, err, i)
		}
	}
}

// A record with damaged content is not found, but the other records are.
func TestFindDamagedContents(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := pupils(t, client, model.Options{Name: "pupil"}, 9, func(i int) pupil { return pupil{Name: "n", Class: i, Marks: []int{1, 2}} })
	for _, damaged := range []string{"", "garbage", "\x05", "\xc0", "\x90", "\x91\xa1x", "\x92\x00\x01", "\x93\x00\x02\x03", "\x93\xc0\xc0\xc0", "\xdd\xff\xff\xff\xff"} {
		set := client.B().Hset().Key("pupil.content").FieldValue().FieldValue("4", damaged).Build()
		require.Gives(t, 0)(client.Do(t.Context(), set).AsInt64())
		for i, q := range []*model.Query[pupil]{
			s.Find(model.Eq("name", "n"), model.AtLeast("class", 0)), s.Find(model.AtLeast("marks", 1)), s.Find(model.Eq("name", "n"), model.AtLeast("class", 0)).OrderBy("grade"),
		} {
			ids, err := q.IDs(t.Context())
			count, err2 := q.Count(t.Context())
			if len(ids) != 8 || slices.Contains(ids, "4") || err != nil || i < 2 && count != 8 || err2 != nil {
				t.Errorf("content %q, query %d: found %q, %v, counted %d, %v; want all but 4", damaged, i, ids, err, count, err2)
			}
		}
	}
}

// The size of a query is limited, since each of its scripts reads all of it.
func TestFindWithManyValues(t *testing.T) {
	t.Parallel()
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, 1, func(int) pupil { return pupil{Raw: []byte("r")} })
	notIn := func(n int) model.Cond { return model.Not(model.In("class", manyInts(n)...)) }
	long := make([]string, 256)
	for i := range long {
		long[i] = fmt.Sprintf("%01024d", i)
	}
	for name, test := range map[string]struct {
		query *model.Query[pupil]
		text  string
	}{
		"all values":    {s.Find(notIn(1000), notIn(1000)), ""},
		"one more":      {s.Find(notIn(1000), notIn(1000), notIn(1)), "at most 2000 values"},
		"all bytes":     {s.Find(model.Not(model.In("raw", long...))), ""},
		"one byte more": {s.Find(model.Not(model.In("raw", long...)), model.Above("raw", "q")), "at most 262144 bytes"},
		"one long text": {s.Find(model.Not(model.Eq("raw", strings.Repeat("x", 1<<20)))), ""},
	} {
		_, err := test.query.IDs(t.Context())
		if test.text == "" && err != nil || test.text != "" && (!errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), test.text)) {
			t.Errorf("%s: %v; want %q", name, err, test.text)
		}
	}
}

// A script reads a limited number of bytes of members and contents.
func TestFindLongValuesInManyScripts(t *testing.T) {
	t.Parallel()
	client := redistest.Own(t).Client(t)
	const n, maxBytes = 600, 256 << 10
	long := strings.Repeat("x", 900)
	s := pupils(t, client, model.Options{Name: "pupil"}, n, func(i int) pupil {
		return pupil{Raw: fmt.Appendf(nil, "%s%d", long, i), Class: i}
	})
	for i, q := range []*model.Query[pupil]{s.Find(model.AtLeast("raw", "x")), s.Find(model.AtLeast("class", 0), model.Not(model.Eq("raw", "y")))} {
		require.OK(t)(client.Do(t.Context(), client.B().ConfigResetstat().Build()).Error())
		if ids, err := q.IDs(t.Context()); len(ids) != n || err != nil {
			t.Fatalf("%d ids, %v; want %d", len(ids), err, n)
		}
		stats, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
		require.OK(t)(err)
		if calls := callsOf(t, stats, "evalsha"); calls < n*len(long)/maxBytes {
			t.Errorf("query %d: %d scripts, want at least %d", i, calls, n*len(long)/maxBytes)
		}
	}
}

// Find, And and Or copy their conditions: later changes of the slice have no effect.
func TestCondsAreKept(t *testing.T) {
	t.Parallel()
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, 4, func(i int) pupil { return pupil{Class: i} })
	conds := []model.Cond{model.Eq("class", 1)}
	queries := []*model.Query[pupil]{s.Find(conds...), s.Find(model.And(conds...)), s.Find(model.Or(conds...))}
	conds[0] = model.Eq("class", 2)
	for i, q := range queries {
		if ids, err := q.IDs(t.Context()); len(ids) != 1 || ids[0] != "1" || err != nil {
			t.Errorf("query %d: %q, %v; want 1", i, ids, err)
		}
	}
}
