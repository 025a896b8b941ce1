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

// Every prefix of a term completes to the term.
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
					t.Errorf("%s: Complete(%q) = %s, want %s", punctuation, typed, found, term)
				}
				fuzzy, err := x.CompleteFuzzy(t.Context(), typed, 50)
				if err != nil || !strings.Contains(show(fuzzy), term+" 1") {
					t.Errorf("%s: CompleteFuzzy(%q) = %s, %v, want %s", punctuation, typed, show(fuzzy), err, term)
				}
			}
			for i := range term {
				if typed := term[:i]; !strings.Contains(complete(t, x, typed, 50), term+" 1") {
					t.Errorf("%s: %q does not complete to %s", punctuation, typed, term)
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
			t.Fatalf("Add(%q) = %d, %v, want %d", term, n, err, 100+i)
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

// The spellings of a term are counted together. Complete returns the most frequent spelling.
func TestSpellingsCountTogether(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	for i, search := range []struct {
		text, shown string
	}{
		{"BANANA", "BANANA"},
		{"Banana", "BANANA"}, // equal counts: first in byte order
		{"Banana", "Banana"},
		{"banana", "Banana"},
		{" Ba'nana ", "Banana"},
		{"Banana", "Banana"},
		{"banana", "Banana"},
		{"banana", "Banana"},
		{"banana", "banana"},
	} {
		if n, err := x.Add(ctx, search.text, 1); err != nil || n != int64(i+1) {
			t.Fatalf("Add(%q) = %d, %v, want %d", search.text, n, err, i+1)
		}
		expect(t, complete(t, x, "b", 2), fmt.Sprint(search.shown, " ", i+1))
	}
	// Canonically equivalent texts are one spelling. Blanks make no difference.
	addAll(t, x, "Café", "Cafe\u0301", " Café ", "CAFÉ", "CAFÉ", "a b", "a \t b")
	expect(t, complete(t, x, "cafe", 5), "Café 5")
	expect(t, complete(t, x, "a b", 5), "a b 2")
	if s, err := x.Get(ctx, "BA-NANA"); err == nil {
		t.Fatalf("Get(BA-NANA) = %v, want an error", s)
	}
	if s, err := x.Get(ctx, "bánana"); err != nil || s != (Suggestion{Term: "banana", Count: 9}) {
		t.Fatalf("Get(bánana) = %v, %v, want banana 9", s, err)
	}
	// A decrement reduces the rarest spelling. The last spelling remains.
	for want := int64(8); want > 0; want-- {
		lose(t, x, 1, "banana")
		expect(t, complete(t, x, "b", 2), fmt.Sprint("banana ", want))
	}
	require.Gives(t, "1")(client.Do(ctx, client.B().Hget().Key("words.content").Field("banana").Build()).ToString())
	require.Gives(t, 1)(x.Remove(ctx, "CAFE", "cafe"))
	verified(t, x)
}

// With a half-life, a recent spelling outweighs a spelling that was frequent long ago.
func TestSpellingsDecay(t *testing.T) {
	t.Parallel()
	x, _, _ := testIndex(t, Options{HalfLife: time.Hour})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	setServerTime(x, now)
	addOne(t, x, "Banana", 1000)
	addOne(t, x, "banana", 100)
	expect(t, complete(t, x, "b", 2), "Banana 1100")
	setServerTime(x, now.Add(5*time.Hour))
	addOne(t, x, "banana", 10)
	expect(t, complete(t, x, "b", 2), "Banana 44")
	addOne(t, x, "banana", 20)
	expect(t, complete(t, x, "b", 2), "banana 64")
	verified(t, x)
}

// Complete returns the most frequent spelling, even if many other spellings compete for its slot.
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

// Get returns the most frequent of very many spellings if the spelling is frequent enough, and
// counts all spellings.
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
			t.Fatalf("Get: %v, %v, want count %d", s, err, total)
		}
		best := slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
		secondCount := int64(0)
		for spelling, n := range counts {
			if spelling != best {
				secondCount = max(secondCount, n)
			}
		}
		if counts[best]-secondCount > total/maxSpellings && s.Term != best {
			t.Fatalf("Get returned %q with count %d of %d, but %q has %d", s.Term, counts[s.Term], total, best, counts[best])
		}
		value, err := client.Do(ctx, client.B().Hget().Key(x.keys[0].Content).Field("abcabcabc").Build()).ToString()
		if err != nil || len(value) > 300 {
			t.Fatalf("stored value %q, %v, want at most 300 bytes", value, err)
		}
		if report, err := x.Verify(ctx, maintain.Options{}); err != nil || report.Problems() > 0 {
			t.Fatalf("Verify: %+v, %v, want no problems", report, err)
		}
	})
}

// Verify reports the leftovers of a killed rebuild. Repair, and the next write after the lease of
// the rebuild, remove the leftovers.
func TestKilledRebuild(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	addAll(t, x, "banana")
	killRebuild := func() {
		t.Helper()
		require.OK(t)(x.tracker().Begin(ctx, "killed"))
		require.OK(t)(x.write(ctx, []request{{name: "half", n: 1}}, writing{rebuild: "killed"}))
		addAll(t, x, "banana")
		verified(t, x)                                    // the rebuild may continue
		do(t, client, "HSET", "words.meta", "until", "1") // the lease expires
	}
	wantNoLeftovers := func() {
		t.Helper()
		keys, err := client.Do(ctx, client.B().Keys().Pattern("words*").Build()).AsStrSlice()
		if err != nil || len(keys) != 3 {
			t.Fatalf("keys %q, %v, want 3", keys, err)
		}
		verified(t, x)
	}
	killRebuild()
	report, err := x.Verify(ctx, maintain.Options{})
	if err != nil || report.Dangling != 1 {
		t.Fatalf("Verify: %+v, %v, want 1 dangling", report, err)
	}
	if report, err = x.Repair(ctx, maintain.Options{}); err != nil || report.Repaired != 1 {
		t.Fatalf("Repair: %+v, %v, want 1 repaired", report, err)
	}
	wantNoLeftovers()
	killRebuild()
	addAll(t, x, "banana")
	wantNoLeftovers()
	killRebuild()
	require.OK(t)(x.Remove(ctx, "half"))
	wantNoLeftovers()
	killRebuild()
	if err := x.write(ctx, []request{{name: "half", n: 1}}, writing{rebuild: "killed"}); err == nil {
		t.Fatal("the killed rebuild wrote after its lease, although other writes may not have been tracked")
	}
	wantNoLeftovers()
}
