package suggest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// Every prefix of the text of a term finds it.
func TestEveryPrefixFindsTerm(t *testing.T) {
	t.Parallel()
	for _, punctuation := range []Punctuation{PunctuationSpace, PunctuationDrop, PunctuationKeep} {
		x, _, _ := testIndex(t, Options{Punctuation: punctuation})
		terms := []string{
			"C#", "Yahoo!", "hello world!", "dependabot[bot]", "Dr.", "Filipe Oliveira (Redis)", "Bandana", "Ba'nana", "O\u2019Neill",
			"Łódź", "パリ", "กิน", "c++", "rock'n'roll", "what?!", "«quoted»", "a: b", "x:",
		}
		addAll(t, x, terms...)
		for _, term := range terms {
			for _, typed := range []string{term, strings.ToLower(term), term + " ", "  " + term, term + "  "} {
				found := complete(t, x, typed, 50)
				if !strings.Contains(found, term+" 1") {
					t.Errorf("%s: %q finds %s", punctuation, typed, found)
				}
				fuzzy, err := x.CompleteFuzzy(t.Context(), typed, 50)
				if err != nil || !strings.Contains(show(fuzzy), term+" 1") {
					t.Errorf("%s: %q finds, with typos, %s, %v", punctuation, typed, show(fuzzy), err)
				}
			}
			for i := range term {
				if typed := term[:i]; !strings.Contains(complete(t, x, typed, 50), term+" 1") {
					t.Errorf("%s: %q does not find %s", punctuation, typed, term)
				}
			}
		}
	}
	x, _, _ := testIndex(t, Options{})
	addAll(t, x, "Ba'nana", "Łódź", "new", "newton")
	expect(t, complete(t, x, "banana", 5), "Ba'nana 1")
	expect(t, complete(t, x, "lodz", 5), "Łódź 1")
	expect(t, complete(t, x, "new ", 5), "new 1")
	expect(t, complete(t, x, "new!", 5), "new 1")
}

// Different words are different terms, even if they look alike.
func TestTermsAreNotMerged(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{})
	for i, term := range []string{"パリ", "バリ", "かき", "かぎ", "がき", "กิน", "กัน", "कल", "कुल", "C#", "C", "C++"} {
		if n, err := x.Add(ctx, term, int64(100+i)); err != nil || n != int64(100+i) {
			t.Fatal(term, n, err)
		}
	}
	expect(t, complete(t, x, "パ", 5), "パリ 100")
	expect(t, complete(t, x, "ハ", 5), "")
	expect(t, complete(t, x, "か", 5), "かぎ 103, かき 102")
	expect(t, complete(t, x, "กิ", 5), "กิน 105")
	expect(t, complete(t, x, "कुल", 5), "कुल 108")
	expect(t, complete(t, x, "c", 5), "C++ 111, C 110, C# 109")
	expect(t, complete(t, x, "c#", 5), "C# 109")
	verified(t, x)
}

// Spellings of a term are counted together, and it is shown in the most frequent one.
func TestSpellingsCountTogether(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	for i, search := range []struct {
		text, shown string
	}{
		{"BANANA", "BANANA"},
		{"Banana", "BANANA"}, // equal counts: the first by bytes
		{"Banana", "Banana"},
		{"banana", "Banana"},
		{" Ba'nana ", "Banana"},
		{"Banana", "Banana"},
		{"banana", "Banana"},
		{"banana", "Banana"},
		{"banana", "banana"},
	} {
		if n, err := x.Add(ctx, search.text, 1); err != nil || n != int64(i+1) {
			t.Fatal(n, err)
		}
		expect(t, complete(t, x, "b", 2), fmt.Sprint(search.shown, " ", i+1))
	}
	// Canonically equivalent texts are one spelling, and blanks make no difference.
	addAll(t, x, "Café", "Cafe\u0301", " Café ", "CAFÉ", "CAFÉ", "a b", "a \t b")
	expect(t, complete(t, x, "cafe", 5), "Café 5")
	expect(t, complete(t, x, "a b", 5), "a b 2")
	if s, err := x.Get(ctx, "BA-NANA"); err == nil {
		t.Fatal(s)
	}
	if s, err := x.Get(ctx, "bánana"); err != nil || s != (Suggestion{Term: "banana", Count: 9}) {
		t.Fatal(s, err)
	}
	// A decrement is taken from the rarest spelling, and the last one stays.
	for want := int64(8); want > 0; want-- {
		lose(t, x, 1, "banana")
		expect(t, complete(t, x, "b", 2), fmt.Sprint("banana ", want))
	}
	require.Gives(t, "1")(client.Do(ctx, client.B().Hget().Key("words.content").Field("banana").Build()).ToString())
	require.Gives(t, 1)(x.Remove(ctx, "CAFE", "cafe"))
	verified(t, x)
}

