package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/text/internal/codec"
	"retwis/index/text/internal/words"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// model is an index with the expected documents in memory.
type model struct {
	x         *Index
	documents map[int64]Document
	gone      map[int64]bool    // the removed IDs
	every     bool              // a prefix matches every word that begins with the prefix
	compared  map[operation]int // the number of compared queries, by operator; "": all
}

func newModel() *model { return &model{documents: map[int64]Document{}, gone: map[int64]bool{}} }

// text implements Options.Text.
func (m *model) text(_ context.Context, ids []int64) (map[int64]string, error) {
	texts := map[int64]string{}
	for _, id := range ids {
		if d, ok := m.documents[id]; ok {
			texts[id] = d.Text
		}
	}
	return texts, nil
}

// best returns the n most frequent words with a prefix.
func (m *model) best(prefix string, n int) []string {
	counts := map[string]int{}
	for _, d := range m.documents {
		for _, term := range words.Terms(m.x.store.splitter.Atoms(d.Text)) {
			if strings.HasPrefix(term, prefix) && !strings.HasPrefix(term, words.StemMark) {
				counts[term]++
			}
		}
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return all[:min(n, len(all))]
}

// matches reports whether a document matches an expression. counts is false for an expression
// without words.
func (m *model) matches(e *Expr, d Document) (match, counts bool) {
	atoms := m.x.store.splitter.Atoms(d.Text)
	terms := words.Terms(atoms)
	hasAll := func(wanted [][]string) bool {
		return !slices.ContainsFunc(wanted, func(forms []string) bool {
			return !slices.ContainsFunc(forms, func(form string) bool { return slices.Contains(terms, form) })
		})
	}
	switch e.op {
	case opExact:
		return slices.Contains(d.Terms, e.text), true
	case opWord, opPhrase:
		wanted := m.x.store.splitter.Atoms(e.text)
		return hasAll(m.x.store.splitter.Wanted(wanted)) && (m.x.store.opt.Text == nil || words.Contain(atoms, wanted)), len(wanted) > 0
	case opPrefix:
		wanted := m.x.store.splitter.Atoms(e.text)
		if len(wanted) == 0 {
			return false, false
		}
		last := wanted[len(wanted)-1]
		if last.Joined {
			return m.matches(Word(e.text), d)
		}
		has := func(term string) bool { return slices.Contains(terms, term) }
		completed := func() bool { return slices.ContainsFunc(m.best(last.Text, completions), has) }
		if m.every {
			completed = func() bool {
				return slices.ContainsFunc(terms, func(term string) bool { return strings.HasPrefix(term, last.Text) })
			}
		}
		return hasAll(m.x.store.splitter.Wanted(wanted[:len(wanted)-1])) && (has(last.Text) || completed()), true
	case opNot:
		match, counts = m.matches(e.args[0], d)
		return !match, counts
	}
	match = e.op == opAnd
	for _, arg := range e.args {
		matched, ok := m.matches(arg, d)
		switch {
		case !ok:
			continue
		case e.op == opAnd:
			match = match && matched
		default:
			match = match || matched
		}
		counts = counts || arg.op != opNot // an expression that only excludes does not count, as in "-a &"
	}
	return match, counts
}

// hasWords reports whether an expression has words.
func (m *model) hasWords(e *Expr) bool {
	_, counts := m.matches(e, Document{})
	return counts
}

// search returns all matching ids, newest first.
func (m *model) search(q Query) []int64 {
	e, _ := q.expr()
	var ids []int64
	for id, d := range m.documents {
		if match, _ := m.matches(e, d); match && id > q.After && (q.Before == 0 || id < q.Before) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// small reduces the size limits of an index, so that few documents fill segments.
func small(x *Index) *Index {
	x.store.sizes = sizes{rare: 2, tail: 6, newest: 2, segment: codec.SegmentHeader + 12, listed: 20_000, window: 256, page: 3, work: 200}
	for i := range x.store.keys {
		x.store.keys[i].rares = 5
	}
	return x
}

func open(t rapid.TB, client rueidis.Client, key string, opt Options) *Index {
	t.Helper()
	x, err := New(client, key, opt)
	require.OK(t)(err)
	return x
}

// searchAll returns the IDs of all pages of a query.
func searchAll(t rapid.TB, x *Index, q Query) []int64 {
	t.Helper()
	var ids []int64
	for range 10_000 {
		r, err := x.Search(context.Background(), q)
		if err != nil {
			t.Fatalf("%s: %v", q.Expr, err)
		}
		ids = append(ids, r.IDs...)
		if r.Next == 0 {
			return ids
		}
		if q.Before != 0 && r.Next >= q.Before || len(r.IDs) > cmp.Or(q.Limit, defaultLimit) {
			t.Fatalf("%s before %d: %d IDs, next %d", q.Expr, q.Before, len(r.IDs), r.Next)
		}
		q.Before = r.Next
	}
	t.Fatalf("%s: more than 10,000 pages", q.Expr)
	return nil
}

// vocabulary returns words in many scripts. The vocabulary is small, so that words occur in many
// documents.
func vocabulary() []string {
	return []string{
		"apple", "Apples", "apply", "don't", "wi-fi", "example.com", "https://example.com/a?b=1", "3.14", "2026",
		"яблоко", "Ёлка", "кот", "مرحبا", "كتاب", "नमस्ते", "हिन्दी", "ภาษาไทย", "น้ำ", "東京", "東京都", "京都", "猫",
		"ひらがな", "カタカナ", "서울에서", "서울", "한국", "👍", "👍🏽", "👨‍👩‍👧", "❤️", "crème", "creme", "ＡＢＣ", "abc",
	}
}

func drawText(t *rapid.T) string {
	separator := rapid.SampledFrom([]string{" ", " ", " ", ", ", "", "\n"})
	var text strings.Builder
	for _, word := range rapid.SliceOfN(rapid.SampledFrom(vocabulary()), 0, 8).Draw(t, "text") {
		text.WriteString(word)
		text.WriteString(separator.Draw(t, "separator"))
	}
	return text.String()
}

func drawDocument(t *rapid.T) Document {
	return Document{
		Text:  drawText(t),
		Terms: rapid.SliceOfN(rapid.SampledFrom([]string{"from:1", "from:2", "has:link", "apple"}), 0, 2).Draw(t, "terms"),
	}
}

func drawExpr(t *rapid.T, depth int) *Expr {
	word := rapid.SampledFrom(vocabulary())
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0, 1:
		return Word(word.Draw(t, "word"))
	case 2:
		return Exact(rapid.SampledFrom([]string{"from:1", "from:2", "has:link", "apple"}).Draw(t, "exact"))
	case 3:
		text := word.Draw(t, "prefix")
		return Prefix(words.Cut(text, rapid.IntRange(3, len(text)).Draw(t, "length")))
	case 4:
		return Phrase(word.Draw(t, "first") + rapid.SampledFrom([]string{" ", ""}).Draw(t, "between") + word.Draw(t, "second"))
	case 5, 6:
		return Or(drawExpr(t, depth-1), drawExpr(t, depth-1))
	case 7:
		return And(drawExpr(t, depth-1), Not(drawExpr(t, depth-1)))
	}
	return And(drawExpr(t, depth-1), drawExpr(t, depth-1))
}

// drawID draws an ID. Most IDs are close to each other, and a few are far away.
func drawID(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 100), rapid.Int64Range(1, 100), rapid.Int64Range(1, 3000),
		rapid.SampledFrom([]int64{1 << 20, 1 << 33, 1<<33 + 1, 1 << 40, 1<<40 + 7, MaxID - 1, MaxID})).Draw(t, "id")
}

