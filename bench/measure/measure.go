// Package measure is what the benchmarks share: servers to measure on, meters of time and
// memory, and tables of medians.
package measure

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options are how long and how often to measure, and what with.
type Options struct {
	Dir       string        // of the files of a measurement, empty
	Out       string        // of the page, for pictures
	Rounds    int           // of each side; the medians are reported
	Length    time.Duration // of a load
	Users     int           // of the sample network
	Followers int           // of the author of the fanned-out post
	Records   int           // commands of a mass insertion
	Stored    int           // records to query, and terms to complete
	Before    string        // a program of an earlier version, or empty
}

// Defaults are what "make bench" measures.
var Defaults = Options{
	Rounds: 7, Length: 2 * time.Second, Users: 1000, Followers: 100_000, Records: 2_000_000, Stored: 1_000_000,
}

// Meter measures what one run costs.
type Meter func(run func() error) (float64, error)

// Clock returns the microseconds of each of n repetitions.
func Clock(n int) Meter {
	return func(run func() error) (float64, error) {
		began := time.Now()
		err := run()
		return float64(time.Since(began).Nanoseconds()) / 1e3 / float64(n), err
	}
}

// Rate returns how many of n repetitions there are in a second.
func Rate(n int) Meter {
	return func(run func() error) (float64, error) {
		began := time.Now()
		err := run()
		return float64(n) / time.Since(began).Seconds(), err
	}
}

// Times repeats a run.
func Times(n int, run func() error) func() error {
	return func() error {
		for range n {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	}
}

// Concurrently calls f for each number below n, from several goroutines.
func Concurrently(goroutines, n int, f func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// InTurn measures every side in each round, so that changes of the machine's speed affect
// all of them. It returns the values of each side, by round.
func InTurn[S, V any](rounds int, sides []S, one func(side S, round int) (V, error)) ([][]V, error) {
	values := make([][]V, len(sides))
	for round := range rounds {
		for i, side := range sides {
			v, err := one(side, round)
			if err != nil {
				return nil, err
			}
			values[i] = append(values[i], v)
		}
	}
	return values, nil
}

// Side is one way to do something, which is compared with the one of number Base.
type Side struct {
	Name   string
	Base   int
	Before func() error // not measured; may be nil
	Run    func() error
}

// Comparison measures sides in turn.
type Comparison struct {
	Rounds int
	Sides  []Side
	Meter  Meter
	Format string // of a median; empty for thousands
}

// Write measures, and writes a row for each side: its name, its median, and the ratio to the
// median of its base.
func (c Comparison) Write(out io.Writer) error {
	values, err := InTurn(c.Rounds, c.Sides, func(s Side, _ int) (float64, error) {
		if s.Before != nil {
			if err := s.Before(); err != nil {
				return 0, err
			}
		}
		v, err := c.Meter(s.Run)
		if err != nil {
			err = fmt.Errorf("%s: %w", s.Name, err)
		}
		return v, err
	})
	if err != nil {
		return err
	}
	for i, s := range c.Sides {
		median := Median(values[i])
		text := Thousands(int(median + 0.5))
		if c.Format != "" {
			text = fmt.Sprintf(c.Format, median)
		}
		fmt.Fprintf(out, "| %s | %s | **%.2f** |\n", s.Name, text, median/Median(values[s.Base]))
	}
	fmt.Fprintln(out)
	return nil
}

// Head begins a table. All columns but the first are numbers.
func Head(out io.Writer, columns ...string) {
	for _, column := range columns {
		fmt.Fprint(out, strings.TrimRight("| "+column, " "), " ")
	}
	fmt.Fprintf(out, "|\n| ---%s |\n", strings.Repeat(" | ---:", len(columns)-1))
}

// Median returns the median.
func Median[V cmp.Ordered](values []V) V { return slices.Sorted(slices.Values(values))[len(values)/2] }

// MedianRatio returns the median of the rounds' ratios.
func MedianRatio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return Median(ratios)
}

// Each returns a number of each value.
func Each[V any](values []V, number func(V) float64) []float64 {
	numbers := make([]float64, len(values))
	for i, v := range values {
		numbers[i] = number(v)
	}
	return numbers
}

// Result is how long repetitions took.
type Result struct {
	Count     int
	PerSecond float64
	Mean      time.Duration
	P50, P99  time.Duration
}

// Summarize returns the result of repetitions within a time. It sorts them.
func Summarize(all []time.Duration, elapsed time.Duration) (Result, error) {
	if len(all) == 0 {
		return Result{}, errors.New("nothing was measured")
	}
	slices.Sort(all)
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return Result{
		Count:     len(all),
		PerSecond: float64(len(all)) / elapsed.Seconds(),
		Mean:      sum / time.Duration(len(all)),
		P50:       all[len(all)/2],
		P99:       all[len(all)*99/100],
	}, nil
}

// MedianResult returns the round with the median throughput, with the median p99.
func MedianResult(rounds []Result) Result {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b Result) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
	r := sorted[len(sorted)/2]
	r.P99 = time.Duration(Median(Each(rounds, func(r Result) float64 { return float64(r.P99) })))
	return r
}

// Milliseconds formats a time.
func Milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

// Thousands formats a number with commas.
func Thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
