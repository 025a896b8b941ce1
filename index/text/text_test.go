package text

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/text/internal/words"
	slots "retwis/internal/redis/keys"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	require.Fails(t, index.ErrNotFound)(Open(t.Context(), client, "posts"))
	for want, opt := range map[string]Options{"Options.Language": {Language: "klingon"}, "partitions": {Partitions: 5000}} {
		if _, err := New(client, "posts", opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New with %+v: %v, want error with %q", opt, err, want)
		}
	}
	x := open(t, client, "posts", Options{Language: "english", Partitions: 2})
	require.OK(t)(x.Put(t.Context(), 1, Document{Text: "running dogs"}))
	opened, err := Open(t.Context(), client, "posts")
	if err != nil || opened.Options().Language != "english" || opened.Options().Partitions != 2 || opened.Key() != "posts" {
		t.Fatalf("Open: %v, options %+v", err, opened.Options())
	}
	if ids := searchAll(t, opened, Query{Expr: Word("Dog's")}); !slices.Equal(ids, []int64{1}) {
		t.Errorf("search for Dog's: %v, want 1", ids)
	}
	other := open(t, client, "posts", Options{})
	require.Fails(t, index.ErrDeclared)(other.Put(t.Context(), 2, Document{}))
	require.Fails(t, index.ErrDeclared)(other.Search(t.Context(), Query{Expr: Word("a")}))
	require.OK(t)(client.Do(t.Context(), client.B().Zadd().Key("foreign").ScoreMember().ScoreMember(1, "x").Build()).Error())
	require.Fails(t, index.ErrForeign)(open(t, client, "foreign", Options{}).Put(t.Context(), 1, Document{}))
	if !slices.Contains(Languages(), "english") {
		t.Errorf("Languages() = %q, want english included", Languages())
	}
}

func TestInvalidDocuments(t *testing.T) {
	t.Parallel()
	x := open(t, redistest.DB(t).Client(t), "posts", Options{})
	for name, put := range map[string]struct {
		id int64
		d  Document
	}{
		"id 0":            {0, Document{}},
		"id above 2^53":   {MaxID + 1, Document{}},
		"long text":       {1, Document{Text: strings.Repeat("a", maxText+1)}},
		"not UTF-8":       {1, Document{Text: "\xff"}},
		"empty term":      {1, Document{Terms: []string{""}}},
		"term with blank": {1, Document{Terms: []string{"a b"}}},
		"long term":       {1, Document{Terms: []string{strings.Repeat("a", 64)}}},
	} {
		if err := x.Put(t.Context(), put.id, put.d); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s: Put: %v, want ErrValue", name, err)
		}
		if err := x.Check(put.id, put.d); !errors.Is(err, index.ErrValue) {
			t.Errorf("%s: Check: %v, want ErrValue", name, err)
		}
	}
	for _, q := range []Query{{}, {Expr: Not(Word("a"))}, {Expr: Word("a"), Limit: 1001}, {Expr: Word("a"), Before: -1}, {Expr: Word("&")}, {Without: []string{"a"}}, {With: []string{"a b"}}, {Expr: Phrase("a b")}} {
		if _, err := x.Search(t.Context(), q); !errors.Is(err, index.ErrValue) {
			t.Errorf("%+v: %v, want ErrValue", q, err)
		}
	}
	var long strings.Builder
	for i := range 200 {
		long.WriteRune(rune(0x4e00 + i))
	}
	require.Fails(t, index.ErrValue, "128")(x.Search(t.Context(), Query{Expr: Word(long.String())}))
}

func TestPhraseWithoutTexts(t *testing.T) {
	t.Parallel()
	x := open(t, redistest.DB(t).Client(t), "posts", Options{})
	if _, err := x.Search(t.Context(), Query{Expr: Phrase("a b")}); !errors.Is(err, ErrNoTexts) || !errors.Is(err, index.ErrValue) {
		t.Errorf("phrase without Options.Text: %v, want ErrNoTexts", err)
	}
}

