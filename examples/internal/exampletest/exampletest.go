// Package exampletest is shared by the tests of the example programs.
package exampletest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// program is the environment variable that makes the test binary run the example program.
const program = "EXAMPLE_PROGRAM"

// Main runs the tests of a program, or main if the environment variable program is set.
func Main(m *testing.M, main func()) {
	if os.Getenv(program) != "" {
		main()
		return
	}
	redistest.Main(m)
}

// Client returns a client for an empty database.
func Client(t testing.TB) rueidis.Client {
	t.Helper()
	return redistest.DB(t).Client(t)
}

// Output checks the output of the program with an empty database.
func Output(t *testing.T, want string) {
	t.Helper()
	cmd := command(t, redistest.DB(t).URL())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || string(out) != want {
		t.Errorf("the program printed\n%s%s(%v), want\n%s", out, stderr.String(), err, want)
	}
}

// Usage checks that the program without an argument explains its usage and exits with code 2.
func Usage(t *testing.T) {
	t.Helper()
	cmd := command(t)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.HasPrefix(string(out), "usage: ") {
		t.Errorf("without an argument the program printed\n%s(%v), want its usage and exit code 2", out, err)
	}
}

// command returns the command that runs the program with arguments.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable, args...)
	cmd.Env = append(os.Environ(), program+"=1")
	return cmd
}

// Together runs f in n goroutines and waits for them.
func Together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// Must returns a function that returns its first argument, or fails the test on an error.
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
