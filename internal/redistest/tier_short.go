//go:build !long

package redistest

// Long means that these are the tests of "make test-long": all cases, kills at every step, and
// the tests in files with the build tag long. Otherwise some cases are enough.
const Long = false
