package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"retwis/bench/lab/check"
	"retwis/bench/lab/history"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// report is the result of a run.
type report struct {
	Seed     uint64           `json:"seed"`
	Seconds  float64          `json:"seconds"`
	Kinds    []kindReport     `json:"operations"`
	Faults   map[string]int   `json:"faults"`
	Verdict  check.Verdict    `json:"verdict"`
	Database databaseReport   `json:"check"`
	Lists    listsReport      `json:"lists"`
	Bounds   check.Bounds     `json:"bounds"`
	Planted  map[string]int   `json:"planted,omitempty"`
	Slowest  map[string]int64 `json:"longest_fault_ms"`
	Passed   bool             `json:"passed"`
	Failures []string         `json:"failures,omitempty"`
	History  string           `json:"history,omitempty"` // the file
}

// databaseReport is what retwis check has found in the end.
type databaseReport struct {
	Ran       bool     `json:"ran"`
	Problems  int      `json:"problems"`  // before a repair
	Leftovers int      `json:"leftovers"` // of follows, blocks and lists of posts, before a repair
	Left      int      `json:"left"`      // problems after it
	First     []string `json:"first,omitempty"`
}

// kindReport is about the operations of one kind.
type kindReport struct {
	Kind    history.Kind `json:"kind"`
	N       int          `json:"n"`
	Refused int          `json:"refused"`
	Unknown int          `json:"unknown"`
	Quiet   quantiles    `json:"quiet"`
	Faulty  quantiles    `json:"in_faults"`
}

type quantiles struct {
	N   int           `json:"n"`
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

func quantilesOf(all []time.Duration) quantiles {
	if len(all) == 0 {
		return quantiles{}
	}
	slices.Sort(all)
	return quantiles{len(all), all[len(all)/2], all[len(all)*99/100]}
}

func newReport(h history.History, b check.Bounds) report {
	r := report{Faults: map[string]int{}, Bounds: b, Slowest: map[string]int64{}}
	type times struct{ quiet, faulty []time.Duration }
	kinds, all := map[history.Kind]*kindReport{}, map[history.Kind]*times{}
	for _, f := range h.Faults {
		r.Faults[f.Kind]++
		r.Slowest[f.Kind] = max(r.Slowest[f.Kind], (f.End - f.Start).Milliseconds())
	}
	for _, op := range h.Ops {
		if op.Final {
			continue
		}
		k := kinds[op.Kind]
		if k == nil {
			k = &kindReport{Kind: op.Kind}
			kinds[op.Kind], all[op.Kind] = k, &times{}
		}
		k.N++
		switch op.Outcome {
		case history.Refused:
			k.Refused++
		case history.Unknown:
			k.Unknown++
		}
		faulty := slices.ContainsFunc(h.Faults, func(f history.Fault) bool { return f.Start <= op.End && op.Start <= f.End+b.Settle })
		if faulty {
			all[op.Kind].faulty = append(all[op.Kind].faulty, op.End-op.Start)
		} else {
			all[op.Kind].quiet = append(all[op.Kind].quiet, op.End-op.Start)
		}
	}
	for _, kind := range sortedKeys(kinds) {
		k := kinds[kind]
		k.Quiet, k.Faulty = quantilesOf(all[kind].quiet), quantilesOf(all[kind].faulty)
		r.Kinds = append(r.Kinds, *k)
	}
	r.Verdict = check.Check(h, b)
	return r
}

// judge decides whether a run passes.
func (r *report) judge() {
	if n := len(r.Verdict.Violations); n > 0 {
		r.Failures = append(r.Failures, fmt.Sprintf("%d violations", n))
	}
	if r.Verdict.Judged == 0 {
		r.Failures = append(r.Failures, "nothing was judged")
	}
	if n := r.Lists.wrong(); n > 0 {
		r.Failures = append(r.Failures, fmt.Sprintf("%d entries of followers' home timelines are wrong", n))
	}
	if n := r.Database.Leftovers; n > 0 {
		r.Failures = append(r.Failures, fmt.Sprintf("retwis check finds %d leftovers of follows, blocks and lists of posts", n))
	}
	switch {
	case r.Database.Left > 0:
		r.Failures = append(r.Failures, fmt.Sprintf("retwis check finds %d problems after a repair", r.Database.Left))
	case r.Database.Problems > 0 && r.Verdict.AtRisk == 0:
		r.Failures = append(r.Failures, fmt.Sprintf("retwis check finds %d problems, and Redis has lost nothing", r.Database.Problems))
	}
	r.Passed = len(r.Failures) == 0
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// print writes the report for people.
func (r report) print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "operation\tn\trefused\tunknown\tp50 ms\tp99 ms\tin faults: n\tp50 ms\tp99 ms\t")
	for _, k := range r.Kinds {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s\t%d\t%s\t%s\t\n", k.Kind, k.N, k.Refused, k.Unknown,
			ms(k.Quiet.P50), ms(k.Quiet.P99), k.Faulty.N, ms(k.Faulty.P50), ms(k.Faulty.P99))
	}
	table.Flush()
	fmt.Fprintln(w)
	for _, kind := range sortedKeys(r.Faults) {
		fmt.Fprintf(w, "%4d x %s (the longest %.1f s)\n", r.Faults[kind], kind, float64(r.Slowest[kind])/1000)
	}
	for _, name := range sortedKeys(r.Planted) {
		fmt.Fprintf(w, "%4d x planted: %s\n", r.Planted[name], name)
	}
	v := r.Verdict
	fmt.Fprintf(w, "\n%d judgements of pages. Others saw changes late in %d reads (p99 %s ms, worst %s ms),\nand in %d reads around faults (p99 %s ms, worst %s ms).\n",
		v.Judged, v.Quiet.Stale, ms(v.Quiet.P99), ms(v.Quiet.Worst), v.Faulty.Stale, ms(v.Faulty.P99), ms(v.Faulty.Worst))
	fmt.Fprintf(w, "%d acknowledged writes came when Redis may lose some; it has lost %d posts of processes that died too.\n", v.AtRisk, v.Gone)
	if r.Database.Ran {
		fmt.Fprintf(w, "retwis check: %d problems, %d left after a repair; %d lasting leftovers.\n", r.Database.Problems, r.Database.Left, r.Database.Leftovers)
	} else {
		fmt.Fprintln(w, "retwis check was not run.")
	}
	for _, line := range r.Database.First {
		fmt.Fprintln(w, "   ", line)
	}
	if l := r.Lists; l.Lists > 0 {
		fmt.Fprintf(w, "%d home timelines of followers with %d posts each: %d entries are missing, %d double.\n", l.Lists, l.Posts, l.Missing, l.Twice)
	}
	for _, line := range r.Lists.First {
		fmt.Fprintf(w, "    %.200s\n", line)
	}
	for _, violation := range v.Violations {
		fmt.Fprintf(w, "%s: %s\n", violation.Rule, violation.Text)
	}
	if r.History != "" {
		fmt.Fprintln(w, "the history is in", r.History)
	}
	if r.Passed {
		fmt.Fprintf(w, "passed: %.0f s with seed %d\n", r.Seconds, r.Seed)
		return
	}
	for _, failure := range r.Failures {
		fmt.Fprintln(w, "failed:", failure)
	}
	fmt.Fprintf(w, "failed after %.0f s with seed %d\n", r.Seconds, r.Seed)
}
