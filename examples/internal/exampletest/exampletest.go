// Package exampletest is what the tests of the example programs share.
package exampletest

import (
	"bytes"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// program is the variable with which the test binary is the program itself.
const program = "EXAMPLE_PROGRAM"

// Main runs the tests of a program, or the program.
func Main(m *testing.M, main func()) {
	if os.Getenv(program) != "" {
		main()
		return
	}
	redistest.Main(m)
}

// Client returns a client of a new database.
func Client(t testing.TB) rueidis.Client {
	t.Helper()
	return redistest.DB(t).Client(t)
}

// Output checks what the program prints with an empty database.
func Output(t *testing.T, want string) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable, redistest.DB(t).URL())
	cmd.Env = append(os.Environ(), program+"=1")
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil || string(out) != want {
		t.Errorf("%v: it prints\n%s%s; want\n%s", err, out, wrong.String(), want)
	}
}

// Together runs f n times at the same time.
func Together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// Must returns a function that fails a test if there is an error.
func Must[T any](t interface {
	Helper()
	Fatal(args ...any)
},
) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
