// Command mutants plants faults into the program, one at a time, and looks which test of
// make test finds each. A fault that no test finds shows which test is missing.
//
// The source is not touched: package fault has the faults, and what is compiled has all of
// them, of which an environment variable turns one on.
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
	"text/tabwriter"
	"time"

	"retwis/bench/mutants/fault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	only := flags.String("only", "", "plant only the faults of these `names`, separated by commas")
	near := flags.Bool("near", false, "run only the packages that the list names, not all that depend on the fault")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	faults, err := selected(*only)
	if err == nil {
		err = fault.Check(root, fault.All)
	}
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return search(ctx, root, dir, *near, faults)
}

// selected returns the faults of some names, all for none.
func selected(names string) ([]fault.Fault, error) {
	if names == "" {
		return fault.All, nil
	}
	var faults []fault.Fault
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(fault.All, func(f fault.Fault) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no fault %q", name)
		}
		faults = append(faults, fault.All[i])
	}
	return faults, nil
}

// search looks for faults, and prints which tests find them.
func search(ctx context.Context, root, dir string, near bool, faults []fault.Fault) error {
	tests, err := newTests(ctx, root, dir, near)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FAULT\tWHAT\tPROMISE\tFOUND BY\tSECONDS")
	missed := 0
	for i := range faults {
		f := &faults[i]
		began := time.Now()
		by, err := tests.find(ctx, f)
		if err != nil {
			return err
		}
		took := time.Since(began).Seconds()
		fmt.Fprintf(os.Stderr, "%d of %d: %s: %s (%.0f s)\n", i+1, len(faults), f.Name, by, took)
		fmt.Fprintf(table, "%s\t%s\tdocs/%s: %s\t%s\t%.0f\n", f.Name, f.What, f.Document, f.Promise, by, took)
		if by == notFound {
			missed++
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if missed > 0 {
		return fmt.Errorf("%d faults were not found", missed)
	}
	return nil
}
