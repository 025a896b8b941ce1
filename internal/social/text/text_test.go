package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// formatSegments formats the segments of a text: links as <target>, mentions as {name}, tags as
// [tag].
func formatSegments(body string) string {
	var b strings.Builder
	for _, s := range Parse(body) {
		switch s.Kind {
		case Plain:
			b.WriteString(s.Text)
		case Link:
			b.WriteString("<" + s.Target + ">")
		case Mention:
			b.WriteString("{" + s.Target + "}")
		case Tag:
			b.WriteString("[" + s.Target + "]")
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	t.Parallel()
	name20, tag50 := strings.Repeat("n", 20), strings.Repeat("t", 50)
	for _, c := range []struct{ body, want string }{
		{"", ""},
		{"nothing here", "nothing here"},

		{"see https://example.com.", "see <https://example.com>."},
		{"see HTTP://Example.com/A?b=c&d#e!", "see <http://Example.com/A?b=c&d#e>!"},
		{"(https://en.wikipedia.org/wiki/Go_(game))", "(<https://en.wikipedia.org/wiki/Go_(game)>)"},
		{"[https://example.com/a[1]]", "[<https://example.com/a[1]>]"},
		{"https://example.com/(", "<https://example.com/>("},
		{`"https://example.com"`, `"<https://example.com>"`},
		{"<https://example.com>", "<<https://example.com>>"},
		{"https://a.example,https://b.example", "<https://a.example,https://b.example>"},
		{"https://a.example\nhttps://b.example", "<https://a.example>\n<https://b.example>"},
		{"http://localhost:8080/x", "<http://localhost:8080/x>"},
		{"http://[::1]:80/", "<http://[::1]:80/>"},
		{"http:// nothing", "http:// nothing"},
		{"http://... nothing", "http://... nothing"},
		{"https://%zz", "https://%zz"},
		{"xhttps://example.com/#tag", "xhttps://example.com/#tag"},
		{"ftp://example.com javascript:alert(1)", "ftp://example.com javascript:alert(1)"},
		{"https://bank.example@evil.example/@ada?x=#tag", "https://bank.example@evil.example/@ada?x=#tag"},
		{"https://example.com/@ada/#tag", "<https://example.com/@ada/#tag>"},
		{"https://example.com/" + strings.Repeat("a", 1000) + "#b", "https://example.com/" + strings.Repeat("a", 1000) + "#b"},
		{"http://例え.テスト/道、次", "<http://例え.テスト/道>、次"},
		{"こちらhttps://example.com/xを見て", "こちら<https://example.com/x>を見て"},
		{"https://example.com/ü日", "<https://example.com/ü>日"},
		{"https://example.com日", "<https://example.com>日"},
		{"https://ja.wikipedia.org/wiki/東京と", "<https://ja.wikipedia.org/wiki/東京と>"},
		{"https://example.com/🎉 and https://example.com/a🎉", "<https://example.com/🎉> and <https://example.com/a>🎉"},
		{"https://example.com🎉", "<https://example.com>🎉"},
		{"https://x.test/?p={D5F9}&q=1", "<https://x.test/?p={D5F9}&q=1>"},
		{"{https://x.test/a|b}", "{<https://x.test/a|b>}"},
		{"https://x.test/{a}|", "<https://x.test/{a}>|"},
		{"https://example.com/\u202eevil", "<https://example.com/>\u202eevil"},

		{"@ada hello @Bob_2!", "{ada} hello {Bob_2}!"},
		{"(@ada) \"@ada\" @ada's @ada, @ada.", "({ada}) \"{ada}\" {ada}'s {ada}, {ada}."},
		{"@" + name20 + " @" + name20 + "n", "{" + name20 + "} @" + name20 + "n"},
		{"ada@example.com @ada@example.com", "ada@example.com @ada@example.com"},
		{"@@ada @ @- example.com/@ada", "@@ada @ @- example.com/@ada"},
		{"x@ada é@ada e\u0301@ada _@ada 1@ada", "x@ada é@ada e\u0301@ada _@ada 1@ada"},
		{"@adaé @ada\u0301 @адa", "@adaé @ada\u0301 @адa"},
		{"さん@adaさん ＠ada", "さん{ada}さん {ada}"},
		{"שלום @ada שלום", "שלום {ada} שלום"},
		{"👋@ada👋🏽@bob", "👋{ada}👋🏽{bob}"},
		{"@ada@bob", "@ada@bob"},
		{"@ada#go", "{ada}#go"},

		{"#Go #go_1 ＃Go", "[go] [go_1] [go]"},
		{"#1 #2024 #_ #1st #__a", "#1 #2024 #_ [1st] [__a]"},
		{"(#go) #go. #go's C# C#go &#39;", "([go]) [go]. [go]'s C# C#go &#39;"},
		{"##go #go#go /#go", "##go [go]#go /#go"},
		{"#" + tag50 + " #" + tag50 + "t", "[" + tag50 + "] #" + tag50 + "t"},
		{"#" + strings.Repeat("日", 50) + "。#" + strings.Repeat("日", 51), "[" + strings.Repeat("日", 50) + "]。#" + strings.Repeat("日", 51)},
		{"#ÉCOLE #e\u0301cole #ＧＯ", "[école] [école] [go]"},
		{"#한국어 #हिन्दी #ไทย #עברית #العربية", "[한국어] [हिन्दी] [ไทย] [עברית] [العربية]"},
		{"タグ#日本語 #々〇", "タグ[日本語] [々〇]"},
		{"#می\u200cخواهم", "[میخواهم]"},
		{"#col·lecció #レッド・ツェッペリン #a· b", "[col·lecció] [レッド・ツェッペリン] [a]· b"},
		{"#ΟΔΟΣ #οδος", "[οδος] [οδος]"},
		{"#Ⅷ", "[viii]"},
		{"#️⃣ #\u3164 #\u0301a #👍", "#️⃣ #\u3164 #\u0301a #👍"},
		{"#go👨‍👩‍👧", "[go]👨‍👩‍👧"},
		{"#ﷺ", "[صلىاللهعليهوسلم]"},

		{"bad \xff@ada \xff#go\xff http://x.example\xff", "bad \xff{ada} \xff[go]\xff <http://x.example>\xff"},
		{"two\n@lines\n#here", "two\n{lines}\n[here]"},
	} {
		if got := formatSegments(c.body); got != c.want {
			t.Errorf("%.80q\ngot  %.200q\nwant %.200q", c.body, got, c.want)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ link, want string }{
		{"https://example.com", "example.com"},
		{"https://www.example.com/", "example.com"},
		{"https://www.com/", "www.com"},
		{"http://example.com/a?b#c", "example.com/a?b#c"},
		{"https://example.com/" + strings.Repeat("a", 29), "example.com/" + strings.Repeat("a", 29)},
		{"https://example.com/" + strings.Repeat("a", 30), "example.com/" + strings.Repeat("a", 28) + "…"},
		{"https://example.com/" + strings.Repeat("ü", 30), "example.com/" + strings.Repeat("ü", 28) + "…"},
		{"https://bank.example." + strings.Repeat("a", 40) + ".evil.example/x", "…" + strings.Repeat("a", 27) + ".evil.example…"},
	} {
		segments := Parse(c.link)
		if len(segments) != 1 || segments[0].Shown() != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.link, segments[0].Shown(), c.want)
		}
	}
}

func TestMentionsAndTags(t *testing.T) {
	t.Parallel()
	if got := Mentions("@Ada @bob @ADA https://x.example/@eve"); !slices.Equal(got, []string{"Ada", "bob"}) {
		t.Errorf("Mentions = %q, want Ada and bob", got)
	}
	if got := Tags("#Go #go #ＧＯ #rust https://x.example/#c"); !slices.Equal(got, []string{"go", "rust"}) {
		t.Errorf("Tags = %q, want go and rust", got)
	}
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "@a%d #b%d ", i, i)
	}
	if got := Mentions(many.String()); len(got) != MaxMentions || got[9] != "a9" {
		t.Errorf("Mentions = %q, want the first %d", got, MaxMentions)
	}
	if got := Tags(many.String()); len(got) != MaxTags || got[9] != "b9" {
		t.Errorf("Tags = %q, want the first %d", got, MaxTags)
	}
}

