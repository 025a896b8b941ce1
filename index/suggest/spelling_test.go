package suggest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// A term is found by every prefix of its text.
func TestTypedToTheEnd(t *testing.T) {
	t.Parallel()
	for _, punctuation := range []Punctuation{PunctuationSpace, PunctuationDrop, PunctuationKeep} {
		x, _, _ := testIndex(t, Options{Punctuation: punctuation})
		terms := []string{
			"C#", "Yahoo!", "hello world!", "dependabot[bot]", "Dr.", "Filipe Oliveira (Redis)", "Banana", "Ba'nana", "O\u2019Neill",
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

// Different words are different terms with separate counts, even if they have the same
// form.
func TestTermsAreNotMerged(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{})
	for i, term := range []string{"パリ", "バリ", "かき", "かぎ", "がき", "กิน", "กัน", "कल", "कुल", "C#", "C", "Polish", "polish", "SWAT", "swat"} {
		if n, err := x.Add(ctx, term, int64(100+i)); err != nil || n != int64(100+i) {
			t.Fatal(term, n, err)
		}
	}
	expect(t, complete(t, x, "パ", 5), "パリ 100")
	expect(t, complete(t, x, "ハ", 5), "")
	expect(t, complete(t, x, "か", 5), "かぎ 103, かき 102")
	expect(t, complete(t, x, "กิ", 5), "กิน 105")
	expect(t, complete(t, x, "कुल", 5), "कुल 108")
	expect(t, complete(t, x, "c", 5), "C 110, C# 109")
	expect(t, complete(t, x, "POL", 5), "polish 112, Polish 111")
	// Canonically equivalent texts are the same, and so are blanks.
	addAll(t, x, "Café", "Cafe\u0301", " Café ", "a b", "a \t b")
	expect(t, complete(t, x, "cafe", 5), "Café 3")
	expect(t, complete(t, x, "a b", 5), "a b 2")
	if n, err := x.Remove(ctx, "polish", "SWAT", "Swat"); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	expect(t, complete(t, x, "polish", 5), "Polish 111")
	verified(t, x)
}

// Thousands of spellings of one form are completed exactly, and blocking the form removes
// all.
func TestManySpellings(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{})
	m := &model{terms: map[string]term{}}
	var list []Suggestion
	n := redistest.Cases(400, 2500)
	for i := range n {
		word := []byte("abcabcabcabc")
		for bit := range word {
			if i>>bit&1 == 1 {
				word[bit] -= 'a' - 'A'
			}
		}
		s := Suggestion{Term: string(word), Count: int64(1 + i*7919%1000)}
		m.add(x, s.Term, s.Count)
		list = append(list, s)
	}
	addAll(t, x, "abc", "abcabcabcabcd")
	m.add(x, "abc", 1)
	m.add(x, "abcabcabcabcd", 1)
	if _, err := x.AddMany(ctx, slices.Values(list)); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "abc", "abcabcabcabc", "abcabcabcabc "} {
		for _, k := range []int{1, 10, 100, 1000} {
			expect(t, complete(t, x, prefix, k), show(m.with(begins(prefix), k)))
		}
	}
	found := 0
	for e, err := range x.All(ctx, "ABCabcABCabc ", index.Page{}) {
		if err != nil || e.Name != "abcabcabcabc" {
			t.Fatal(e, err)
		}
		found++
	}
	expect(t, found, n)
	verified(t, x)
	if err := x.Block(ctx, "abcabcabcABC"); err != nil {
		t.Fatal(err)
	}
	expect(t, complete(t, x, "", 5), "abc 1, abcabcabcabcd 1")
	expect(t, fmt.Sprint(x.Len(ctx)), "2 <nil>")
	verified(t, x)
}

// The rest of a killed rebuild is reported, and removed by the next write.
func TestKilledRebuild(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	addAll(t, x, "banana")
	leave := func() {
		t.Helper()
		if err := x.maintenance().tracker().Begin(ctx, "killed"); err != nil {
			t.Fatal(err)
		}
		if err := x.updates().writeAll(ctx, []request{{key: "half:", n: 1}}, "killed"); err != nil {
			t.Fatal(err)
		}
		addAll(t, x, "banana")
		verified(t, x)                                    // it may continue
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
	if _, err := x.Remove(ctx, "half"); err != nil {
		t.Fatal(err)
	}
	gone()
	leave()
	if err := x.updates().writeAll(ctx, []request{{key: "half:", n: 1}}, "killed"); err == nil {
		t.Fatal("it went on, though what others wrote may not have been noted")
	}
	gone()
}
