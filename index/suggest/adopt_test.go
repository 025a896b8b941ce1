package suggest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/maintain"
)

func do(t *testing.T, client rueidis.Client, words ...string) {
	t.Helper()
	if err := client.Do(t.Context(), client.B().Arbitrary(words...).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// older writes an index of the older version, in which all spellings were one term: 300
// terms, and one that was "Rock'n'Roll".
func older(t *testing.T, client rueidis.Client, x *Index, declaration string) {
	t.Helper()
	for _, k := range x.completer.keys {
		do(t, client, "HSET", k.Meta, "kind", "suggest", "declaration", declaration, "partitions", fmt.Sprint(len(x.completer.keys)))
	}
	do(t, client, "HSET", x.set.Key+".meta", "kind", "suggest", "declaration", declaration, "partitions", fmt.Sprint(len(x.completer.keys)))
	put := func(name string, count int, original string) {
		k := x.completer.keys[x.set.Index(name)]
		do(t, client, "ZADD", k.Index, "0", fmt.Sprintf("%s:%d:%s", name, count, original))
		do(t, client, "HSET", k.Content, name, fmt.Sprintf("%d:%s", count, original))
		do(t, client, "HSET", k.cache, name[:1], "\n"+name[1:]+"\n")
	}
	for i := range 300 {
		put(fmt.Sprintf("term%d", i), i+1, fmt.Sprintf("Term%d", i))
	}
	put("rock n roll", 1000, "Rock'n'Roll")
	do(t, client, "SADD", x.completer.keys[x.set.Index("damn ıt")].blocked, "damn ıt")
	// An entry without its field in the hash, and an orphaned one.
	k := x.completer.keys[x.set.Index("term7")]
	do(t, client, "HDEL", k.Content, "term7")
	k = x.completer.keys[x.set.Index("term8")]
	do(t, client, "ZADD", k.Index, "0", "term8:7000:Term8")
}

// An index of the older version is refused with an error that says what to do. After the
// adoption it has the same terms, even if the adoption was interrupted.
func TestAdoptOlder(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			client, ctx := redistest.DB(t).Client(t), t.Context()
			x := open(t, client, "words", Options{Partitions: partitions})
			older(t, client, x, "")
			_, addErr := x.Add(ctx, "new", 1)
			_, openErr := Open(ctx, client, "words")
			_, completeErr := x.Complete(ctx, "t", 1)
			_, verifyErr := x.Verify(ctx, maintain.Options{})
			for _, err := range []error{addErr, openErr, completeErr, verifyErr} {
				if !errors.Is(err, ErrOutdated) || !strings.Contains(err.Error(), `"retwis suggest adopt words"`) {
					t.Fatalf("%v", err)
				}
			}
			cut, cancel := context.WithCancel(ctx)
			if _, err := Adopt(cut, client, "words", Options{}, maintain.Options{Progress: func(maintain.Progress) { cancel() }}); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if _, err := x.Add(ctx, "new", 1); !errors.Is(err, ErrOutdated) {
				t.Fatal(err)
			}
			report, err := Adopt(ctx, client, "words", Options{}, maintain.Options{})
			if err != nil || report.Checked != 301 || report.Problems() != 0 {
				t.Fatalf("%+v, %v", report, err)
			}
			if report, err := Adopt(ctx, client, "words", Options{}, maintain.Options{}); err != nil || report.Checked != 0 {
				t.Fatalf("again: %+v, %v", report, err)
			}
			y, err := Open(ctx, client, "words")
			if err != nil || y.Options().Partitions != partitions {
				t.Fatal(err)
			}
			verified(t, y)
			checkLists(t, y)
			expect(t, complete(t, y, "rocknroll", 1), "Rock'n'Roll 1000")
			expect(t, complete(t, y, "t", 2), "Term299 300, Term298 299")
			expect(t, complete(t, y, "term7", 2), "Term79 80, Term78 79")
			expect(t, complete(t, y, "term8 ", 2), "Term8 9")
			if got, err := y.Get(ctx, "Term7"); err != nil || got.Count != 8 {
				t.Fatal(got, err)
			}
			if n, err := y.Add(ctx, "Damn it", 1); err != nil || n != 0 {
				t.Fatal(n, err)
			}
			if blocked, err := y.Blocked(ctx); err != nil || fmt.Sprint(blocked) != "[damn it]" {
				t.Fatal(blocked, err)
			}
			addAll(t, y, "Term299", "term299")
			expect(t, complete(t, y, "term299", 2), "Term299 301, term299 1")
		})
	}
}

// An adoption that was interrupted after some partitions resumes with the others.
func TestAdoptGoesOn(t *testing.T) {
	t.Parallel()
	client, ctx := redistest.DB(t).Client(t), t.Context()
	x := open(t, client, "words", Options{Partitions: 3, Punctuation: PunctuationDrop})
	older(t, client, x, "punctuation drop")
	a, err := newAdoption(ctx, client, "words", Options{}, maintain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.make(ctx); err != nil {
		t.Fatal(err)
	}
	if err := a.step(ctx, 1, "end"); err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(ctx, client, "words", Options{}, maintain.Options{}); err != nil {
		t.Fatal(err)
	}
	y, err := Open(ctx, client, "words")
	if err != nil || y.Options().Punctuation != PunctuationDrop {
		t.Fatal(err)
	}
	if n, err := y.Len(ctx); err != nil || n != 301 {
		t.Fatal(n, err)
	}
	verified(t, y)
}

// The tutorial's sorted set, made by hand, is refused and can be adopted.
func TestAdoptTutorial(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	do(t, client, "ZADD", "words", "0", "banana:273:Banana", "0", "banaooo:1:banaooo", "0", "bit:7", "0", "nonsense")
	for _, err := range []error{
		func() error { _, err := x.Add(ctx, "banana", 1); return err }(),
		func() error { _, err := x.Remove(ctx, "banana"); return err }(),
		func() error { _, err := x.Repair(ctx, maintain.Options{}); return err }(),
		func() error { _, err := x.Rebuild(ctx, sourceOf(nil, nil), maintain.Options{}); return err }(),
		x.Block(ctx, "banana"),
	} {
		if !errors.Is(err, index.ErrForeign) || !strings.Contains(err.Error(), "retwis suggest adopt words") {
			t.Fatal(err)
		}
	}
	report, err := Adopt(ctx, client, "words", Options{}, maintain.Options{})
	if !errors.Is(err, index.ErrValue) || report.Dangling != 1 || len(report.Examples) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	expect(t, entries(t, client, "words"), "[banana:273:Banana banaooo:1:banaooo bit:7 nonsense]")
	do(t, client, "ZREM", "words", "nonsense")
	if report, err := Adopt(ctx, client, "words", Options{}, maintain.Options{}); err != nil || report.Checked != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	expect(t, entries(t, client, "words"), "[banana:Banana:273 banaooo::1 bit::7]")
	expect(t, complete(t, x, "b", 3), "Banana 273, bit 7, banaooo 1")
	verified(t, x)
	if _, err := Adopt(ctx, client, "none", Options{}, maintain.Options{}); !errors.Is(err, index.ErrNotFound) {
		t.Fatal(err)
	}
}