func TestDrop(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for _, opt := range []Options{{}, {Partitions: 3}} {
		x, other := small(open(t, client, "posts", opt)), open(t, client, "posts2", opt)
		for _, x := range []*Index{x, other} {
			for id := range int64(100) {
				require.OK(t)(x.Put(t.Context(), id+1, Document{Text: "a b " + strconv.FormatInt(id, 10)}))
			}
		}
		n, err := x.Drop(t.Context(), maintain.Options{})
		if err != nil || n < 10 {
			t.Fatalf("Drop() = %d, %v, want at least 10", n, err)
		}
		require.Fails(t, index.ErrNotFound)(Open(t.Context(), client, "posts"))
		for _, pattern := range []string{"posts", "posts.*", "{posts.*"} {
			if keys, err := client.Do(t.Context(), client.B().Keys().Pattern(pattern).Build()).AsStrSlice(); err != nil || len(keys) > 0 {
				t.Errorf("keys after Drop: %q, %v, want none", keys, err)
			}
		}
		if ids := searchAll(t, other, Query{Expr: Word("a")}); len(ids) != 100 {
			t.Errorf("the other index has %d documents, want 100", len(ids))
		}
		if _, err := other.Drop(t.Context(), maintain.Options{}); err != nil {
			t.Errorf("Drop of the other index: %v", err)
		}
		// The index can be filled again, even with removed documents.
		if err := x.Put(t.Context(), 1, Document{Text: "c"}); err != nil {
			t.Errorf("Put after Drop: %v", err)
		}
		if n, err := x.Drop(t.Context(), maintain.Options{}); err != nil || n == 0 {
			t.Errorf("second Drop() = %d, %v, want keys", n, err)
		}
	}
}

// The index holds the largest document and a document without words.
func TestExtremeDocuments(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.x = open(t, redistest.DB(t).Client(t), "posts", Options{})
	var large strings.Builder
	for i := 0; large.Len() < maxText-10; i++ {
		fmt.Fprintf(&large, "%x ", i)
	}
	m.documents = map[int64]Document{1: {Text: large.String()}, 2: {}, MaxID: {Text: "10 20"}, 3: {Text: strings.Repeat("x", 1000)}}
	for id, d := range m.documents {
		require.OK(t)(errors.Join(m.x.Put(t.Context(), id, d), m.x.Put(t.Context(), id, d)))
	}
	m.verify(t)
	for _, e := range []*Expr{Word("10"), Word(strings.Repeat("x", 2000)), And(Word("10"), Word("20"))} {
		if got, want := searchAll(t, m.x, Query{Expr: e}), m.search(Query{Expr: e}); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%.20s: %v, want %v", e.String(), got, want)
		}
	}
	for id, d := range m.documents {
		require.OK(t)(m.x.Remove(t.Context(), id, d))
	}
	m.documents = nil
	m.verify(t)
	left, err := m.x.store.set.Client.Do(t.Context(), m.x.store.set.Client.B().Keys().Pattern("posts*").Build()).AsStrSlice()
	if err != nil || len(left) != 3 { // the declaration, and the marks of removed IDs
		t.Errorf("keys after Remove: %q, %v, want 3", left, err)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	x := open(t, redistest.DB(t).Client(t), "{posts}", Options{Partitions: 2})
	x.store.sizes.listed = 3
	id := int64(0)
	put := func(word string, times int) {
		t.Helper()
		for range times {
			id++
			require.OK(t)(x.Put(t.Context(), id, Document{Text: word}))
		}
	}
	put("rare", 3)
	put("rapid", 200)
	put("raven", 900)
	put("ray", 90)
	put("rash", 10) // not listed: the list already has its 3 words
	for i := range 30 {
		put(fmt.Sprint("other", i), 1)
	}
	for _, c := range []struct {
		prefix string
		n      int
		want   string
	}{
		{"ra", 8, "raven 900, rapid 200, ray 90, rare 3"},
		{"RÁ", 2, "raven 900, rapid 200"},
		{"rav", 8, "raven 900"},
		{"x", 8, ""},
	} {
		all, err := reader{x.store}.complete(t.Context(), x.store.splitter.Atoms(c.prefix)[0].Text, c.n)
		var got []string
		for _, c := range all {
			got = append(got, fmt.Sprint(c.word, " ", c.documents))
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s: %v", c.prefix, got, c.want, err)
		}
	}
	e, err := x.Explain(t.Context(), Query{Expr: Prefix("rav"), With: nil})
	if err != nil || len(e.IDs) != 20 || len(e.Terms) != 2 || e.Terms[1] != (TermCount{"raven", "word", 900}) || e.RoundTrips != 1 || e.Candidates < 20 {
		t.Errorf("Explain: %+v, %v", e, err)
	}
}

