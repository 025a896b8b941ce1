package suggest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// small configures the cache of an index so that a few terms fill a list. With a scanLimit above
// 100, lists are complete after every change.
func small(x *Index, scanLimit int) *Index {
	text := valueLua + topkLua
	for _, size := range [][2]string{
		{"TOP_K = 32", "TOP_K = 3"}, {"MAX_LIST = 64", "MAX_LIST = 6"}, {"CACHE_ABOVE = 64", "CACHE_ABOVE = 5"}, {"UNCACHE_AT = 32", "UNCACHE_AT = 3"}, {"CHECK_EVERY = 16", "CHECK_EVERY = 1"}, {"FEW = 8", "FEW = 1"}, {"SCAN_LIMIT = 1000", "SCAN_LIMIT = " + strconv.Itoa(scanLimit)},
	} {
		changed := strings.Replace(text, size[0], size[1], 1)
		if changed == text {
			panic("topk.lua has no " + size[0])
		}
		text = changed
	}
	x.scripts, x.topK, x.scanLimit = newScripts(text), 3, scanLimit
	return x
}

func open(t rapid.TB, client rueidis.Client, key string, opt Options) *Index {
	x, err := New(client, key, opt)
	require.OK(t)(err)
	return x
}

// model is a naive index in memory.
type model struct {
	terms   map[string]*counted // by name
	blocked map[string]bool     // by name
}

// counted is a term of a model.
type counted struct {
	spellings map[string]int64 // all spellings with their counts
	count     int64
	payload   string
	crowded   bool // the term has had more spellings than an index counts
}

func newModel() *model { return &model{terms: map[string]*counted{}, blocked: map[string]bool{}} }

// nameOf returns the normalized form of a text.
func nameOf(x *Index, text string) string {
	name, _ := x.Normalize(text)
	return name
}

func (m *model) add(x *Index, text string, n int64) int64 {
	name := nameOf(x, text)
	if m.blocked[name] {
		return 0
	}
	c := m.terms[name]
	if c == nil {
		c = &counted{spellings: map[string]int64{}}
		m.terms[name] = c
	}
	spelling, _ := spell(text)
	c.spellings[spelling] = min(c.spellings[spelling]+n, maxCount)
	c.count = min(c.count+n, maxCount)
	c.crowded = c.crowded || len(c.spellings) > maxSpellings
	return c.count
}

func (m *model) put(x *Index, s Suggestion) bool {
	name := nameOf(x, s.Term)
	if m.blocked[name] {
		return false
	}
	delete(m.terms, name)
	m.add(x, s.Term, s.Count)
	m.terms[name].payload = s.Payload
	return true
}

// lose subtracts n from the count of a term, and from the counts of its rarest spellings.
func (m *model) lose(name string, n int64) {
	c := m.terms[name]
	if c == nil {
		return
	}
	if c.count -= n; c.count <= 0 {
		delete(m.terms, name)
		return
	}
	for n > 0 && len(c.spellings) > 1 {
		all := c.ranked()
		rarest := all[len(all)-1]
		decrement := min(n, c.spellings[rarest])
		if c.spellings[rarest] -= decrement; c.spellings[rarest] == 0 {
			delete(c.spellings, rarest)
		}
		n -= decrement
	}
	if len(c.spellings) == 1 {
		for spelling := range c.spellings {
			c.spellings[spelling] = c.count
		}
	}
}

// ranked returns the spellings, most frequent first.
func (c *counted) ranked() []string {
	return slices.SortedFunc(maps.Keys(c.spellings), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.spellings[b], c.spellings[a]), strings.Compare(a, b))
	})
}

// shown returns a term, or the name of a term that has had too many spellings for the index to
// know the most frequent spelling.
func (m *model) shown(x *Index, term string) string {
	name := nameOf(x, term)
	if c := m.terms[name]; c == nil || c.crowded {
		return name
	}
	return term
}

// comparable replaces the terms of suggestions as shown does, so that they compare with the model.
func (m *model) comparable(x *Index, found ...Suggestion) []Suggestion {
	for i := range found {
		found[i].Term = m.shown(x, found[i].Term)
	}
	return found
}

func (m *model) get(x *Index, name string) Suggestion {
	c := m.terms[name]
	return Suggestion{Term: m.shown(x, c.ranked()[0]), Count: c.count, Payload: c.payload}
}

// best returns the k best terms whose names match.
func (m *model) best(x *Index, match func(name string) bool, k int) []Suggestion {
	var names []string
	for name := range m.terms {
		if match(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(m.terms[b].count, m.terms[a].count), strings.Compare(a, b))
	})
	out := []Suggestion{}
	for _, name := range names[:min(k, len(names))] {
		out = append(out, m.get(x, name))
	}
	return out
}

// begins returns a predicate for names that begin with a normalized prefix. A trailing blank ends
// a word.
func begins(prefix string) func(name string) bool {
	return func(name string) bool { return strings.HasPrefix(name+" ", prefix) }
}

