package suggest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// testIndex returns an index in an empty database, with a client and the context of the test.
func testIndex(t *testing.T, opt Options) (*Index, rueidis.Client, context.Context) {
	t.Helper()
	client := redistest.DB(t).Client(t)
	return open(t, client, "words", opt), client, t.Context()
}

// addAll adds 1 to the count of each term.
func addAll(t *testing.T, x *Index, terms ...string) {
	t.Helper()
	list := make([]Suggestion, len(terms))
	for i, term := range terms {
		list[i] = Suggestion{Term: term, Count: 1}
	}
	require.OK(t)(x.AddMany(t.Context(), slices.Values(list)))
}

// complete returns the terms of a completion as text.
func complete(t *testing.T, x *Index, prefix string, k int) string {
	t.Helper()
	found, err := x.Complete(t.Context(), prefix, k)
	require.OK(t)(err)
	return show(found)
}

// show formats terms and their counts.
func show(found []Suggestion) string {
	texts := make([]string, len(found))
	for i, s := range found {
		texts[i] = fmt.Sprintf("%s %d", s.Term, s.Count)
	}
	return strings.Join(texts, ", ")
}

// entries returns the members of the sorted set at key.
func entries(t *testing.T, client rueidis.Client, key string) []string {
	t.Helper()
	all, err := client.Do(t.Context(), client.B().Zrange().Key(key).Min("0").Max("-1").Build()).AsStrSlice()
	require.OK(t)(err)
	return all
}

// expect fails the test unless got and want are formatted equally.
func expect(t *testing.T, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("\ngot  %v\nwant %v", got, want)
	}
}

// verified fails the test if Verify finds a problem.
func verified(t *testing.T, x *Index) {
	t.Helper()
	report, err := x.Verify(context.WithoutCancel(t.Context()), maintain.Options{})
	if err != nil || report.Problems() > 0 {
		t.Fatalf("verify: %v %+v", err, report)
	}
}

// Complete returns the terms in the tutorial's range for bit, which ends at \xff.
func TestTutorialBit(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	addAll(t, x, "bit", "bite", "bitter", "bits", "bitÿ", "biu", "bis", "bi")
	expect(t, complete(t, x, "bit", 10), "bit 1, bite 1, bits 1, bitter 1, bitÿ 1")
	// The command of the tutorial returns the same range.
	members, err := client.Do(ctx, client.B().Zrangebylex().Key("words").Min("[bit").Max("[bit\xff").Build()).AsStrSlice()
	if err != nil || len(members) != 5 {
		t.Fatalf("ZRANGEBYLEX: %q, %v, want 5 members", members, err)
	}
}

// Add counts the repeated searches for banana.
func TestTutorialBanana(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	for want := range int64(273) {
		if got, err := x.Add(ctx, "Banana", 1); err != nil || got != want+1 {
			t.Fatalf("Add() = %d, %v, want %d", got, err, want+1)
		}
	}
	expect(t, entries(t, client, "words"), "[banana\t273\tBanana]")
	content, err := client.Do(ctx, client.B().Hgetall().Key("words.content").Build()).AsStrMap()
	require.OK(t)(err)
	expect(t, content, map[string]string{"banana": "273\tBanana"})
	addAll(t, x, "banana", "bánana")
	expect(t, entries(t, client, "words"), "[banana\t275\tBanana]")
	expect(t, complete(t, x, "BAN", 10), "Banana 275")
	// The tutorial's example of what users type.
	expect(t, complete(t, x, "Ba'nana", 1), "Banana 275")
	addAll(t, x, "O'Neill")
	expect(t, complete(t, x, "oneil", 1), "O'Neill 1")
}