// With a half-life a recent spelling outweighs one that was frequent long ago.
func TestSpellingsDecay(t *testing.T) {
	t.Parallel()
	x, _, _ := testIndex(t, Options{HalfLife: time.Hour})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	serverAt(x, now)
	addOne(t, x, "Banana", 1000)
	addOne(t, x, "banana", 100)
	expect(t, complete(t, x, "b", 2), "Banana 1100")
	serverAt(x, now.Add(5*time.Hour))
	addOne(t, x, "banana", 10)
	expect(t, complete(t, x, "b", 2), "Banana 44")
	addOne(t, x, "banana", 20)
	expect(t, complete(t, x, "b", 2), "banana 64")
	verified(t, x)
}

// The most frequent spelling is shown, even if many others compete for its slot.
func TestFrequentAmongMany(t *testing.T) {
	t.Parallel()
	x, _, _ := testIndex(t, Options{})
	spelling := func(i int) string {
		word := []byte("abcabcabc")
		for bit := range word {
			if i>>bit&1 == 1 {
				word[bit] -= 'a' - 'A'
			}
		}
		return string(word)
	}
	for i := range maxSpellings {
		addOne(t, x, spelling(i), 2)
	}
	for i := range 100 {
		addOne(t, x, spelling(511), 1)
		addOne(t, x, spelling(10+i), 1)
	}
	expect(t, complete(t, x, "a", 2), "ABCABCABC 216")
}

// Among very many spellings the most frequent one is shown, if it is frequent enough, and all
// are counted.
func TestManySpellings(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n++
		x := open(t, client, fmt.Sprint("many", n), Options{})
		counts := map[string]int64{}
		total := int64(0)
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var list []Suggestion
			for range rapid.IntRange(1, 200).Draw(t, "size") {
				word := []byte("abcabcabc")
				bits := rapid.OneOf(rapid.IntRange(0, 1), rapid.IntRange(0, 511)).Draw(t, "spelling")
				for bit := range word {
					if bits>>bit&1 == 1 {
						word[bit] -= 'a' - 'A'
					}
				}
				s := Suggestion{Term: string(word), Count: rapid.Int64Range(1, 9).Draw(t, "n")}
				list = append(list, s)
				counts[s.Term] += s.Count
				total += s.Count
			}
			require.OK(t)(x.AddMany(ctx, slices.Values(list)))
		}
		s, err := x.Get(ctx, "abcabcabc")
		if err != nil || s.Count != total {
			t.Fatalf("%v, %v, want %d", s, err, total)
		}
		best := slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
		others := int64(0)
		for spelling, n := range counts {
			if spelling != best {
				others = max(others, n)
			}
		}
		if counts[best]-others > total/maxSpellings && s.Term != best {
			t.Fatalf("%q is shown, with %d of %d, and %q has %d", s.Term, counts[s.Term], total, best, counts[best])
		}
		value, err := client.Do(ctx, client.B().Hget().Key(x.keys[0].Content).Field("abcabcabc").Build()).ToString()
		if err != nil || len(value) > 300 {
			t.Fatalf("%q, %v", value, err)
		}
		if report, err := x.Verify(ctx, maintain.Options{}); err != nil || report.Problems() > 0 {
			t.Fatal(report, err)
		}
	})
}

// Leftovers of a killed rebuild are reported, and removed by the next write after its lease.
func TestKilledRebuild(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	addAll(t, x, "banana")
	leave := func() {
		t.Helper()
		require.OK(t)(x.tracker().Begin(ctx, "killed"))
		require.OK(t)(x.write(ctx, []request{{name: "half", n: 1}}, writing{rebuild: "killed"}))
		addAll(t, x, "banana")
		verified(t, x)                                    // the rebuild may continue
		do(t, client, "HSET", "words.meta", "until", "1") // long ago
	}
	gone := func() {
		t.Helper()
		keys, err := client.Do(ctx, client.B().Keys().Pattern("words*").Build()).AsStrSlice()
		if err != nil || len(keys) != 3 {
			t.Fatal(keys, err)
		}
		verified(t, x)
	}
	leave()
	report, err := x.Verify(ctx, maintain.Options{})
	if err != nil || report.Dangling != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if report, err = x.Repair(ctx, maintain.Options{}); err != nil || report.Repaired != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	gone()
	leave()
	addAll(t, x, "banana")
	gone()
	leave()
	require.OK(t)(x.Remove(ctx, "half"))
	gone()
	leave()
	if err := x.write(ctx, []request{{name: "half", n: 1}}, writing{rebuild: "killed"}); err == nil {
		t.Fatal("it went on, though what others wrote may not have been noted")
	}
	gone()
}