func TestFoldTag(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"Go": "go", "#Go": "go", "＃Go": "go", "": "", "#": "", "##go": "", "1": "", "go ": "", "a b": "", "a#b": "",
		strings.Repeat("a", 51): "", "a\xff": "", "a·": "",
	} {
		got, ok := FoldTag(typed)
		if got != want && ok || ok != (want != "") {
			t.Errorf("FoldTag(%q) = %q, %v; want %q", typed, got, ok, want)
		}
	}
}

// For every character, alone, after a letter and between letters, FoldTag returns a folded tag.
func TestFoldIsStable(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !isTagRune(r) {
			continue
		}
		for _, typed := range []string{string(r), "a" + string(r), "a" + string(r) + "\u0301b"} {
			if folded, ok := FoldTag(typed); ok {
				wantFolded(t, folded)
			}
		}
	}
}

// wantFolded checks that a tag is folded: folding does not change the tag, and the tag has no
// spaces and no ignorable characters and is not too long.
func wantFolded(t *testing.T, folded string) {
	t.Helper()
	if got, ok := FoldTag(folded); !ok || got != folded {
		t.Errorf("FoldTag(%+q) = %+q, %v; want no change", folded, got, ok)
	}
	if strings.ContainsFunc(folded, func(r rune) bool { return unicode.IsSpace(r) || isIgnorable(r) }) || utf8.RuneCountInString(folded) > MaxTag {
		t.Errorf("%+q has invalid characters or is too long for a tag", folded)
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{
		"", "see https://example.com/(a)). @ada #go", "＠ada ＃日本語 http://例え.jp", "\xff#\u0301@@##http://", "#ΣΑΣ #İ #ﷺ #a\u200db",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var all strings.Builder
		last := Kind(255)
		for _, s := range Parse(body) {
			all.WriteString(s.Text)
			if s.Text == "" || s.Kind == Plain && last == Plain {
				t.Fatalf("%q: empty segment, or two consecutive plain segments", body)
			}
			last = s.Kind
			switch s.Kind {
			case Plain:
				if s.Target != "" {
					t.Fatalf("%q: plain segment with the target %q", body, s.Target)
				}
			case Link:
				if !strings.HasPrefix(s.Target, "http://") && !strings.HasPrefix(s.Target, "https://") || strings.ContainsAny(s.Target, " \"<>\n") {
					t.Fatalf("%q: link to %q", body, s.Target)
				}
				if n := utf8.RuneCountInString(s.Shown()); n == 0 || n > utf8.RuneCountInString(s.Text) {
					t.Fatalf("%q: Shown of the link %q has %d characters", body, s.Text, n)
				}
			case Mention:
				if n, ok := name(s.Target); !ok || n != len(s.Target) {
					t.Fatalf("%q: mention of %q", body, s.Target)
				}
			case Tag:
				wantFolded(t, s.Target)
				if folded, ok := FoldTag(s.Text); !ok || folded != s.Target {
					t.Fatalf("%q: tag %q for the text %q", body, s.Target, s.Text)
				}
			}
		}
		if all.String() != body {
			t.Fatalf("segments of %q form %q", body, all.String())
		}
	})
}

// The time of Parse is proportional to the length of the text, even for hostile texts.
func BenchmarkHostile(b *testing.B) {
	for _, piece := range []string{"a", "@", "#", "h", "http://", "http://a(", "https://a)", "#a", "@a", "# ", "#a\u0301", "#日", "\xff", "@a@", "http://a@", "#\u200d"} {
		for _, n := range []int{1 << 10, 1 << 16} {
			body := strings.Repeat(piece, n/len(piece))
			b.Run(fmt.Sprintf("%q/%d", piece, n), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					Parse(body)
				}
			})
		}
	}
}
