package i18n

import (
	"strings"
	"testing"
	"time"
)

func TestSay(t *testing.T) {
	t.Parallel()
	german := Find("de")
	at := time.Date(2026, 3, 9, 8, 5, 0, 0, time.UTC)
	for _, c := range []struct {
		text        Message
		english, de string
	}{
		{Message{}, "", ""},
		{T("Save"), "Save", "Speichern"},
		{T("May|short"), "May", "Mai"},
		{Verbatim("{name} <b>"), "{name} <b>", "{name} <b>"},
		{Verbatim(""), "", ""},
		{T("{name} is free.", "{n}"), "{n} is free.", "{n} ist frei."},
		{T("Use {least} to {most} characters.", 8, 1000), "Use 8 to 1,000 characters.", "Verwende 8 bis 1.000 Zeichen."},
		{N(1, "{n} new post", "{n} new posts"), "1 new post", "1 neuer Beitrag"},
		{N(0, "{n} new post", "{n} new posts"), "0 new posts", "0 neue Beiträge"},
		{N(2_000_001, "{n} new post", "{n} new posts"), "2,000,001 new posts", "2.000.001 neue Beiträge"},
		{N(2, "{name} and {n} other followed you", "{name} and {n} others followed you", "Bob"), "Bob and 2 others followed you", "Bob und 2 weitere folgen dir"},
		{Sentences(T("Save"), Message{}, Verbatim("Now.")), "Save Now.", "Speichern Now."},
		{T("Your account is suspended until {time}.", at), "Your account is suspended until 9 Mar 2026, 08:05 UTC.", "Dein Konto ist bis 9. März 2026, 08:05 UTC gesperrt."},
		{T("not in a file, {value}", T("Save")), "not in a file, Save", "not in a file, Speichern"},
	} {
		if got := c.text.String(); got != c.english {
			t.Errorf("English: %q, want %q", got, c.english)
		}
		if got := german.Say(c.text); got != c.de {
			t.Errorf("German: %q, want %q", got, c.de)
		}
	}
	if got := german.Month(at); got != "März 2026" {
		t.Errorf("Month = %q, want \"März 2026\"", got)
	}
	for n, want := range map[int64]string{0: "0", -999: "-999", -1000: "-1,000", 1234567: "1,234,567"} {
		if got := English.Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	got := ""
	for _, p := range English.Parts(T("<a>Log in</a> to reply, {name}: 1 < 2", 7, "<Bob>")) {
		switch {
		case p.Open:
			got += "["
		case p.Close:
			got += "]"
		}
		got += p.Text
	}
	if got != "[Log in] to reply, <Bob>: 1 < 2" {
		t.Errorf("Parts = %q, want %q", got, "[Log in] to reply, <Bob>: 1 < 2")
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "en", "de": "de", "de-AT,de;q=0.9,en;q=0.5": "de", "en-US,en;q=0.9,de;q=0.8": "en", "ja": "en", "ja,de;q=0.1": "de",
		"*": "en", "fr;q=x": "en", "\x00": "en", strings.Repeat("de,", 100): "en",
	} {
		for range 2 { // the second lookup is cached
			if got := Match(header); got.Tag != want {
				t.Errorf("Match(%q) = %s, want %s", header, got.Tag, want)
			}
		}
	}
}

// TestMatchedIsBounded sends more distinct headers than the cache holds.
func TestMatchedIsBounded(t *testing.T) {
	for range 3 * maxMatched {
		Match("de;q=0." + strings.Repeat("1", int(matched.n.Load()%90)) + ",x-" + strings.Repeat("a", int(matched.n.Load()%8)+1))
	}
	n := 0
	matched.languages.Range(func(any, any) bool { n++; return true })
	if n > maxMatched {
		t.Errorf("%d headers are cached, want at most %d", n, maxMatched)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"", "{", "{}", "{a}", "<a>", "</a>", "<a>{b}</a>|c", "{a}{a}", "{A}", "a < b > c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values := names(text, false)
		if len(values) > len(text) {
			t.Errorf("%q has %d placeholders, more than characters", text, len(values))
		}
		if _, err := compile(text, values); err != nil {
			t.Error(err)
		}
		args := make([]any, len(values))
		for i := range args {
			args[i] = "v"
		}
		_ = T(text, args...).String()
	})
}
