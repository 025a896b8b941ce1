// Package measure is what the benchmarks share: servers and programs to measure, meters of
// time and memory, and tables of medians.
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

// Options are how long and how often to measure, and what with.
type Options struct {
	Dir       string        // of the files of a measurement, empty
	Rounds    int           // of each side; the medians are reported
	Length    time.Duration // of a load
	Users     int           // of the sample network
	Followers int           // of the author of the fanned-out post
	Records   int           // commands of a mass insertion
	Stored    int           // records to query, and terms to complete
}

// Defaults are what "make bench" measures.
var Defaults = Options{
	Rounds: 7, Length: 2 * time.Second, Users: 1000, Followers: 100_000, Records: 2_000_000, Stored: 1_000_000,
}

// Meter reads a value that grows.
type Meter func() (float64, error)

// Clock reads microseconds.
func Clock() (float64, error) { return float64(time.Since(started).Nanoseconds()) / 1e3, nil }

var started = time.Now()

// By measures how much values grow in a run, for each of n repetitions in it.
func By(n int, run func() error, meters ...Meter) func() ([]float64, error) {
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

// PerSecond replaces the first value, the microseconds of each repetition, by repetitions a second.
func PerSecond(measure func() ([]float64, error)) func() ([]float64, error) {
	return func() ([]float64, error) {
		costs, err := measure()
		if err == nil {
			costs[0] = 1e6 / costs[0]
		}
		return costs, err
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

// Concurrently calls f for each number below n, from several goroutines, until one returns an error.
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

// Side is one way to do something, which is compared with the one of number Base.
type Side struct {
	Name    string
	Base    int // negative: it is compared with none
	Measure func() ([]float64, error)
}

// InTurn measures every side in each round, so that changes of the machine's speed affect all
// of them. It returns the values of each side, by number and round.
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

// Table compares sides in turn.
type Table struct {
	Rounds int
	// Head names the columns. One named "ratio" is the median of the rounds' ratios of the
	// column before it to that of the base.
	Head    []string
	Formats []string // of the other columns but the first; an empty one is for thousands
	Sides   []Side
}

// Write measures the sides and writes a row for each.
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

func format(how string, v float64) string {
	if how == "" {
		return Thousands(int(v + 0.5))
	}
	return fmt.Sprintf(how, v)
}

// Head begins a table. All columns but the first are numbers.
func Head(out io.Writer, columns ...string) {
	Row(out, columns...)
	fmt.Fprintf(out, "| ---%s |\n", strings.Repeat(" | ---:", len(columns)-1))
}

// Row writes a row of a table.
func Row(out io.Writer, cells ...string) {
	for _, cell := range cells {
		fmt.Fprint(out, strings.TrimRight("| "+cell, " "), " ")
	}
	fmt.Fprintln(out, "|")
}

// Median returns the median.
func Median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// MedianRatio returns the median of the rounds' ratios.
func MedianRatio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return Median(ratios)
}

// Result is how long repetitions took.
type Result struct {
	Count     int
	PerSecond float64
	P50, P99  float64 // ms
}

// Summarize returns the result of repetitions within a time. It sorts them.
func Summarize(all []time.Duration, elapsed time.Duration) (Result, error) {
	if len(all) == 0 {
		return Result{}, errors.New("nothing was measured")
	}
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	return Result{len(all), float64(len(all)) / elapsed.Seconds(), ms(all[len(all)/2]), ms(all[len(all)*99/100])}, nil
}

// Milliseconds is the format of times.
const Milliseconds = "%.2f ms"

// Thousands formats a number with commas.
func Thousands(n int) string { return humanize.Comma(int64(n)) }
