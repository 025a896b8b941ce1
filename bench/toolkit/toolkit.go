// Package toolkit compares each package of the toolkit with the usual alternative: another library
// or plain Redis commands.
package toolkit

import "iter"

// letters are ordered by their frequency in English.
const letters = "aeitonshrdlucmfwypvbgkjqxz"

// distinct draws n distinct values.
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

// count returns the number of results of a query.
func count[E any](results iter.Seq2[E, error]) (n int, err error) {
	for _, err := range results {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
