// Package require checks the result of a call in one line of a test:
//
//	require.OK(t)(x.Put(ctx, "a"))
//	require.Fails(t, index.ErrValue, "the column")(x.Put(ctx, ""))
//	require.Gives(t, 3)(x.Len(ctx))
//
// OK ends the test on failure, so it must be called by the goroutine of the test. The other
// functions let the test continue.
package require

import (
	"errors"
	"fmt"
	"strings"
)

// T is a test, or a property check.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// errorOf returns the last result of a call as an error.
func errorOf(results []any) error {
	err, _ := results[len(results)-1].(error)
	return err
}

// OK checks that the last result of a call is not an error.
func OK(t T) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		if err := errorOf(results); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// Fails checks that the last result of a call is an error that wraps want and contains all texts.
func Fails(t T, want error, texts ...string) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		err := errorOf(results)
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
			return
		}
		for _, s := range texts {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("error %v does not contain %q", err, s)
			}
		}
	}
}

// Gives checks that a call returns a value, compared in Go syntax, and no error.
func Gives(t T, want any) func(got any, err error) {
	return func(got any, err error) {
		t.Helper()
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Errorf("%#v, want %#v; error %v", got, want, err)
		}
	}
}
