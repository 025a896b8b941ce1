// Command release generates the manual pages, shell completions and documentation of a release.
// scripts/dist runs it. It is in the bench module so that Retwis does not require its libraries.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

const usage = `usage: release manual DIR            write manual pages and shell completions below DIR
       release docs REPOSITORY DIR    write the documentation, with links adapted to a package
SOURCE_DATE_EPOCH is the date of the manual pages`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "manual":
		// Builds of the same commit are identical:
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
