// Command release makes what a release has besides the program: manual pages and completions for
// shells, and documents. scripts/dist runs it. It is in the module of the benchmarks, so that its
// libraries are not requirements of Retwis.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

const usage = `usage: release manual DIR            manual pages and completions, below DIR
       release docs REPOSITORY DIR    the documents, with links for a package
SOURCE_DATE_EPOCH is the time that manual pages name`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "manual":
		// All files have one time, so that the same commit gives the same release:
		// https://reproducible-builds.org/specs/source-date-epoch.
		seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		return manual(args[1], time.Unix(seconds, 0).UTC())
	case len(args) == 3 && args[0] == "docs":
		return docs(args[1], args[2])
	}
	return errors.New(usage)
}
