package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"retwis/bench/mutants/fault"
)

// tests runs the tests of the program, compiled with all faults.
type tests struct {
	root    string // of the source
	files   string // the temporary directory of the tests; a short path, for unix sockets
	overlay string
	deps    map[string][]string // the dependencies of each package's tests, by import path
	sound   map[string]bool     // whether a test passes without a fault, by package and name
}

func newTests(ctx context.Context, root, dir string) (*tests, error) {
	t := &tests{root: root, files: filepath.Join(dir, "t"), deps: map[string][]string{}, sound: map[string]bool{}}
	var err error
	if t.overlay, err = fault.Overlay(root, dir, fault.All); err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, "go", "list", "-test", "-overlay", t.overlay, "-f", `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`, "./...")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if name, ok := strings.CutSuffix(words[0], ".test"); ok {
			t.deps[name] = words[1:]
		}
	}
	return t, nil
}

// packages returns the packages whose tests can detect a fault: the likely packages, then the other
// packages by increasing number of dependencies.
func (t *tests) packages(f *fault.Fault) []string {
	var likely, others []string
	for _, p := range f.Likely {
		likely = append(likely, "retwis/"+p)
	}
	for p, deps := range t.deps {
		if slices.Contains(deps, f.Package()) && !slices.Contains(likely, p) {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, func(a, b string) int {
		return 1000*(len(t.deps[a])-len(t.deps[b])) + strings.Compare(a, b)
	})
	return append(likely, others...)
}

// find returns the name of a test that fails with the fault and passes without the fault, or "".
func (t *tests) find(ctx context.Context, f *fault.Fault) (string, error) {
	for _, p := range t.packages(f) {
		var unsound []string // patterns of tests that fail for another reason
		for len(unsound) < 5 {
			name, err := t.firstFailing(ctx, p, f, "-timeout=4m", "-skip="+strings.Join(unsound, "|"))
			if err != nil {
				return "", err
			}
			if name == "" {
				break
			}
			ok, err := t.confirm(ctx, p, f, name)
			if err != nil {
				return "", err
			}
			if ok {
				return strings.TrimPrefix(p, "retwis/") + "." + name, nil
			}
			fmt.Fprintf(os.Stderr, "%s: %s of %s failed, but not because of the fault when run alone\n", f.Name, name, p)
			if name == noName {
				break
			}
			top, _, _ := strings.Cut(name, "/")
			unsound = append(unsound, exactPattern(top))
		}
	}
	return "", nil
}

// exactPattern returns a pattern that matches only name.
func exactPattern(name string) string { return "^" + regexp.QuoteMeta(name) + "$" }

// confirm reports whether a failed test detects the fault, because on a busy machine tests can fail
// for other reasons. When run alone, the test must fail with the fault and pass without the fault.
// A randomized test may need several runs to fail; confirm runs it at most three times.
func (t *tests) confirm(ctx context.Context, pkg string, planted *fault.Fault, name string) (bool, error) {
	flags := []string{"-timeout=80s"}
	if name != noName {
		parts := strings.Split(name, "/")
		for i, p := range parts {
			parts[i] = exactPattern(p)
		}
		flags = append(flags, "-run="+strings.Join(parts, "/"))
	}
	for range 3 {
		failed, err := t.firstFailing(ctx, pkg, planted, flags...)
		if err != nil {
			return false, err
		}
		if failed == "" {
			continue
		}
		key := pkg + " " + name
		if _, known := t.sound[key]; !known {
			failed, err := t.firstFailing(ctx, pkg, &fault.Fault{}, flags...)
			if err != nil {
				return false, err
			}
			t.sound[key] = failed == ""
		}
		return t.sound[key], nil
	}
	return false, nil
}

// noName is the name for a failure of a package outside of its tests.
const noName = "(no test)"

// firstFailing runs the tests of a package with a fault until a test fails, and returns the name of
// the test, or "" if all tests pass. A test that hangs counts as failed.
func (t *tests) firstFailing(ctx context.Context, pkg string, planted *fault.Fault, flags ...string) (name string, err error) {
	if err := os.MkdirAll(t.files, 0o700); err != nil {
		return "", err
	}
	defer os.RemoveAll(t.files)
	flags = append([]string{"test", "-json", "-count=1", "-vet=off", "-overlay=" + t.overlay, "-ldflags=-s -w"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(flags, pkg)...)
	cmd.Dir, cmd.Stderr = t.root, os.Stderr
	cmd.Env = append([]string{"RAPID_CHECKS=30"}, os.Environ()...)
	cmd.Env = append(append(cmd.Env, planted.Environment()...), "REDISTEST_REQUIRE=1", "TMPDIR="+t.files)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to kill the programs that tests start
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("run the tests of %s: %w", pkg, err)
	}
	name, err = firstFailure(json.NewDecoder(out))
	_ = cmd.Cancel() // also kills programs that the tests left running
	_ = cmd.Wait()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return name, err
}

// firstFailure reads the output of go test until a test or a package fails.
func firstFailure(events *json.Decoder) (string, error) {
	timedOut, built := false, ""
	for {
		var e struct{ Action, Test, Output string }
		if events.Decode(&e) != nil {
			return "", nil // end of output
		}
		switch {
		case e.Action == "build-output":
			built += e.Output
		case e.Action == "build-fail":
			return "", fmt.Errorf("compile the tests:\n%s", built)
		case e.Action == "fail" && e.Test == "":
			return noName, nil
		case e.Action == "fail":
			return e.Test, nil
		case strings.HasPrefix(e.Output, "panic: test timed out"):
			timedOut = true
		case timedOut && strings.HasPrefix(e.Output, "\t\tTest"): // a test that is still running
			name, _, _ := strings.Cut(strings.TrimSpace(e.Output), " ")
			return name, nil
		}
	}
}
