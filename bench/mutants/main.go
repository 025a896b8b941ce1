// Command mutants plants faults in the program, one at a time, and reports which test of "make test"
// detects each fault. A fault that no test detects shows that a test is missing.
//
// The command does not change the source. The compiled program has all the faults of package fault,
// and an environment variable activates one of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"retwis/bench/mutants/fault"
)

func main() {
	only := flag.String("only", "", "plant only the faults with these `names`, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string) error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	faults, err := selected(only)
	if err != nil {
		return err
	}
	if err := fault.Check(root, fault.All); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tests, err := newTests(ctx, root, dir)
	if err != nil {
		return err
	}
	missed := 0
	for i := range faults {
		f := &faults[i]
		began := time.Now()
		test, err := tests.find(ctx, f)
		if err != nil {
			return err
		}
		if test == "" {
			missed++
			test = "NOT FOUND"
		}
		fmt.Printf("%d of %d: %s: %s (%.0f s)\n  %s\n  docs/%s: %s\n", i+1, len(faults), f.Name, test, time.Since(began).Seconds(), f.What, f.Document, f.Promise)
	}
	if missed > 0 {
		return fmt.Errorf("no test detects %d of the faults", missed)
	}
	return nil
}

// selected returns the named faults, or all faults if names is empty.
func selected(names string) ([]fault.Fault, error) {
	if names == "" {
		return fault.All, nil
	}
	var faults []fault.Fault
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(fault.All, func(f fault.Fault) bool { return f.Name == name })
		if i < 0 {
			return nil, errors.New("unknown fault " + name)
		}
		faults = append(faults, fault.All[i])
	}
	return faults, nil
}