// Cleanup removes banaooo, which was searched once by mistake.
func TestTutorialCleanup(t *testing.T) {
	t.Parallel()
	for _, rare := range []bool{false, true} {
		t.Run(fmt.Sprint("rare ", rare), func(t *testing.T) {
			t.Parallel()
			x, client, ctx := testIndex(t, Options{Cleanup: 1, CleanupRare: rare})
			require.OK(t)(x.Add(ctx, "banana", 1_000_000))
			addAll(t, x, "banaooo")
			rounds := 0
			for complete(t, x, "bana", 10); len(entries(t, client, "words")) > 1; rounds++ {
				complete(t, x, "bana", 10)
			}
			got, err := x.Get(ctx, "banana")
			if err != nil || got.Count < 1_000_000-int64(rounds) {
				t.Fatalf("Get(banana) = %v, %v, want a count of at least %d", got, err, 1_000_000-rounds)
			}
			if rare && got.Count < 1_000_000-1 { // rare terms are decremented first
				t.Fatalf("Cleanup subtracted %d from banana, which is not rare", 1_000_000-got.Count)
			}
			verified(t, x)
		})
	}
}

// No character in a term breaks its entry.
func TestTutorialOriginal(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{Punctuation: PunctuationKeep})
	addAll(t, x, "a:273:b", "A: 1", "ü\n:9:\x00")
	expect(t, fmt.Sprintf("%q", entries(t, client, "words")),
		fmt.Sprintf("%q", []string{"a: 1\t1\tA: 1", "a:273:b\t1", "u :9:\t1\tü :9:"}))
	expect(t, complete(t, x, "a:", 5), "A: 1 1, a:273:b 1")
	expect(t, complete(t, x, "A:2", 5), "a:273:b 1")
	if got, err := x.Get(ctx, "u\u0308 :9:"); err != nil || got.Term != "ü :9:" {
		t.Fatalf("Get: %v, %v, want ü :9:", got, err)
	}
	verified(t, x)
}

// The spelling that All yields identifies the term.
func TestSpellingIsTheSameTerm(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"a", "é", " ", "\r", "\u030a", "\u200b", "日", "か", "\u3099", "'", ":", "ł", "\u05b8", "\u20e3"})
	for _, punctuation := range []Punctuation{PunctuationSpace, PunctuationDrop, PunctuationKeep} {
		x, _, _ := testIndex(t, Options{Punctuation: punctuation})
		rapid.Check(t, func(t *rapid.T) {
			text := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "")
			r, err := x.request(Suggestion{Term: text, Count: 1})
			if err != nil {
				return
			}
			shown := cmp.Or(r.spelling, r.name)
			if again, err := x.request(Suggestion{Term: shown, Count: 1}); err != nil || again.name != r.name || cmp.Or(again.spelling, again.name) != shown {
				t.Fatalf("%q is parsed as %+v, and its spelling %q as %+v: %v", text, r, shown, again, err)
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		punctuation Punctuation
		term, want  string
	}{
		{"", "Banana", "banana"},
		{"", "  Rock'n'Roll!  ", "rocknroll"},
		{"", "rock \u2018n\u2019 roll", "rock n roll"},
		{"", "Hawai\u02bbi O\u2019Neill m\u02bcba", "hawaii oneill mba"},
		{"", "wi-fi", "wi fi"},
		{"drop", "Rock'n'Roll!", "rocknroll"},
		{"keep", "Rock'n'Roll!", "rock'n'roll!"},
		{"keep", "a:b", "a:b"},
		{"", "C++", "c++"},
		{"", "C# #1 a#b", "c# 1 a#b"},
		{"", "Crème Brûlée", "creme brulee"},
		{"", "cre\u0300me", "creme"},
		{"", "STRASSE", "strasse"},
		{"", "Straße", "strasse"},
		{"", "ﬁsh", "fish"},
		{"", "Σίσυφος", "σισυφοσ"},
		{"", "ＦＵＬＬ　ｗｉｄｔｈ", "full width"},
		{"", "zero\u200bwidth\u00adhyphen", "zerowidthhyphen"},
		{"", "tab\tnew\nline\x00nul", "tab new line nul"},
		{"", "İstanbul", "istanbul"},
		{"", "한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"},
		{"", "東京", "東京"},
		{"", "パリ", "パリ"}, // Paris is not Bali
		{"", "バリ", "バリ"},
		{"", "ﾊﾟﾘ", "パリ"},
		{"", "がき", "がき"},
		{"", "กิน", "กิน"},
		{"", "कुल", "कुल"},
		{"", "क़लम", "क\u093cलम"},
		{"", "שָׁלוֹם", "שלום"},
		{"", "مُحَمَّد", "محمد"},
		{"", "أحمد", "احمد"},
		{"", "Łódź", "lodz"},
		{"", "Ørsted", "orsted"},
		{"", "Đà Nẵng", "da nang"},
		{"", "Diyarbakır", "diyarbakir"},
		{"", "Æsir œuvre Þór", "aesir oeuvre thor"},
		{"", "Ёж Й", "еж и"},
		{"", "❤\ufe0f", "❤"},
		{"", "!?", ""},
		{"", "", ""},
		{"", "\u0301", ""},
		{"", "\xff", ""},
		{"", strings.Repeat("x", 513), ""},
		{"", strings.Repeat("x", 512), strings.Repeat("x", 512)},
		{"", strings.Repeat("ﷺ", 170), ""}, // 18 letters each
	} {
		x := &Index{opt: Options{Punctuation: c.punctuation}}
		got, err := x.Normalize(c.term)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("Normalize(%q) = %q, %v, want %q", c.term, got, err, c.want)
		}
		if again, _ := x.Normalize(got); c.punctuation != "keep" && again != got {
			t.Errorf("Normalize(%q) = %q, want no change", got, again)
		}
	}
}