// The work of a search is limited: a search for a rare phrase returns several pages.
func TestBoundedWork(t *testing.T) {
	t.Parallel()
	m := newModel()
	calls := 0
	x := small(open(t, redistest.DB(t).Client(t), "posts", Options{Text: func(ctx context.Context, ids []int64) (map[int64]string, error) {
		calls++
		return m.text(ctx, ids)
	}}))
	x.store.sizes.work = 5
	m.x = x
	for i := range 60 {
		m.documents[int64(i+1)] = Document{Text: "b a"}
	}
	m.documents[1] = Document{Text: "a b"}
	require.OK(t)(x.PutMany(t.Context(), m.all))
	q := Query{Expr: Phrase("a b")}
	pages := 0
	for {
		calls = 0
		r, err := x.Search(t.Context(), q)
		if err != nil || calls > 6 {
			t.Fatalf("%d calls of Options.Text, %v, want at most 6", calls, err)
		}
		if pages++; r.Next == 0 {
			if !slices.Equal(r.IDs, []int64{1}) {
				t.Errorf("last page %+v, want document 1", r)
			}
			break
		}
		q.Before = r.Next
	}
	if pages < 3 {
		t.Errorf("%d pages, want at least 3", pages)
	}
	broken := errors.New("broken")
	x.store.opt.Text = func(context.Context, []int64) (map[int64]string, error) { return nil, broken }
	require.Fails(t, broken)(x.Search(t.Context(), Query{Expr: Phrase("a b")}))
}

// PutMany skips removed documents and stops at a conflict.
func TestPutMany(t *testing.T) {
	t.Parallel()
	x := open(t, redistest.DB(t).Client(t), "posts", Options{})
	require.OK(t)(errors.Join(x.Put(t.Context(), 1, Document{Text: "a"}), x.Remove(t.Context(), 1, Document{Text: "a"}), x.Remove(t.Context(), 2, Document{Text: "b"})))
	documents := func(yield func(int64, Document) bool) {
		for id := range int64(100) {
			if !yield(id+1, Document{Text: "c"}) {
				return
			}
		}
	}
	require.Gives(t, 98)(x.PutMany(t.Context(), documents))
	require.Gives(t, 0)(x.PutMany(t.Context(), documents))
	if err := x.Replace(t.Context(), 50, Document{Text: "c"}, Document{Text: "d"}); err != nil {
		t.Errorf("Replace: %v", err)
	}
	require.Fails(t, ErrConflict, "document 50")(x.PutMany(t.Context(), documents))
}

func TestCluster(t *testing.T) {
	t.Parallel()
	client := redistest.Cluster(t, 3).Client(t)
	m := filled(t, client, "posts", Options{Partitions: 5})
	m.verify(t)
	if !m.correct(t) {
		t.Error("a query returns wrong results")
	}
	require.OK(t)(m.x.Rebuild(t.Context(), *m.source(), maintain.Options{}))
	m.verify(t)
	if !m.correct(t) {
		t.Error("a query returns wrong results after a rebuild")
	}
	if _, err := New(client, "untagged", Options{}); err == nil {
		t.Error("New accepted a key without a hash tag")
	}
}

// The index stays correct while its keys move to another server one by one during writes.
func TestSlotMoves(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 2)
	m := newModel()
	m.x = small(open(t, c.Client(t), "{moving}", Options{}))
	started, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		for i := range 300 {
			if i == 100 {
				close(started)
			}
			d := Document{Text: fmt.Sprint("all w", i%3, " v", i%40, " u", i%150)}
			for {
				err := m.x.Put(t.Context(), int64(i+1), d)
				if err == nil {
					break
				}
				var refused *rueidis.RedisError
				if _, _, moved := strings.Cut(err.Error(), "MOVED "); !moved && (!errors.As(err, &refused) || !refused.IsTryAgain() && !refused.IsClusterDown()) {
					t.Error(err)
					return
				}
			}
			m.documents[int64(i+1)] = d
		}
	}()
	<-started
	slot := slots.Slot([]byte("{moving}"))
	from := slot * 2 / slots.Slots
	if err := c.MoveSlot(t.Context(), slot, from, 1-from); err != nil {
		t.Error(err)
	}
	<-finished
	m.verify(t)
	if !m.correct(t) {
		t.Error("a query returns wrong results")
	}
}

// A search reads only segments in which all words of the query can have IDs.
func TestSkips(t *testing.T) {
	t.Parallel()
	x := small(open(t, redistest.DB(t).Client(t), "posts", Options{}))
	documents := func(yield func(int64, Document) bool) {
		for id := range int64(2000) {
			text := "old"
			if id >= 1000 {
				text = "new"
			}
			if id%400 == 0 {
				text += " seldom"
			}
			if !yield(id+1, Document{Text: fmt.Sprint("all parity", id%2, " ", text)}) {
				return
			}
		}
	}
	require.OK(t)(x.PutMany(t.Context(), documents))
	for _, c := range []struct {
		query                                     string
		found, maxTrips, maxSegments, minSegments int
	}{
		{"all", 2, 1, 0, 0},
		{"old new", 0, 3, 2, 1},             // no overlap: reads one place
		{"all seldom", 2, 5, 9, 1},          // only where seldom has IDs
		{"seldom -all", 0, 5, 10, 1},        // only where seldom has IDs
		{"parity0 parity1", 0, 60, 500, 50}, // may overlap everywhere
	} {
		e, err := Parse(c.query)
		require.OK(t)(err)
		got, err := x.Explain(t.Context(), Query{Expr: e, Limit: 2})
		if err != nil || len(got.IDs) != c.found || got.RoundTrips > c.maxTrips || got.Segments > c.maxSegments || got.Segments < c.minSegments {
			t.Errorf("%s: %v, %d round trips, %d segments: %v, want %+v", c.query, got.IDs, got.RoundTrips, got.Segments, err, c)
		}
	}
}

