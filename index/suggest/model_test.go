package suggest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// small gives an index a cache whose lists a few terms fill. With light above 100, the
// lists are complete after every change.
func small(x *Index, light int) *Index {
	text := topkLua
	for _, size := range [][2]string{
		{"TOP_K = 32", "TOP_K = 3"}, {"MAX_LIST = 64", "MAX_LIST = 6"}, {"CACHE_ABOVE = 64", "CACHE_ABOVE = 5"}, {"UNCACHE_AT = 32", "UNCACHE_AT = 3"}, {"CHECK_EVERY = 16", "CHECK_EVERY = 1"}, {"FEW = 8", "FEW = 1"}, {"SCAN_LIMIT = 1000", "SCAN_LIMIT = " + strconv.Itoa(light)},
	} {
		changed := strings.Replace(text, size[0], size[1], 1)
		if changed == text {
			panic("topk.lua has no " + size[0])
		}
		text = changed
	}
	x.completer.scripts, x.completer.topK, x.completer.scanLimit = newScripts(text), 3, light
	return x
}

func open(t rapid.TB, client rueidis.Client, key string, opt Options) *Index {
	x, err := New(client, key, opt)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// model is a naive index.
type model struct {
	terms   map[string]term // by key
	blocked map[string]bool // by name
}

func (m *model) add(x *Index, text string, n int64) int64 {
	key, _ := x.normalizer.key(text)
	if m.blocked[nameOf(key)] {
		return 0
	}
	t := m.terms[key]
	t.key, t.count = key, min(t.count+float64(n), maxCount)
	m.terms[key] = t
	return int64(t.count)
}

func (m *model) put(x *Index, s Suggestion) bool {
	key, _ := x.normalizer.key(s.Term)
	if m.blocked[nameOf(key)] {
		return false
	}
	m.terms[key] = term{key: key, count: float64(s.Count), payload: s.Payload}
	return true
}

// with returns the terms whose name satisfies a condition, in order.
func (m *model) with(right func(name string) bool, k int) []Suggestion {
	var all []term
	for key, t := range m.terms {
		if right(nameOf(key)) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, compare)
	out := []Suggestion{}
	for _, t := range all[:min(k, len(all))] {
		out = append(out, Suggestion{Term: spelling(t.key), Count: int64(t.count), Payload: t.payload})
	}
	return out
}

// begins reports whether a term begins with a normalized prefix. A blank at its end
// ends a word.
func begins(prefix string) func(name string) bool {
	return func(name string) bool { return strings.HasPrefix(name+" ", prefix) }
}

// fuzzy implements CompleteFuzzy by its definition.
func (m *model) fuzzy(prefix string, k int) []Suggestion {
	exact := begins(prefix)
	out := m.with(exact, k)
	word := []rune(strings.TrimSuffix(prefix, " "))
	if len(word) < minFuzzy || len(word) > maxFuzzy {
		return out
	}
	out = append(out, m.with(func(name string) bool { return !exact(name) && near(word, []rune(name)) }, k)...)
	return out[:min(k, len(out))]
}

// near reports whether a word is one typo away from a prefix of a name.
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
		rapid.StringOfN(rapid.SampledFrom([]rune("aAàÀ'!:")), 1, 4, -1), // many spellings of few forms
		rapid.StringOfN(rapid.SampledFrom([]rune("aA01 -+")), 1, 6, -1), // whose order is not that of the index
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
		m := &model{terms: map[string]term{}, blocked: map[string]bool{}}
		must := func(err error) {
			if err != nil {
				t.Helper()
				t.Fatal(err)
			}
		}
		valid := drawTerm().Filter(func(s string) bool { _, err := x.Normalize(s); return err == nil })
		same := func(got, want any) {
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
				same(got, m.add(x, text, n))
			},
			"many": func(t *rapid.T) {
				var list []Suggestion
				for _, text := range rapid.SliceOfN(valid, 1, 40).Draw(t, "terms") {
					s := Suggestion{Term: text, Count: rapid.Int64Range(1, 4).Draw(t, "n"), Payload: drawPayload().Draw(t, "payload")}
					list = append(list, s)
					m.add(x, s.Term, s.Count)
					if key, _ := x.normalizer.key(text); s.Payload != "" && !m.blocked[nameOf(key)] {
						one := m.terms[key]
						one.payload = s.Payload
						m.terms[key] = one
					}
				}
				n, err := x.AddMany(ctx, slices.Values(list))
				must(err)
				if n != len(list) {
					t.Fatalf("%d of %d terms were added", n, len(list))
				}
			},
			"put": func(t *rapid.T) {
				s := Suggestion{valid.Draw(t, "term"), rapid.Int64Range(1, maxCount).Draw(t, "n"), drawPayload().Draw(t, "payload")}
				got, err := x.Put(ctx, s)
				must(err)
				same(got, m.put(x, s))
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
				same(n, len(list))
			},
			"remove": func(t *rapid.T) {
				list := rapid.SliceOfN(valid, 1, 5).Draw(t, "terms")
				if rapid.Bool().Draw(t, "best") { // which empties lists
					for _, s := range m.with(func(name string) bool { return true }, 8) {
						list = append(list, s.Term)
					}
				}
				want := 0
				for _, text := range list {
					key, _ := x.normalizer.key(text)
					if _, ok := m.terms[key]; ok {
						delete(m.terms, key)
						want++
					}
				}
				got, err := x.Remove(ctx, list...)
				must(err)
				same(got, want)
			},
			"lose": func(t *rapid.T) {
				key, _ := x.normalizer.key(valid.Draw(t, "term"))
				_, err := x.updates().remove(ctx, "lose", 1, []string{key})
				must(err)
				if one, ok := m.terms[key]; ok {
					one.count--
					if m.terms[key] = one; one.count == 0 {
						delete(m.terms, key)
					}
				}
			},
			"sweep": func(t *rapid.T) {
				if len(m.terms) < 30 {
					return
				}
				want := int64(0)
				for name, one := range m.terms {
					if one.count < 2 {
						delete(m.terms, name)
						want++
					}
				}
				got, err := x.Prune(ctx, 2, maintain.Options{})
				must(err)
				same(got, want)
			},
			"block": func(t *rapid.T) {
				text := valid.Draw(t, "term")
				must(x.Block(ctx, text))
				name, _ := x.Normalize(text)
				for key := range m.terms {
					if nameOf(key) == name {
						delete(m.terms, key)
					}
				}
				m.blocked[name] = true
			},
			"unblock": func(t *rapid.T) {
				text := valid.Draw(t, "term")
				must(x.Unblock(ctx, text))
				name, _ := x.Normalize(text)
				delete(m.blocked, name)
			},
			"list lost": func(t *rapid.T) {
				k := x.completer.keys[0]
				prefix := drawPrefix().Draw(t, "prefix")
				must(client.Do(ctx, client.B().Hdel().Key(k.cache).Field(prefix).Build()).Error())
			},
			"get": func(t *rapid.T) {
				text := valid.Draw(t, "term")
				got, err := x.Get(ctx, text)
				key, _ := x.normalizer.key(text)
				want, ok := m.terms[key]
				if !ok {
					same(strings.Contains(fmt.Sprint(err), "not found"), true)
					return
				}
				must(err)
				same(got, Suggestion{Term: spelling(want.key), Count: int64(want.count), Payload: want.payload})
			},
			"complete": func(t *rapid.T) {
				prefix, k := drawPrefix().Draw(t, "prefix"), rapid.IntRange(1, 20).Draw(t, "k")
				got, err := x.Complete(ctx, prefix, k)
				must(err)
				name, _ := x.normalizer.normal(prefix)
				same(got, m.with(begins(name), k))
			},
			"fuzzy": func(t *rapid.T) {
				prefix, k := drawPrefix().Draw(t, "prefix"), rapid.IntRange(1, 20).Draw(t, "k")
				got, err := x.CompleteFuzzy(ctx, prefix, k)
				must(err)
				name, _ := x.normalizer.normal(prefix)
				same(got, m.fuzzy(name, k))
			},
			"all": func(t *rapid.T) { checkAll(t, x, m) },
			"verify": func(t *rapid.T) {
				if n, _ := x.Len(ctx); n == 0 {
					return
				}
				// The lists that were lost above are found and repaired.
				_, err := x.Repair(ctx, maintain.Options{})
				must(err)
				report, err := x.Verify(ctx, maintain.Options{})
				must(err)
				if report.Problems() > 0 || report.Checked < int64(len(m.terms)) {
					t.Fatalf("%d terms: %+v", len(m.terms), report)
				}
			},
		})
	})
}