// change makes a random change in the index and in the model.
func (m *model) change(t *rapid.T) {
	ctx := context.Background()
	id := drawID(t)
	before, exists := m.documents[id]
	var err error
	switch rapid.IntRange(0, 9).Draw(t, "change") {
	case 0, 1:
		if !exists {
			return
		}
		if err = m.x.Remove(ctx, id, before); err == nil {
			delete(m.documents, id)
			m.gone[id] = true
		}
	case 2, 3:
		if !exists {
			return
		}
		after := drawDocument(t)
		if err = m.x.Replace(ctx, id, before, after); err == nil {
			m.documents[id] = after
		}
	case 4:
		wrong := Document{Text: "wrong"}
		if err := m.x.Replace(ctx, id, wrong, Document{Text: "other"}); !errors.Is(err, ErrConflict) || errors.Is(err, ErrRemoved) != m.gone[id] {
			t.Fatalf("Replace of another text: %v, want ErrConflict", err)
		}
		return
	default:
		if exists || m.gone[id] {
			if err := m.x.Put(ctx, id, Document{Text: "wrong"}); !errors.Is(err, ErrConflict) || errors.Is(err, ErrRemoved) != m.gone[id] {
				t.Fatalf("Put of another text: %v, want ErrConflict", err)
			}
			return
		}
		d := drawDocument(t)
		if err = m.x.Put(ctx, id, d); err == nil {
			m.documents[id] = d
		}
	}
	require.OK(t)(err)
}

