package storage

import (
	"sync"
	"sync/atomic"
)

// workers is the number of concurrent calls by AtOnce. Concurrent calls share round trips.
const workers = 32

// AtOnce calls do for 0 to n-1, several at a time, and returns the first error.
func AtOnce(n int, do func(i int) error) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, min(n, workers))
	for w := range errs {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = do(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
