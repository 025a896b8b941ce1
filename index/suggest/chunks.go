package suggest

import "iter"

// chunks yields a list in pieces that one script takes. size is how long the
// name of one is.
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