// fuzzy implements CompleteFuzzy by its definition.
func (m *model) fuzzy(x *Index, prefix string, k int) []Suggestion {
	exact := begins(prefix)
	out := m.best(x, exact, k)
	word := []rune(strings.TrimSuffix(prefix, " "))
	if len(word) < minFuzzy || len(word) > maxFuzzy {
		return out
	}
	out = append(out, m.best(x, func(name string) bool { return !exact(name) && near(word, []rune(name)) }, k)...)
	return out[:min(k, len(out))]
}

// near reports whether a word is at most one typo away from a prefix of a name.
func near(word, name []rune) bool {
	for l := max(0, len(word)-1); l <= min(len(word)+1, len(name)); l++ {
		if typos(word, name[:l]) <= 1 {
			return true
		}
	}
	return false
}

// typos returns the edit distance with transpositions.
func typos(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

func drawTerm() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("aab")), 1, 6, -1),
		rapid.StringOfN(rapid.SampledFrom([]rune("aAbé:日 \n\\")), 1, 5, -1),
		rapid.StringOfN(rapid.SampledFrom([]rune("aAàÀ'!:")), 1, 4, -1), // many spellings of few names
		rapid.StringOfN(rapid.SampledFrom([]rune("aA01 -+#")), 1, 6, -1),
		rapid.StringN(1, 8, -1),
	)
}

func drawPayload() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"7", "id:7", `{"id": 7}`, "日", strings.Repeat("x", maxPayload)}))
}

func drawPrefix() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("aab")), 0, 7, -1),
		rapid.StringOfN(rapid.SampledFrom([]rune("aBe: 日")), 0, 3, -1),
		rapid.StringOfN(rapid.SampledFrom([]rune("aA'! ")), 0, 4, -1),
		rapid.StringOfN(rapid.SampledFrom([]rune("a01 ")), 0, 3, -1),
	)
}

