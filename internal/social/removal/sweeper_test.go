package removal

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"

	"retwis/internal/social/work"
)

// A scan handles all accounts that were queued during the previous scan.
func TestOneScanForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, masters := t.Context(), "before"
		errScan := errors.New("a slow server")
		var scans []accounts
		results := make(chan error)
		s := newSweeper(func(_ context.Context, all accounts) error {
			scans = append(scans, maps.Clone(all))
			return <-results
		}, func(context.Context) string { return masters }, slog.New(slog.DiscardHandler))
		defer s.close()
		ada, ben, cleo := account{id: 1, name: "ada"}, account{id: 2, name: "ben"}, account{id: 3, name: "cleo"}
		want := func(a account, want error) {
			t.Helper()
			if err := s.sweep(ctx, a); !errors.Is(err, want) || (want == nil) != (err == nil) {
				t.Errorf("%s: %v, want %v", a.name, err, want)
			}
			synctest.Wait()
		}
		finishScan := func(err error) {
			results <- err
			synctest.Wait()
		}
		want(ada, work.ErrAgain)
		want(ben, work.ErrAgain)
		want(cleo, work.ErrAgain)
		want(ben, work.ErrAgain)
		finishScan(nil)
		want(ada, nil)
		want(ben, work.ErrAgain) // the scan had already begun
		finishScan(errScan)
		want(ben, work.ErrAgain)
		want(cleo, work.ErrAgain)
		finishScan(nil)
		want(ben, nil)
		finishScan(nil)
		masters = "after" // the new masters may still have what the scan has removed
		want(cleo, work.ErrAgain)
		finishScan(nil)
		want(cleo, nil)
		if s.known(ada) || s.known(ben) || s.known(cleo) {
			t.Errorf("still waiting: %v", s.waiting)
		}
		sizes := []int{1, 2, 1, 1, 1}
		for i, all := range scans {
			if i >= len(sizes) || len(all) != sizes[i] {
				t.Fatalf("scans of %v, want the sizes %v", scans, sizes)
			}
		}
	})
}
