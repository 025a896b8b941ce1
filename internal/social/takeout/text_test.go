package takeout

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"retwis/internal/social"
	"retwis/internal/social/text"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"<p>one</p><p>two<br>three<br/>four</p>":                 "one\n\ntwo\nthree\nfour",
		"a &amp; b &lt;c&gt; &#128512;":                          "a & b <c> 😀",
		"<p>line\nbreaks</p><pre>stay\nhere</pre>":               "line breaks\n\nstay\nhere",
		"<ul><li>one</li><li>two</li></ul>":                      "• one\n• two",
		"<script>alert(1)</script>ok<style>p{}</style>":          "ok",
		`<a href="https://a.example/x">https://a.example/x</a>`:  "https://a.example/x",
		`<a href="https://a.example/x?y=1&amp;z">here</a>`:       "here (https://a.example/x?y=1&z)",
		`<a href="javascript:alert(1)">here</a>`:                 "here",
		`<a href="https://a.example/one two">here</a>`:           "here",
		`<a href="https://a.example">`:                           "https://a.example",
		`<a href="https://a.example/tags/x">#<span>x</span></a>`: "#x",
		`<a href="https://a.example/very/long"><span class="invisible">https://</span><span class="ellipsis">a.example/very</span><span class="invisible">/long</span></a>`: "https://a.example/very/long",
		`<a href="https://a.example/very/long">a.example/very</a>`:                                                 "https://a.example/very/long",
		`<span class="h-card"><a href="https://b.example/@ada" class="u-url mention">@<span>ada</span></a></span>`: "@ada@b.example",
		`<a href="https://b.example/@ada" class="mention">@ada@c.example</a>`:                                      "@ada@c.example",
		"<a href='https://a.example'>one<a href='https://b.example'>two</a>":                                       "one (https://a.example)two (https://b.example)",
		"":                "",
		"<":               "<",
		"</p></a></pre>x": "x",
	} {
		if got, _ := social.CleanLines(plainText(content)); got != want {
			t.Errorf("text of %s: %q, want %q", content, got, want)
		}
	}
	if got := qualifyMentions("@ada, ada@b.example and @ben@c.example", "d.example"); got != "@ada@d.example, ada@b.example and @ben@c.example" {
		t.Errorf("qualifyMentions = %q", got)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 99) + " " // 100 characters
	for typed, want := range map[string][]string{
		"":                        nil,
		" \n ":                    nil,
		"short":                   {"short"},
		strings.Repeat("x", 280):  {strings.Repeat("x", 280)},
		strings.Repeat("x", 281):  {strings.Repeat("x", 280), "x"},
		word + word + word:        {word + word[:99], word[:99]},
		strings.Repeat("👍🏽", 281): {strings.Repeat("👍🏽", 250), strings.Repeat("👍🏽", 31)}, // the first part has 2,000 bytes
		strings.Repeat("x\n", 50): {strings.TrimSpace(strings.Repeat("x\n", 40)), strings.TrimSpace(strings.Repeat("x\n", 10))},
		"a" + strings.Repeat("\u0301", 5000) + " b": {"b"}, // a character of 10 KB
	} {
		got := archiveSplit(typed)
		if len(typed) < 2000 && strings.Count(typed, "\n") < 45 || want == nil || strings.HasPrefix(typed, "👍🏽") {
			if !slices.Equal(got, want) {
				t.Errorf("archiveSplit(%.60q) = %q, want %q", typed, got, want)
			}
		}
		for _, part := range got {
			if clean, err := social.CleanBody(part); err != nil || clean != part {
				t.Errorf("archiveSplit(%.60q) has the invalid part %q: %v", typed, part, err)
			}
		}
	}
}

// A text that would become thousands of posts is left out entirely.
func TestTooLong(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	activity := func(size int) []byte {
		return fmt.Appendf(nil, `{"type":"Create","published":"2019-01-01T00:00:00Z","to":"as:Public","object":{"id":"https://a.example/1","type":"Note","content":"%s"}}`,
			strings.Repeat("x", size))
	}
	if post, reason := parse(activity(65_535), now); reason != "" || len(post.parts) != 235 {
		t.Errorf("%d parts, reason %q; want 235 parts", len(post.parts), reason)
	}
	if post, reason := parse(activity(maxItem-1000), now); reason != TooLong {
		t.Errorf("%d parts, reason %q; want TooLong", len(post.parts), reason)
	}
}

// The text of any HTML consists of valid posts and mentions no user of this site.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"<p>one</p><p>@ada <a href='https://b.example/@ben'>@ben</a></p>", "<a href=x><a><pre>\n</pre", strings.Repeat("<p>", 100) + "@ada",
		strings.Repeat("a\u0301", 300), "<a href='https://x.example/@'>@", "&#0;&#xd800;\r\n\u202e", strings.Repeat("@ada ", 100),
	} {
		f.Add(seed, "a warning @ada")
	}
	f.Fuzz(func(t *testing.T, content, warning string) {
		n := note{ID: "https://there.example/1", Content: content, Summary: warning}
		body := n.text()
		for _, part := range archiveSplit(body) {
			if clean, err := social.CleanBody(part); err != nil || clean != part || !utf8.ValidString(part) {
				t.Errorf("invalid part %q: %v", part, err)
			}
		}
		if names := text.Mentions(body); len(names) > 0 {
			t.Errorf("%q mentions %q", body, names)
		}
	})
}

// An outbox of arbitrary bytes is either read or rejected, and the recorded positions of items are
// correct.
func FuzzOutbox(f *testing.F) {
	item := `{"type":"Create","published":"2019-01-01T00:00:00Z","to":"as:Public","object":{"id":"https://a.example/1","type":"Note","content":"x","attachment":[{"url":"media_attachments/../x"}]}}`
	for _, seed := range []string{
		`{"orderedItems":[` + item + "," + item + `]}`, `{"a":[1],"orderedItems":[ ` + item + ` ]}`, `{"orderedItems":[null,1,"x",[],{}]}`, `{"orderedItems":[`, "{}", "",
		`{"orderedItems":[{"type":"Create","object":{"type":"Note","id":"x","to":[null,1,"Public"],"inReplyTo":{"id":1},"published":"2019-01-01T00:00:00+99:00"}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, outboxName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		p, err := plan(t.Context(), a, time.Unix(2e9, 0), func(archivePost) (bool, error) { return true, nil })
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Error("plan accepted invalid JSON")
		}
		for i, e := range p.entries {
			raw, err := a.read(e.item)
			if err != nil {
				t.Fatal(err)
			}
			if post, reason := parse(raw, time.Unix(2e9, 0)); reason != "" || partOf(post.source, e.part) != e.source || e.parent >= i || e.root > max(e.parent, -1) {
				t.Errorf("entry %d is %+v, but its item is %q: %s", i, e, raw, reason)
			}
		}
	})
}