// Every prefix of a word finds the word, even in an index with a language.
func TestPrefixesOfAWord(t *testing.T) {
	t.Parallel()
	x := open(t, redistest.DB(t).Client(t), "posts", Options{Language: "english"})
	require.OK(t)(errors.Join(x.Put(t.Context(), 1, Document{Text: "Running dogs"}), x.Put(t.Context(), 2, Document{Text: "I run"})))
	for typed := range len("running") {
		prefix := "running"[:typed+1]
		want := []int64{2, 1}
		if typed >= len("run") {
			want = []int64{1}
		}
		if ids := searchAll(t, x, Query{Expr: Prefix(prefix)}); !slices.Equal(ids, want) {
			t.Errorf("%s*: %v, want %v", prefix, ids, want)
		}
	}
	if ids := searchAll(t, x, Query{Expr: Word("runs")}); !slices.Equal(ids, []int64{2, 1}) {
		t.Errorf("runs: %v, want 2 and 1", ids)
	}
	if ids := searchAll(t, x, Query{Expr: And(Word("dog"), Not(Word("runs")))}); len(ids) > 0 {
		t.Errorf("dog -runs: %v, want none", ids)
	}
}

// Searches ignore case and accents, also with a language.
func TestAccentsWithLanguage(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for language, c := range map[string]struct{ text, queries string }{
		"spanish":    {"administración canción", "administracion ADMINISTRACION cancion Administración administraciones"},
		"portuguese": {"informações", "informacoes INFORMAÇÕES"},
		"romanian":   {"informații", "informatii"},
		"turkish":    {"ığdır", "igdir"},
		"russian":    {"ёлки", "елки ЁЛКА елка"},
		"french":     {"élégantes", "elegantes elegantes ÉLÉGANT"},
		"german":     {"Häuser", "Hauser HÄUSER Haus"},
	} {
		x := open(t, client, language, Options{Language: language})
		require.OK(t)(x.Put(t.Context(), 1, Document{Text: c.text}))
		for _, word := range strings.Fields(c.queries) {
			if ids := searchAll(t, x, Query{Expr: Word(word)}); len(ids) != 1 {
				t.Errorf("%s: %q is not found by %q", language, c.text, word)
			}
		}
	}
}

// An index with a language finds all documents that an index without a language finds.
func TestLanguageFindsMore(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx, n := context.Background(), 0
	vocabulary := []string{
		"run", "Runs", "running", "runner", "héros", "heros", "élégante", "elegant", "informações", "informacao", "ёлка", "елки", "ЁЛКИ",
		"happy", "happi", "don't", "wi-fi", "3.14", "東京都", "dogs'", "dog",
	}
	rapid.Check(t, func(t *rapid.T) {
		n++
		word := rapid.SampledFrom(vocabulary)
		texts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(word, 1, 6).Draw(t, "words"), " ")
		}), 1, 20).Draw(t, "texts")
		opt := Options{}
		if rapid.Bool().Draw(t, "phrases") {
			opt.Text = func(_ context.Context, ids []int64) (map[int64]string, error) {
				found := map[int64]string{}
				for _, id := range ids {
					found[id] = texts[id-1]
				}
				return found, nil
			}
		}
		without := open(t, client, fmt.Sprint("without", n), opt)
		opt.Language = rapid.SampledFrom([]string{"english", "french", "portuguese", "russian", "spanish"}).Draw(t, "language")
		with := open(t, client, fmt.Sprint("with", n), opt)
		for i, text := range texts {
			require.OK(t)(errors.Join(without.Put(ctx, int64(i+1), Document{Text: text}), with.Put(ctx, int64(i+1), Document{Text: text})))
		}
		for range 10 {
			e := Word(word.Draw(t, "query"))
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				e = Prefix(words.Cut(e.text, rapid.IntRange(3, len(e.text)).Draw(t, "length")))
			case 1:
				if opt.Text != nil {
					e = Phrase(e.text + " " + word.Draw(t, "second"))
				}
			}
			more := searchAll(t, with, Query{Expr: e})
			for _, id := range searchAll(t, without, Query{Expr: e}) {
				if !slices.Contains(more, id) {
					t.Fatalf("%s finds %q without a language, but not with %s", e, texts[id-1], opt.Language)
				}
			}
		}
	})
}
