package suggest

import "iter"

const (
	batchTerms = 100     // terms per script
	batchBytes = 4 << 10 // of their names; bounds the cached lists that a script reads
	pipeline   = 32      // scripts per pipeline
)

// chunks splits a list into the batches of one script. size returns the length of a
// name.
func chunks[T any](list []T, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		begin, bytes := 0, 0
		for i, one := range list {
			n := size(one)
			if i > begin && (i-begin == batchTerms || bytes+n > batchBytes) {
				if !yield(list[begin:i]) {
					return
				}
				begin, bytes = i, 0
			}
			bytes += n
		}
		if begin < len(list) {
			yield(list[begin:])
		}
	}
}