// checkAll reads every term in pages.
func checkAll(t *rapid.T, x *Index, m *model) {
	prefix, _ := x.normalizer.normal(drawPrefix().Draw(t, "prefix"))
	page := index.Page{
		Limit:   rapid.IntRange(1, 9).Draw(t, "limit"),
		Offset:  rapid.IntRange(0, 3).Draw(t, "offset"),
		Reverse: rapid.Bool().Draw(t, "reverse"),
	}
	var want []string
	for key := range m.terms {
		if begins(prefix)(nameOf(key)) {
			want = append(want, key+":")
		}
	}
	slices.SortFunc(want, func(a, b string) int {
		return cmp.Or(strings.Compare(nameOf(a), nameOf(b)), strings.Compare(a, b))
	})
	if page.Reverse {
		slices.Reverse(want)
	}
	want = want[min(page.Offset, len(want)):]
	var got []string
	for n := page.Limit; n == page.Limit; page.Offset = 0 {
		n = 0
		for e, err := range x.All(context.Background(), strings.ReplaceAll(prefix, "\x1f", ":"), page) {
			if err != nil {
				t.Fatal(err)
			}
			if one := m.terms[e.key()]; nameOf(one.key) != e.Name || int64(one.count) != e.Count || one.payload != e.Payload {
				t.Fatalf("got %+v, want %+v", e, one)
			}
			got = append(got, e.key()+":")
			page.After = e.Cursor()
			n++
		}
		if n > page.Limit {
			t.Fatalf("%d of a page of %d", n, page.Limit)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v\ngot  %q\nwant %q", page, got, want)
	}
}
