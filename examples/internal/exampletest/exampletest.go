// Package exampletest checks the programs of examples, those that use package model and
// those that do the same by hand.
package exampletest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
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

// Lines checks that a program is as long as docs/model.md says, without blank lines and
// comments: the row of the program has the lines with package model and those by hand.
func Lines(t *testing.T, name string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/model.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| \[` + name + `\]\(.*\).*\| (\d+) \| (\d+) \|$`).FindStringSubmatch(string(page))
	if row == nil {
		t.Fatalf("docs/model.md has no row with the lines of %s", name)
	}
	with, without := count(t, "main.go"), count(t, "byhand/main.go")
	if row[1] != strconv.Itoa(with) || row[2] != strconv.Itoa(without) {
		t.Errorf("docs/model.md says %s lines, by hand %s; they are %d and %d", row[1], row[2], with, without)
	}
	if with > without {
		t.Errorf("%d lines, by hand it takes %d", with, without)
	}
}

func count(t *testing.T, file string) (lines int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	return lines
}

// together runs f n times at the same time.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// must returns a function that fails a test if there is an error.
func must[T any](t interface {
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

// background is the context of property tests, which check many histories in one test.
func background() context.Context { return context.Background() }
