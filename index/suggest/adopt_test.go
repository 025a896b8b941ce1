package suggest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

func do(t *testing.T, client rueidis.Client, args ...string) {
	t.Helper()
	require.OK(t)(client.Do(t.Context(), client.B().Arbitrary(args...).Build()).Error())
}

// Writes refuse the tutorial's sorted set, created by hand, until Adopt has converted it.
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
			t.Fatalf("%v, want ErrForeign that suggests Adopt", err)
		}
	}
	report, err := Adopt(ctx, client, "words", Options{}, maintain.Options{})
	if !errors.Is(err, index.ErrValue) || report.Dangling != 1 || len(report.Examples) != 1 {
		t.Fatalf("Adopt: %+v, %v, want ErrValue and 1 dangling", report, err)
	}
	expect(t, entries(t, client, "words"), "[banana:273:Banana banaooo:1:banaooo bit:7 nonsense]")
	do(t, client, "ZREM", "words", "nonsense")
	if report, err := Adopt(ctx, client, "words", Options{}, maintain.Options{}); err != nil || report.Checked != 3 {
		t.Fatalf("Adopt: %+v, %v, want 3 checked", report, err)
	}
	expect(t, entries(t, client, "words"), "[banana\t273\tBanana banaooo\t1 bit\t7]")
	expect(t, complete(t, x, "b", 3), "Banana 273, bit 7, banaooo 1")
	verified(t, x)
	require.Fails(t, index.ErrNotFound)(Adopt(ctx, client, "none", Options{}, maintain.Options{}))
}

// Adopt merges the entries of a term with several spellings.
func TestAdoptSpellings(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{HalfLife: time.Hour})
	do(t, client, "ZADD", "words", "0", "banana:2:banana", "0", "banana:30:Banana", "1", "banana:5:Ba'nana", "0", "a:7:a")
	if report, err := Adopt(ctx, client, "words", x.Options(), maintain.Options{}); err != nil || report.Checked != 4 {
		t.Fatalf("Adopt: %+v, %v, want 4 checked", report, err)
	}
	expect(t, complete(t, x, "", 3), "Banana 37, a 7")
	require.Gives(t, 66)(x.Add(ctx, "banana", 29))
	expect(t, complete(t, x, "", 1), "banana 66")
	verified(t, x)
}

// failing is a client whose commands fail once left commands have been sent.
type failing struct {
	rueidis.Client
	left int
}

var errFailing = errors.New("command failed")

func (f *failing) Do(ctx context.Context, c rueidis.Completed) rueidis.RedisResult {
	if f.left--; f.left < 0 {
		return rueidis.NewErrorResult(errFailing)
	}
	return f.Client.Do(ctx, c)
}

func (f *failing) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	results := make([]rueidis.RedisResult, len(commands))
	for i, c := range commands {
		results[i] = f.Do(ctx, c)
	}
	return results
}

// An Adopt that fails after any of its commands loses no term: writes return ErrForeign until a
// second Adopt succeeds.
func TestInterruptedAdopt(t *testing.T) {
	t.Parallel()
	client, ctx := redistest.DB(t).Client(t), t.Context()
	refused := 0
	for n := 0; ; n++ {
		key := fmt.Sprint("cut", n)
		args := []string{"ZADD", key}
		for i := range 600 {
			args = append(args, "0", fmt.Sprintf("term%d:%d:Term%d", i, i+1, i))
		}
		do(t, client, args...)
		_, err := Adopt(ctx, &failing{client, n}, key, Options{Punctuation: PunctuationDrop}, maintain.Options{})
		if err == nil {
			break
		}
		if !errors.Is(err, errFailing) {
			t.Fatalf("Adopt with %d commands: %v, want %v", n, err, errFailing)
		}
		x, err := Open(ctx, client, key)
		if err == nil {
			// Only the reply to the last step was lost.
			verified(t, x)
		} else if errors.Is(err, index.ErrForeign) {
			refused++
			_, err := open(t, client, key, Options{Punctuation: PunctuationDrop}).Add(ctx, "other", 1)
			if !errors.Is(err, index.ErrForeign) || !strings.Contains(err.Error(), "retwis suggest adopt "+key) {
				t.Fatalf("Add: %v, want ErrForeign that suggests Adopt", err)
			}
		}
		require.OK(t)(Adopt(ctx, client, key, Options{Punctuation: PunctuationDrop}, maintain.Options{}))
		if x, err = Open(ctx, client, key); err != nil {
			t.Fatalf("Open after %d commands and Adopt: %v", n, err)
		}
		expect(t, complete(t, x, "t", 2), "Term599 600, Term598 599")
		require.Gives(t, 600)(x.Len(ctx))
		verified(t, x)
	}
	if refused < 3 {
		t.Errorf("writes were refused %d times, want at least 3", refused)
	}
}
