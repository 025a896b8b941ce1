package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/bench/lab/check"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// program builds retwis.
func program(t *testing.T) string {
	t.Helper()
	redistest.Require(t)
	path := filepath.Join(t.TempDir(), "retwis")
	build := exec.Command("go", "build", "-o", path, "./cmd/retwis")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build retwis: %v\n%s", err, out)
	}
	return path
}

// logOf writes what the lab says to the log of a test.
type logOf struct{ t *testing.T }

func (l logOf) Write(line []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

// The checker finds each fault that is planted, and names the rule that it breaks.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	bounds := check.Default
	bounds.Quiet = time.Second
	r, err := run(t.Context(), options{
		program: program(t), length: time.Second, seed: 2, webs: 2, people: 8, rate: 50, rest: time.Second, minReplicas: 1,
		noFaults: true, plants: sortedKeys(plants), bounds: bounds, log: logOf{t}, history: filepath.Join(t.TempDir(), "history"),
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, v := range r.Verdict.Violations {
		found[v.Rule]++
	}
	for plant, rules := range map[string][]string{
		"lost-post":    {check.Lost},
		"double-post":  {check.Twice},
		"missing":      {check.Lost, check.OwnWrites},
		"stale-home":   {check.OwnWrites},
		"lost-delete":  {check.Deleted},
		"lost-block":   {check.Blocked},
		"lost-log-out": {check.SessionOpen},
	} {
		if r.Planted[plant] == 0 {
			t.Errorf("%s was not planted", plant)
		}
		for _, rule := range rules {
			if found[rule] == 0 {
				t.Errorf("%s was planted and no rule %q is broken: %v", plant, rule, found)
			}
		}
	}
	if r.Passed {
		t.Error("the run passes")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := options{program: "retwis", length: time.Second, webs: 3, people: 5, rate: 1, rest: time.Second, noFaults: true, log: logOf{t}}
	for _, test := range []struct {
		change func(o *options)
		want   string
	}{
		{func(o *options) { o.webs = 0 }, "must be positive"},
		{func(o *options) { o.people = 1 }, "two people"},
		{func(o *options) { o.followers, o.celebrity = 100, 104 }, "--celebrity-followers must be"},
		{func(o *options) { o.plants = []string{"weeds"} }, `--plant "weeds": there are double-post,`},
		{func(o *options) { o.only = []string{"rain"} }, `--only "rain": there are cut master,`},
		{func(o *options) { o.only = []string{"kill worker"} }, `--only "kill worker": there are`}, // without workers
	} {
		opt := good
		test.change(&opt)
		if _, err := run(t.Context(), opt); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("the error is %v, not one with %q", err, test.want)
		}
	}
	if err := lab(t.Context(), good, "nowhere", &bytes.Buffer{}); err == nil {
		t.Error("a history that does not exist is judged")
	}
}

// A seed decides the order of the faults.
func TestSeed(t *testing.T) {
	t.Parallel()
	kinds := (&faults{}).kinds()
	order := func(seed uint64) []string { return shuffled(rand.New(rand.NewPCG(seed, 0)), kinds) }
	if !slices.Equal(order(1), order(1)) || slices.Equal(order(1), order(2)) {
		t.Error("the order of faults does not depend on the seed alone")
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	a := answer{status: 200, body: `<article class="post" data-id="7" data-replies="0" data-reposts="0" data-likes="3" id="p7"><p class="by"><a class="name" href="/u/ada" dir="auto">ada</a> <a class="when" href="/u/ada/7"></a></p><p class="body" dir="auto">it&#39;s</p><button class="post-action like" formaction="/u/ada/7/unlike"></button></article><a class="button soft" rel="next" href="/home?before=7">`}
	got := a.posts()
	if len(got) != 1 || got[0].ID != 7 || got[0].Author != "ada" || got[0].Text != "it's" || !got[0].Liked || got[0].Likes != 3 {
		t.Errorf("the page shows %+v", got)
	}
	if a.next() != "/home?before=7" {
		t.Errorf("the next page is %q", a.next())
	}
	for _, test := range []struct {
		a    answer
		want string
	}{
		{answer{status: 303, location: "/home"}, "ok"},
		{answer{status: 303, location: "/login?back=%2F"}, "refused"},
		{answer{status: 404}, "refused"},
		{answer{status: 503}, "unknown"},
		{answer{err: os.ErrDeadlineExceeded}, "unknown"},
	} {
		if got, _ := test.a.outcome(); string(got) != test.want {
			t.Errorf("%+v is %s", test.a, got)
		}
	}
	if !slices.IsSorted(sortedKeys(plants)) {
		t.Error("the names are not in order")
	}
}
