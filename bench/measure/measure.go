// Package measure is shared by the benchmarks: it starts servers and programs, reads time and
// memory, and prints tables of medians.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"
)

// Options sets the size of the measurements.
type Options struct {
	Dir       string        // an empty directory for files
	Rounds    int           // how often each side is measured; medians are reported
	Length    time.Duration // duration of each load
	Users     int           // size of the sample network
	Followers int           // number of followers of the author whose post is fanned out
	Records   int           // number of commands in a mass insertion
	Stored    int           // number of records to query and terms to complete
}

// Defaults are the options of "make bench".
var Defaults = Options{
	Rounds: 7, Length: 2 * time.Second, Users: 1000, Followers: 100_000, Records: 2_000_000, Stored: 1_000_000,
}

// Meter reads a counter.
type Meter func() (float64, error)

// Clock reads the wall clock in microseconds.
func Clock() (float64, error) { return float64(time.Since(started).Nanoseconds()) / 1e3, nil }

var started = time.Now()

// PerOp returns a function that measures how much the meters advance during a run of n operations,
// per operation.
func PerOp(n int, run func() error, meters ...Meter) func() ([]float64, error) {
	return func() ([]float64, error) {
		costs := make([]float64, len(meters))
		read := func(sign float64) error {
			for i, meter := range meters {
				value, err := meter()
				if err != nil {
					return err
				}
				costs[i] += sign * value / float64(n)
			}
			return nil
		}
		for _, step := range []func() error{func() error { return read(-1) }, run, func() error { return read(1) }} {
			if err := step(); err != nil {
				return nil, err
			}
		}
		return costs, nil
	}
}

// PerSecond converts the first value from microseconds per operation to operations per second.
func PerSecond(measure func() ([]float64, error)) func() ([]float64, error) {
	return func() ([]float64, error) {
		costs, err := measure()
		if err == nil {
			costs[0] = 1e6 / costs[0]
		}
		return costs, err
	}
}

// Repeat returns a function that calls run n times, or until it fails.
func Repeat(n int, run func() error) func() error {
	return func() error {
		for range n {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	}
}

// Concurrently calls f for each number below n from several goroutines, and stops at the first error.
func Concurrently(goroutines, n int, f func(i int) error) error {
	var next atomic.Int64
	all, ctx := errgroup.WithContext(context.Background())
	for range goroutines {
		all.Go(func() error {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// Side is one of the implementations that a table compares.
type Side struct {
	Name    string
	Base    int // the index of the side to compare with; negative for none
	Measure func() ([]float64, error)
}

// InTurn measures every side in each round, so that changes in the speed of the machine affect all
// sides. The result is indexed by side, value and round.
func InTurn(rounds int, sides []Side) ([][][]float64, error) {
	values := make([][][]float64, len(sides))
	for range rounds {
		for i, s := range sides {
			all, err := s.Measure()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			if values[i] == nil {
				values[i] = make([][]float64, len(all))
			}
			for j, v := range all {
				values[i][j] = append(values[i][j], v)
			}
		}
	}
	return values, nil
}

// Table measures sides and compares them.
type Table struct {
	Rounds int
	// Head names the columns. A "ratio" column compares the previous column with the same column
	// of the base: its cells are medians of the ratios of all rounds.
	Head    []string
	Formats []string // formats of all columns but the first and the ratios; "" means Thousands
	Sides   []Side
}

// Write measures the sides and writes one row per side.
func (t Table) Write(out io.Writer) error {
	values, err := InTurn(t.Rounds, t.Sides)
	if err != nil {
		return err
	}
	Head(out, t.Head...)
	for i, s := range t.Sides {
		row, at := []string{s.Name}, 0
		for _, column := range t.Head[1:] {
			cell := ""
			switch {
			case column != "ratio":
				cell = format(t.Formats[at], Median(values[i][at]))
				at++
			case s.Base >= 0:
				cell = fmt.Sprintf("**%.2f**", MedianRatio(values[i][at-1], values[s.Base][at-1]))
			}
			row = append(row, cell)
		}
		Row(out, row...)
	}
	fmt.Fprintln(out)
	return nil
}

func format(layout string, v float64) string {
	if layout == "" {
		return Thousands(int(v + 0.5))
	}
	return fmt.Sprintf(layout, v)
}

// Head writes the head of a Markdown table. All columns but the first are right-aligned.
func Head(out io.Writer, columns ...string) {
	Row(out, columns...)
	fmt.Fprintf(out, "| ---%s |\n", strings.Repeat(" | ---:", len(columns)-1))
}

// Row writes a table row.
func Row(out io.Writer, cells ...string) {
	for _, cell := range cells {
		fmt.Fprint(out, strings.TrimRight("| "+cell, " "), " ")
	}
	fmt.Fprintln(out, "|")
}

// Median returns the median of values.
func Median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// MedianRatio returns the median of the ratios a[i]/b[i].
func MedianRatio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return Median(ratios)
}

// Result summarizes the durations of operations.
type Result struct {
	Count     int
	PerSecond float64
	P50, P99  float64 // ms
}

// Summarize summarizes the durations of the operations of a run that took elapsed. It sorts
// durations in place.
func Summarize(durations []time.Duration, elapsed time.Duration) (Result, error) {
	n := len(durations)
	if n == 0 {
		return Result{}, errors.New("nothing was measured")
	}
	slices.Sort(durations)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	return Result{n, float64(n) / elapsed.Seconds(), ms(durations[n/2]), ms(durations[n*99/100])}, nil
}

// Milliseconds is the format of durations.
const Milliseconds = "%.2f ms"

// Thousands formats a number with thousands separators.
func Thousands(n int) string { return humanize.Comma(int64(n)) }
