package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"retwis/bench/lab/check"
	"retwis/bench/lab/history"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// report is the result of a run.
type report struct {
	Seed     uint64
	Seconds  float64
	Outcomes map[history.Kind]map[history.Outcome]int // number of operations
	Faults   map[string]int                           // number of faults by kind
	Slowest  map[string]time.Duration                 // the longest fault of each kind
	Verdict  check.Verdict
	Database databaseReport
	Lists    listsReport
	Failures []string
	History  string // the file, if the run failed
}

func newReport(h history.History) report {
	r := report{Outcomes: map[history.Kind]map[history.Outcome]int{}, Faults: map[string]int{}, Slowest: map[string]time.Duration{}}
	for _, f := range h.Faults {
		r.Faults[f.Kind]++
		r.Slowest[f.Kind] = max(r.Slowest[f.Kind], f.End-f.Start)
	}
	for _, op := range h.Ops {
		if r.Outcomes[op.Kind] == nil {
			r.Outcomes[op.Kind] = map[history.Outcome]int{}
		}
		r.Outcomes[op.Kind][op.Outcome]++
	}
	r.Verdict = check.Check(h, check.Default)
	return r
}

// judge decides whether a run passes.
func (r *report) judge() {
	failIf := func(failed bool, format string, n ...any) {
		if failed {
			r.Failures = append(r.Failures, fmt.Sprintf(format, n...))
		}
	}
	v, d, lists := r.Verdict, r.Database, r.Lists.wrong()
	failIf(len(v.Violations) > 0, "%d violations", len(v.Violations))
	failIf(v.Judged == 0, "no page was checked")
	failIf(lists > 0, "%d entries of followers' home timelines are wrong", lists)
	failIf(d.Leftovers > 0, "retwis check finds %d leftovers of follows, blocks and lists of posts", d.Leftovers)
	failIf(d.Left > 0, "retwis check finds %d problems after a repair", d.Left)
	failIf(d.Left == 0 && d.Problems > 0 && v.AtRisk == 0, "retwis check finds %d problems although Redis has lost nothing", d.Problems)
}

func (r *report) passed() bool { return len(r.Failures) == 0 }

// print writes the report as text.
func (r report) print(w io.Writer) {
	for _, kind := range sortedKeys(r.Outcomes) {
		n := r.Outcomes[kind]
		fmt.Fprintf(w, "%5d x %s; %d refused, %d with unknown outcome\n", n[history.OK]+n[history.Refused]+n[history.Unknown], kind, n[history.Refused], n[history.Unknown])
	}
	for _, kind := range sortedKeys(r.Faults) {
		fmt.Fprintf(w, "%5d x %s (at most %.1f s)\n", r.Faults[kind], kind, r.Slowest[kind].Seconds())
	}
	v, d, l := r.Verdict, r.Database, r.Lists
	fmt.Fprintf(w, "%d comparisons of pages with the expected state.\n", v.Judged)
	fmt.Fprintf(w, "%d acknowledged writes were at risk of being lost by Redis; it lost %d posts whose web process was killed too.\n", v.AtRisk, v.Gone)
	if d.Ran {
		fmt.Fprintf(w, "retwis check: %d problems, %d left after the repair; %d permanent leftovers.\n", d.Problems, d.Left, d.Leftovers)
	} else {
		fmt.Fprintln(w, "retwis check was not run.")
	}
	fmt.Fprintf(w, "%d home timelines of followers with %d posts each: %d entries missing, %d duplicated.\n", l.Lists, l.Posts, l.Missing, l.Twice)
	for _, line := range slices.Concat(d.First, l.First) {
		fmt.Fprintf(w, "    %.200s\n", line)
	}
	for _, violation := range v.Violations {
		fmt.Fprintf(w, "%s: %s\n", violation.Rule, violation.Text)
	}
	if r.passed() {
		fmt.Fprintf(w, "passed: %.0f s with seed %d\n", r.Seconds, r.Seed)
		return
	}
	for _, failure := range r.Failures {
		fmt.Fprintln(w, "failed:", failure)
	}
	fmt.Fprintf(w, "failed after %.0f s with seed %d; the history is in %s\n", r.Seconds, r.Seed, r.History)
}