// A trailing blank ends a word.
func TestPrefixWithBlank(t *testing.T) {
	t.Parallel()
	x, _, _ := testIndex(t, Options{})
	addAll(t, x, "New York", "Newton", "new")
	expect(t, complete(t, x, "new", 5), "new 1, New York 1, Newton 1")
	expect(t, complete(t, x, " new ", 5), "new 1, New York 1")
	expect(t, complete(t, x, "", 5), "new 1, New York 1, Newton 1")
	expect(t, complete(t, x, "x", 5), "")
}

// The lists of a long prefix with many terms are added one byte at a time.
func TestLongPrefix(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	prefix := strings.Repeat("long ", redistest.Cases(10, 40))
	first := redistest.Cases(80, 600) // index of the best terms
	var all []string
	for i := range first + 40 {
		all = append(all, fmt.Sprintf("%s%03d", prefix, i))
	}
	addAll(t, x, all...)
	addAll(t, x, all[first:first+10]...)
	want := make([]string, 10)
	for i := range want {
		want[i] = all[first+i] + " 2"
	}
	for _, l := range []int{0, 1, 40, len(prefix) - 1, len(prefix)} {
		expect(t, complete(t, x, prefix[:l], 10), strings.Join(want, ", "))
	}
	verified(t, x)
	// Removing one of many terms removes no list.
	before, err := client.Do(ctx, client.B().Hlen().Key("words.heads").Build()).AsInt64()
	require.OK(t)(err)
	require.OK(t)(x.Remove(ctx, all[0]))
	if after, err := client.Do(ctx, client.B().Hlen().Key("words.heads").Build()).AsInt64(); err != nil || after != before || before < redistest.Cases[int64](10, 200) {
		t.Fatalf("%d lists before Remove, %d after, %v", before, after, err)
	}
	all = all[1:]
	// Without terms there are no lists.
	slices.Reverse(all)
	require.Gives(t, len(all))(x.Remove(ctx, all...))
	keys, err := client.Do(ctx, client.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(keys) != 1 || keys[0] != "words.meta" {
		t.Fatalf("keys %q, %v, want only words.meta", keys, err)
	}
}
