package scan

import "iter"

// Merge merges ordered sequences; compare returns a negative number if a comes before b. Merge stops
// at the first error, and holds one value of each sequence.
func Merge[T any](compare func(a, b T) int, sequences ...iter.Seq2[T, error]) iter.Seq2[T, error] {
	if len(sequences) == 1 {
		return sequences[0]
	}
	return func(yield func(T, error) bool) {
		var heads []head[T]
		defer func() {
			for _, h := range heads {
				h.stop()
			}
		}()
		for _, s := range sequences {
			next, stop := iter.Pull2(s)
			h := head[T]{next: next, stop: stop}
			more := h.pull()
			heads = append(heads, h)
			if h.err != nil {
				yield(h.value, h.err)
				return
			}
			if !more {
				heads = heads[:len(heads)-1]
			}
		}
		for len(heads) > 0 {
			first := 0
			for i := 1; i < len(heads); i++ {
				if compare(heads[i].value, heads[first].value) < 0 {
					first = i
				}
			}
			h := &heads[first]
			if !yield(h.value, nil) {
				return
			}
			more := h.pull()
			if h.err != nil {
				yield(h.value, h.err)
				return
			}
			if !more {
				heads = append(heads[:first], heads[first+1:]...)
			}
		}
	}
}

// head is a sequence and its next value.
type head[T any] struct {
	next  func() (T, error, bool)
	stop  func()
	value T
	err   error
}

func (h *head[T]) pull() bool {
	value, err, more := h.next()
	h.value, h.err = value, err
	return more
}
