package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"retwis/bench/mutants/fault"
)

const notFound = "NOT FOUND"

// tests are those of the packages of the program, compiled with all faults.
type tests struct {
	root    string // of the source
	near    bool
	dir     string
	overlay string
	deps    map[string][]string // of the tests of a package, by its import path
	built   map[string]string   // programs, by import path
	sound   map[string]bool     // whether a test passes without a fault, by package and name
}

func newTests(ctx context.Context, root, dir string, near bool) (*tests, error) {
	t := &tests{root: root, near: near, dir: dir, deps: map[string][]string{}, built: map[string]string{}, sound: map[string]bool{}}
	var err error
	if t.overlay, err = fault.Overlay(root, dir, fault.All); err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, "go", "list", "-test", "-overlay", t.overlay, "-json=ImportPath,Deps", "./...")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		if name, ok := strings.CutSuffix(p.ImportPath, ".test"); ok {
			t.deps[name] = p.Deps
		}
	}
}

// packages returns the packages whose tests can find a fault: those that the list names, then the
// others, those with the fewest dependencies first.
func (t *tests) packages(f *fault.Fault) []string {
	var likely, others []string
	for _, p := range f.Likely {
		likely = append(likely, "retwis/"+p)
	}
	if t.near {
		return likely
	}
	for p, deps := range t.deps {
		depends := slices.ContainsFunc(deps, func(d string) bool {
			d, _, _ = strings.Cut(d, " ")
			return d == f.Package()
		})
		if depends && !slices.Contains(likely, p) {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, func(a, b string) int {
		return 1000*(len(t.deps[a])-len(t.deps[b])) + strings.Compare(a, b)
	})
	return append(likely, others...)
}

// find returns the name of a test that fails with a fault and passes without it, or notFound.
func (t *tests) find(ctx context.Context, f *fault.Fault) (string, error) {
	for _, p := range t.packages(f) {
		var unsound []string // tests that fail for another reason
		for len(unsound) < 5 {
			name, err := t.fails(ctx, p, f, skipping(unsound))
			if err != nil {
				return "", err
			}
			if name == "" {
				break
			}
			ok, err := t.confirmed(ctx, p, f, name)
			if err != nil {
				return "", err
			}
			if ok {
				return strings.TrimPrefix(p, "retwis/") + "." + name, nil
			}
			fmt.Fprintf(os.Stderr, "%s: %s of %s has failed, and alone it does not fail for this\n", f.Name, name, p)
			if name == noName {
				break
			}
			unsound = append(unsound, name)
		}
	}
	return notFound, nil
}

func skipping(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	patterns := make([]string, len(names))
	for i, n := range names {
		top, _, _ := strings.Cut(n, "/")
		patterns[i] = "^" + regexp.QuoteMeta(top) + "$"
	}
	return []string{"-test.skip", strings.Join(patterns, "|")}
}

// confirmed reports whether a test that has failed finds a fault: alone it fails with the fault, in
// one of three runs as a random test may need them, and passes without. On a busy machine another
// test can fail.
func (t *tests) confirmed(ctx context.Context, pkg string, planted *fault.Fault, name string) (bool, error) {
	alone := only(name)
	for range 3 {
		failed, err := t.fails(ctx, pkg, planted, alone)
		if err != nil {
			return false, err
		}
		if failed != "" {
			return t.passes(ctx, pkg, name, alone)
		}
	}
	return false, nil
}

// only selects a test; noName stands for all.
func only(name string) []string {
	if name == noName {
		return nil
	}
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return []string{"-test.run", strings.Join(parts, "/")}
}

// passes reports whether a test passes without a fault.
func (t *tests) passes(ctx context.Context, pkg, name string, alone []string) (bool, error) {
	key := pkg + " " + name
	if ok, known := t.sound[key]; known {
		return ok, nil
	}
	failed, err := t.fails(ctx, pkg, &fault.Fault{}, alone)
	if err == nil {
		t.sound[key] = failed == ""
	}
	return failed == "", err
}

// program compiles the tests of a package.
func (t *tests) program(ctx context.Context, pkg string) (string, error) {
	if path := t.built[pkg]; path != "" {
		return path, nil
	}
	path := filepath.Join(t.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	build := exec.CommandContext(ctx, "go", "test", "-vet=off", "-overlay", t.overlay, "-ldflags=-s -w", "-c", "-o", path, pkg)
	build.Dir = t.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the tests of %s: %w\n%s", pkg, err, out)
	}
	t.built[pkg] = path
	return path, nil
}

// noName is the name of a test that is not known: the whole package fails.
const noName = "(no test)"

var failure = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)

// fails runs the tests of a package with a fault, ends them with the first that fails, and
// returns its name, or nothing.
func (t *tests) fails(ctx context.Context, pkg string, planted *fault.Fault, args []string) (name string, err error) {
	timeout := 4 * time.Minute // a test that hangs has found a fault, too
	if slices.Contains(args, "-test.run") {
		timeout /= 3 // it is one test
	}
	program, err := t.program(ctx, pkg)
	if err != nil {
		return "", err
	}
	files := filepath.Join(t.dir, "t") // short: sockets are there
	if err := os.MkdirAll(files, 0o700); err != nil {
		return "", err
	}
	defer os.RemoveAll(files)
	args = append([]string{"-test.v", "-test.timeout", timeout.String(), "-test.paniconexit0"}, args...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(t.root, strings.TrimPrefix(pkg, "retwis/"))
	cmd.Env = append(append(os.Environ(), planted.Environment()...), "REDISTEST_REQUIRE=1", "TMPDIR="+files)
	if os.Getenv("RAPID_CHECKS") == "" {
		cmd.Env = append(cmd.Env, "RAPID_CHECKS=30")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // for the programs that tests start
	end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = end
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	write.Close()
	if err != nil {
		return "", fmt.Errorf("run the tests of %s: %w", pkg, err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = end() // what the tests have left
		_ = read.SetReadDeadline(time.Now().Add(time.Second))
		ended <- err
	}()
	name, hangs := firstFailure(read)
	if name != "" {
		_ = end()
	}
	failed := <-ended
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if name == "" && failed != nil {
		name = noName
		if hangs != "" {
			name = hangs
		}
	}
	return name, nil
}

// firstFailure reads what tests print until the first of them fails. hangs is the first that ran when
// the time was over.
func firstFailure(output io.Reader) (name, hangs string) {
	lines := bufio.NewReader(output)
	timedOut := false
	for {
		line, err := lines.ReadString('\n')
		if m := failure.FindStringSubmatch(line); m != nil {
			return m[1], ""
		}
		if strings.HasPrefix(line, "panic: test timed out") {
			timedOut = true
		} else if timedOut && hangs == "" && strings.HasPrefix(line, "\t\tTest") {
			hangs, _, _ = strings.Cut(strings.TrimSpace(line), " ")
		}
		if err != nil {
			return "", hangs
		}
	}
}
