package maintain_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	engine "retwis/internal/maintain"
	"retwis/maintain"
)

func TestFound(t *testing.T) {
	t.Parallel()
	kinds := []maintain.Kind{
		maintain.Missing, maintain.Stale, maintain.Stale, maintain.Dangling, maintain.Invalid, maintain.Taken,
		maintain.Missing, maintain.Missing, maintain.Missing, maintain.Missing, maintain.Missing, maintain.Missing,
	}
	for examples, want := range map[int]int{0: 10, 3: 3, 100: len(kinds), -1: 0} {
		r := engine.Start(maintain.Options{Examples: examples})
		for _, kind := range kinds {
			r.Found(maintain.Problem{Kind: kind})
		}
		report := r.Report
		if report.Missing != 7 || report.Stale != 2 || report.Dangling != 1 || report.Invalid != 2 || report.Problems() != int64(len(kinds)) {
			t.Errorf("report %+v", report)
		}
		if len(report.Examples) != want {
			t.Errorf("Examples: %d: got %d examples, want %d", examples, len(report.Examples), want)
		}
	}
}

// The rate limits the entries of Step, Uncounted and Pace together.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		steps := 0
		r := engine.Start(maintain.Options{Rate: 100, Progress: func(p maintain.Progress) {
			if steps++; p.Elapsed > time.Since(begin) || p.Total != 300 {
				t.Errorf("progress %+v after %v, want Total 300", p, time.Since(begin))
			}
		}})
		r.Total = 300
		err := errors.Join(r.Step(t.Context(), 50), r.Uncounted(t.Context(), 100), r.Pace(t.Context(), 150))
		if err != nil || time.Since(begin) != 3*time.Second || r.Report.Checked != 50 || steps != 2 {
			t.Errorf("%v: %+v after %v in %d steps", err, r.Report, time.Since(begin), steps)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Step(ctx, 1000); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 4*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// Without a rate, Step does not wait but still returns the error of a canceled context.
func TestNoRate(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := engine.Start(maintain.Options{})
	if err := r.Step(ctx, 1e9); err != nil || r.Limited() {
		t.Error(err)
	}
	cancel()
	if err := r.Step(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	pages := func(yield func([]string, error) bool) {
		_ = yield([]string{"a", "b"}, nil) && yield([]string{"c"}, nil) && yield(nil, broken)
	}
	for _, failing := range []bool{false, true} {
		r := engine.Start(maintain.Options{})
		seen := 0
		err := r.Pages(t.Context(), pages, func(page []string) (int, error) {
			if seen++; failing {
				return 0, errors.ErrUnsupported
			}
			return len(page), nil
		})
		if !failing && (!errors.Is(err, broken) || r.Report.Checked != 3 || seen != 2) ||
			failing && (!errors.Is(err, errors.ErrUnsupported) || r.Report.Checked != 0 || seen != 1) {
			t.Errorf("%v: %+v in %d pages", err, r.Report, seen)
		}
	}
}
