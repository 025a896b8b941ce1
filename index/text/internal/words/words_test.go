package words_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"retwis/index/text/internal/words"
)

// split returns the atoms of a text in a language.
func split(t *testing.T, language, text string) []words.Atom {
	t.Helper()
	s, err := words.New(language)
	if err != nil {
		t.Fatal(err)
	}
	return s.Atoms(text)
}

// plain returns a Splitter without a language.
func plain(t *testing.T) *words.Splitter {
	t.Helper()
	s, err := words.New("")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAtoms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"Hello, World!", "hello world"},
		{"don't DON’T dont", "dont dont dont"},
		{"crème brûlée Ærøskøbing", "creme brulee aeroskobing"},
		{"ＦＵＬＬ ｗｉｄｔｈ", "full width"},
		{"pi is 3.14, or 1,000.5 v1.2", "pi is 3.14 or 1,000.5 v1.2"},
		{"end.Next wi-fi snake_case _emphasis_", "end next wi fi snake_case emphasis"},
		{"https://example.com/a/b?x=1#top", "https example com a b x 1 top"},
		{"@ann #tag a@b.org", "ann tag a b org"},
		{"👍🏽 👍 👨‍👩‍👧 ❤️ 🇩🇪🇫🇷 1️⃣", "👍 👍 👨👩👧 ❤ 🇩🇪 🇫🇷 1"},
		{"Ёлка ЁЛКА Київ", "елка елка киів"},
		{"مُحَمَّد می\u200cخواهم", "محمد میخواهم"},
		{"हिन्दी में", "हिन्दी में"},
		{"צה\"ל שָׁלוֹם", "צהל שלום"},
		{"東京都", "東 京 都"},
		{"カタカナ ｶﾞ", "カ タ カ ナ ガ"},
		{"서울에서 ok", "서 울 에 서 ok"},
		{"ภาษาไทย", "ภ า ษ า ไ ท ย"},
		{"abc漢字def", "abc 漢 字 def"},
		{"col·lega", "collega"},
		{"$ + - !!! ___ …", ""},
		{"", ""},
	} {
		var got []string
		for _, a := range split(t, "", c.text) {
			got = append(got, a.Text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%q has the atoms %q, want %q", c.text, text, c.want)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, terms, wanted string }{
		{"b a b", "a b", "a b"},
		{"東京都", "京 京都 東 東京 都", "京都 東京"},
		{"猫", "猫", "猫"},
		{"猫、犬", "犬 猫", "犬 猫"},
		{"食べる", "べる 食 食べ", "べる 食べ"},
		{"サーバー", "サー バー ーバ", "サー バー ーバ"},
		{"ไทย ok", "ok ทย ไท", "ok ทย ไท"},
		{"か", "か", "か"},
		{"서울 a 에", "a 서울 에", "a 서울 에"},
	} {
		atoms := split(t, "", c.text)
		if got := strings.Join(words.Terms(atoms), " "); got != c.terms {
			t.Errorf("the terms of %q are %q, want %q", c.text, got, c.terms)
		}
		var got []string
		for _, terms := range plain(t).Wanted(atoms) {
			got = append(got, strings.Join(terms, "|"))
		}
		if text := strings.Join(got, " "); text != c.wanted {
			t.Errorf("the wanted terms of %q are %q, want %q", c.text, text, c.wanted)
		}
	}
}

func TestContain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, phrase string
		want         bool
	}{
		{"the quick brown fox", "quick brown", true},
		{"the quick brown fox", "brown quick", false},
		{"the quick, Brown fox", "QUICK brown", true},
		{"東京都民", "京都", true},
		{"黒猫がいる", "猫", true},
		{"黒猫がいる", "猫い", false},
		{"see https://example.com/x", "example.com", true},
		{"a", "a b", false},
	} {
		if got := words.Contain(split(t, "", c.text), split(t, "", c.phrase)); got != c.want {
			t.Errorf("%q contains %q: %t, want %t", c.text, c.phrase, got, c.want)
		}
	}
}

func TestStems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, text, want string }{
		{"english", "Running dogs' dog’s runs run", "running/run dogs/dog dogs/dog runs/run run/"},
		{"german", "Häuser Haus", "hauser/haus haus/"},
		{"french", "élégantes élégant", "elegantes/eleg elegant/eleg"},
		{"russian", "книги книга ёлки Елки", "книги/книг книга/книг елки/елк елки/елк"},
		{"english", "route66s", "route66s/"},
	} {
		var got []string
		for _, a := range split(t, c.language, c.text) {
			got = append(got, a.Text+"/"+a.Stem)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%q has the stems %q, want %q", c.text, text, c.want)
		}
	}
	if _, err := words.New("klingon"); err == nil || !strings.Contains(err.Error(), "english") {
		t.Errorf("New(klingon): %v, want error that lists the languages", err)
	}
	if len(words.Languages()) != 18 {
		t.Errorf("Languages() = %q, want 18 languages", words.Languages())
	}
}

func TestLongWords(t *testing.T) {
	t.Parallel()
	atoms := split(t, "", strings.Repeat("ж", 100))
	if len(atoms) != 1 || len(atoms[0].Text) != words.MaxWord || !utf8.ValidString(atoms[0].Text) {
		t.Errorf("atoms %+v, want one of %d bytes", atoms, words.MaxWord)
	}
	if got := words.Cut("aжж", 4); got != "aж" {
		t.Errorf("Cut() = %q, want %q", got, "aж")
	}
}

// Every text contains itself, and its terms include the terms wanted for a search for the text, so
// that text copied from a document finds the document.
func FuzzAtoms(f *testing.F) {
	for _, text := range []string{"Don't", "東京都", "👨‍👩‍👧 1️⃣", "3.14.", "à la carte", "ﬁ ½ ㎏", "\xff", "a\u200db", "İstanbul"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := plain(t)
		atoms := s.Atoms(text)
		for _, a := range atoms {
			if a.Text == "" || len(a.Text) > words.MaxWord || a.Joined && !a.Single || strings.ContainsAny(a.Text, " =:\x00\n") {
				t.Fatalf("%q has the atom %+v", text, a)
			}
		}
		if wanted := s.Wanted(atoms); len(atoms) > 0 && (len(wanted) == 0 || !words.Contain(atoms, atoms)) {
			t.Fatalf("%q does not contain itself", text)
		}
		terms := words.Terms(atoms)
		for _, w := range s.Wanted(atoms) {
			if _, ok := slices.BinarySearch(terms, w[0]); !ok {
				t.Fatalf("%q lacks its term %q", text, w)
			}
		}
	})
}
