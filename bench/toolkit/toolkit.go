// Package toolkit compares each package of the toolkit with what people use for the same purpose:
// another library, or the commands of the server.
package toolkit

import "iter"

// letters are in the order of how frequent they are in English.
const letters = "aeitonshrdlucmfwypvbgkjqxz"

// distinct draws n values, none of them twice.
func distinct[T comparable](n int, draw func() T) []T {
	seen := make(map[T]bool, n)
	all := make([]T, 0, n)
	for len(all) < n {
		if value := draw(); !seen[value] {
			seen[value] = true
			all = append(all, value)
		}
	}
	return all
}

// count reads all results of a query, and counts them.
func count[E any](results iter.Seq2[E, error]) (n int, err error) {
	for _, err := range results {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
