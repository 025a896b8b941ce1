package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/bench/measure"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// program builds retwis.
func program(t *testing.T) string {
	t.Helper()
	redistest.Require(t)
	path, err := measure.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// testLog writes the log of the lab to the log of a test.
type testLog struct{ t *testing.T }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

// TestQuiet runs the lab without faults: the site must keep all guarantees.
func TestQuiet(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := lab(t.Context(), options{program: program(t), length: time.Second, seed: 2, webs: 2, minReplicas: 1, noFaults: true, log: testLog{t}}, "", &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"rain", ""} {
		_, err := run(t.Context(), options{only: []string{kind}, log: testLog{t}})
		if want := fmt.Sprintf("--only %q: unknown fault; choose from cut master,", kind); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if err := lab(t.Context(), options{}, "nowhere", &bytes.Buffer{}); err == nil {
		t.Error("no error for a missing history")
	}
}

// TestSeed checks that the order of the faults depends only on the seed.
func TestSeed(t *testing.T) {
	t.Parallel()
	kinds := (&faults{}).kinds()
	order := func(seed uint64) []string { return shuffled(rand.New(rand.NewPCG(seed, 0)), kinds) }
	if !slices.Equal(order(1), order(1)) || slices.Equal(order(1), order(2)) {
		t.Error("the order of the faults differs for one seed, or is the same for two seeds")
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	a := answer{Answer: measure.Answer{Status: 200, Body: `<article class="post" data-id="7" data-replies="0" data-reposts="0" data-likes="3" id="p7"><p class="by"><a class="name" href="/u/ada" dir="auto">ada</a> <a class="when" href="/u/ada/7"></a></p><p class="body" dir="auto" lang="">it&#39;s</p><button class="post-action like" formaction="/u/ada/7/unlike"></button></article><a class="button soft" rel="next" href="/home?before=7">`}}
	got := a.posts()
	if len(got) != 1 || got[0].ID != 7 || got[0].Author != "ada" || got[0].Text != "it's" || !got[0].Liked || got[0].Likes != 3 {
		t.Errorf("the posts are %+v, want post 7 by ada with the text \"it's\", liked, and 3 likes", got)
	}
	if a.next() != "/home?before=7" {
		t.Errorf("the next page is %q, want /home?before=7", a.next())
	}
	for _, test := range []struct {
		a    answer
		want string
	}{
		{answer{Answer: measure.Answer{Status: 303, Location: "/home"}}, "ok"},
		{answer{Answer: measure.Answer{Status: 303, Location: "/login?back=%2F"}}, "refused"},
		{answer{Answer: measure.Answer{Status: 404}}, "refused"},
		{answer{Answer: measure.Answer{Status: 503}}, "unknown"},
		{answer{err: os.ErrDeadlineExceeded}, "unknown"},
	} {
		if got, _ := test.a.outcome(); string(got) != test.want {
			t.Errorf("the outcome of %+v is %s, want %s", test.a, got, test.want)
		}
	}
}
