//go:build long

package redistest

// Long reports whether these are the tests of "make test-long": all cases, kills at every step, and
// the tests in files with the build tag long. Otherwise, tests try some of the cases.
const Long = true