func TestModel(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n++
		x := open(t, client, fmt.Sprint("model", n), Options{
			Partitions:  rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "partitions"),
			Punctuation: rapid.SampledFrom([]Punctuation{"", "drop", "keep"}).Draw(t, "punctuation"),
		})
		if rapid.Bool().Draw(t, "small") {
			small(x, 12)
		}
		m := newModel()
		must := func(err error) {
			if err != nil {
				t.Helper()
				t.Fatal(err)
			}
		}
		valid := drawTerm().Filter(func(s string) bool { _, err := x.Normalize(s); return err == nil })
		wantEqual := func(got, want any) {
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Helper()
				t.Fatalf("\ngot  %q\nwant %q", got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				text := valid.Draw(t, "term")
				n := rapid.OneOf(rapid.Int64Range(1, 5), rapid.Int64Range(1, maxCount)).Draw(t, "n")
				got, err := x.Add(ctx, text, n)
				must(err)
				wantEqual(got, m.add(x, text, n))
			},
			"many": func(t *rapid.T) {
				var list []Suggestion
				for _, text := range rapid.SliceOfN(valid, 1, 40).Draw(t, "terms") {
					s := Suggestion{Term: text, Count: rapid.Int64Range(1, 4).Draw(t, "n"), Payload: drawPayload().Draw(t, "payload")}
					list = append(list, s)
					m.add(x, s.Term, s.Count)
					if name := nameOf(x, text); s.Payload != "" && !m.blocked[name] {
						m.terms[name].payload = s.Payload
					}
				}
				n, err := x.AddMany(ctx, slices.Values(list))
				must(err)
				if n != len(list) {
					t.Fatalf("AddMany() = %d, want %d", n, len(list))
				}
			},
			"put": func(t *rapid.T) {
				s := Suggestion{valid.Draw(t, "term"), rapid.Int64Range(1, maxCount).Draw(t, "n"), drawPayload().Draw(t, "payload")}
				got, err := x.Put(ctx, s)
				must(err)
				wantEqual(got, m.put(x, s))
			},
			"put many": func(t *rapid.T) {
				var list []Suggestion
				for _, text := range rapid.SliceOfN(valid, 1, 40).Draw(t, "terms") {
					s := Suggestion{text, rapid.Int64Range(1, 9).Draw(t, "n"), drawPayload().Draw(t, "payload")}
					list = append(list, s)
					m.put(x, s)
				}
				n, err := x.PutMany(ctx, slices.Values(list))
				must(err)
				wantEqual(n, len(list))
			},
			"remove": func(t *rapid.T) {
				list := rapid.SliceOfN(valid, 1, 5).Draw(t, "terms")
				if rapid.Bool().Draw(t, "best") { // empties lists
					for _, s := range m.best(x, func(name string) bool { return true }, 8) {
						list = append(list, s.Term)
					}
				}
				want := 0
				for _, text := range list {
					name := nameOf(x, text)
					if _, ok := m.terms[name]; ok {
						delete(m.terms, name)
						want++
					}
				}
				got, err := x.Remove(ctx, list...)
				must(err)
				wantEqual(got, want)
			},
			"lose": func(t *rapid.T) {
				name, n := nameOf(x, valid.Draw(t, "term")), rapid.Int64Range(1, 3).Draw(t, "n")
				_, err := x.remove(ctx, "lose", float64(n), []string{name})
				must(err)
				m.lose(name, n)
			},
			"sweep": func(t *rapid.T) {
				if len(m.terms) < 30 {
					return
				}
				want := int64(0)
				for name, c := range m.terms {
					if c.count < 2 {
						delete(m.terms, name)
						want++
					}
				}
				got, err := x.Prune(ctx, 2, maintain.Options{})
				must(err)
				wantEqual(got, want)
			},
			"block": func(t *rapid.T) {
				text := valid.Draw(t, "term")
				must(x.Block(ctx, text))
				name := nameOf(x, text)
				delete(m.terms, name)
				m.blocked[name] = true
			},
			"unblock": func(t *rapid.T) {
				text := valid.Draw(t, "term")
				must(x.Unblock(ctx, text))
				delete(m.blocked, nameOf(x, text))
			},
			"list lost": func(t *rapid.T) {
				k := x.keys[0]
				prefix := drawPrefix().Draw(t, "prefix")
				if _, err := client.Do(ctx, client.B().Hget().Key(k.cache).Field(prefix).Build()).ToString(); err == nil {
					must(client.Do(ctx, client.B().Hset().Key(k.cache).FieldValue().FieldValue(prefix, "?").Build()).Error())
				}
			},
			"all lists lost": func(t *rapid.T) {
				must(client.Do(ctx, client.B().Del().Key(x.keys[0].cache).Build()).Error())
			},
			"get": func(t *rapid.T) {
				text := valid.Draw(t, "term")
				got, err := x.Get(ctx, text)
				if m.terms[nameOf(x, text)] == nil {
					wantEqual(strings.Contains(fmt.Sprint(err), "not found"), true)
					return
				}
				must(err)
				wantEqual(m.comparable(x, got)[0], m.get(x, nameOf(x, text)))
			},
			"complete": func(t *rapid.T) {
				prefix, k := drawPrefix().Draw(t, "prefix"), rapid.IntRange(1, 20).Draw(t, "k")
				got, err := x.Complete(ctx, prefix, k)
				must(err)
				name, _ := x.opt.Punctuation.prefix(prefix)
				wantEqual(m.comparable(x, got...), m.best(x, begins(name), k))
			},
			"fuzzy": func(t *rapid.T) {
				prefix, k := drawPrefix().Draw(t, "prefix"), rapid.IntRange(1, 20).Draw(t, "k")
				got, err := x.CompleteFuzzy(ctx, prefix, k)
				must(err)
				name, _ := x.opt.Punctuation.prefix(prefix)
				wantEqual(m.comparable(x, got...), m.fuzzy(x, name, k))
			},
			"all": func(t *rapid.T) { checkAll(t, x, m) },
			"verify": func(t *rapid.T) {
				if n, _ := x.Len(ctx); n == 0 {
					return
				}
				// Repair restores the lists that other actions removed.
				_, err := x.Repair(ctx, maintain.Options{})
				must(err)
				report, err := x.Verify(ctx, maintain.Options{})
				must(err)
				if report.Problems() > 0 || report.Checked < int64(len(m.terms)) {
					t.Fatalf("Verify: %+v, want no problems and at least %d checked", report, len(m.terms))
				}
			},
		})
	})
}

// checkAll compares All, in pages, with the model.
func checkAll(t *rapid.T, x *Index, m *model) {
	prefix, _ := x.opt.Punctuation.prefix(drawPrefix().Draw(t, "prefix"))
	page := index.Page{
		Limit:   rapid.IntRange(1, 9).Draw(t, "limit"),
		Offset:  rapid.IntRange(0, 3).Draw(t, "offset"),
		Reverse: rapid.Bool().Draw(t, "reverse"),
	}
	var want []string
	for name := range m.terms {
		if begins(prefix)(name) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if page.Reverse {
		slices.Reverse(want)
	}
	want = want[min(page.Offset, len(want)):]
	var got []string
	for n := page.Limit; n == page.Limit; page.Offset = 0 {
		n = 0
		for e, err := range x.All(context.Background(), prefix, page) {
			require.OK(t)(err)
			if want := m.get(x, e.Name); m.comparable(x, e.Suggestion)[0] != want {
				t.Fatalf("got %+v, want %+v", e, want)
			}
			got = append(got, e.Name)
			page.After = e.Cursor()
			n++
		}
		if n > page.Limit {
			t.Fatalf("a page with Limit %d has %d terms", page.Limit, n)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v\ngot  %q\nwant %q", page, got, want)
	}
}
