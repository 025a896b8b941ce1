package collection

import "iter"

// runBatches runs a command on batches of items and returns the sum of its replies. It stops at the
// first error. It does not send a batch with an invalid item.
func runBatches(items iter.Seq[string], size int, check func(string) error, run func([]string) (int64, error), wrap func(error) error) (int, error) {
	total := 0
	batch := make([]string, 0, size)
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		n, err := run(batch)
		total += int(n)
		batch = make([]string, 0, size)
		return err
	}
	for item := range items {
		if check != nil {
			if err := check(item); err != nil {
				return total, wrap(err)
			}
		}
		if batch = append(batch, item); len(batch) == size {
			if err := send(); err != nil {
				return total, wrap(err)
			}
		}
	}
	return total, wrap(send())
}