// For random documents in many scripts, random queries return the same results as the model.
func TestModel(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	n := 0
	compared := map[operation]int{}
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := newModel()
		m.compared = compared
		opt := Options{Partitions: rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "partitions"), Language: rapid.SampledFrom([]string{"", "", "english"}).Draw(t, "language")}
		if rapid.IntRange(0, 3).Draw(t, "phrases") > 0 {
			opt.Text = m.text
		}
		m.x = small(open(t, client, fmt.Sprint("{model", n, "}"), opt))
		for range 4 {
			for range rapid.IntRange(5, 60).Draw(t, "changes") {
				m.change(t)
			}
			for range 5 {
				m.compare(t)
			}
		}
		m.verify(t)
	})
	t.Logf("%d queries were equal, with the operators %v", compared[""], compared)
}

// note counts a compared query by its operators.
func (m *model) note(e *Expr) {
	m.compared[e.op]++
	for _, arg := range e.args {
		m.note(arg)
	}
}

// source returns the documents as a source of objects.
func (m *model) source() *index.Source[Document] {
	object := func(id int64, d Document) index.Object[Document] {
		return index.Object[Document]{ID: strconv.FormatInt(id, 10), Value: d}
	}
	return &index.Source[Document]{
		All: func(context.Context) iter.Seq2[index.Object[Document], error] {
			return func(yield func(index.Object[Document], error) bool) {
				for id, d := range m.documents {
					if !yield(object(id, d), nil) {
						return
					}
				}
			}
		},
		Lookup: func(_ context.Context, ids []string) (objects []index.Object[Document], err error) {
			for _, text := range ids {
				id, _ := strconv.ParseInt(text, 10, 64)
				if d, ok := m.documents[id]; ok {
					objects = append(objects, object(id, d))
				}
			}
			return objects, nil
		},
	}
}

// verify fails the test if Verify finds problems.
func (m *model) verify(t rapid.TB) {
	t.Helper()
	report, err := m.x.Verify(context.Background(), m.source(), maintain.Options{})
	if errors.Is(err, index.ErrNotFound) && len(m.documents) == 0 {
		return
	}
	if err != nil || report.Problems() > 0 {
		t.Fatalf("Verify: %v, %+v, want no problems", err, report)
	}
}

// compare compares the results of a random query with the model.
func (m *model) compare(t *rapid.T) {
	q := Query{Expr: drawExpr(t, 3), Limit: rapid.IntRange(0, 7).Draw(t, "limit")}
	if rapid.IntRange(0, 3).Draw(t, "bounds") == 0 {
		q.After, q.Before = drawID(t), drawID(t)
	}
	if rapid.IntRange(0, 3).Draw(t, "with") == 0 {
		q.With, q.Without = []string{"from:1"}, []string{"has:link"}
	}
	if m.x.store.opt.Text == nil && strings.Contains(fmt.Sprint(q.Expr), `"`) {
		// There is no error if the words of the phrase are joined into one word.
		if _, err := m.x.Search(context.Background(), q); err != nil && !errors.Is(err, index.ErrValue) {
			t.Fatalf("%s without Options.Text: %v, want ErrNoTexts or no error", q.Expr, err)
		}
		return
	}
	if e, _ := q.expr(); !m.hasWords(e) {
		if _, err := m.x.Search(context.Background(), q); !errors.Is(err, index.ErrValue) {
			t.Fatalf("%s has no words: %v, want ErrValue", e, err)
		}
		return
	}
	got, want := searchAll(t, m.x, q), m.search(q)
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %v, want %v", q.Expr, got, want)
	}
	m.compared[""]++
	m.note(q.Expr)
}
