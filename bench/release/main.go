// Command release makes what a release has besides the program: manual pages, completions for
// shells, a list of the parts (SBOM), licences and documents. scripts/dist runs it. It is in the
// module of the benchmarks, so that its libraries are not requirements of Retwis.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

const usage = `usage: release manual DIR            manual pages and completions, below DIR
       release sbom BINARY [VERSION]  the parts of a program, as CycloneDX
       release licenses BINARY        the licences of these parts
       release docs REPOSITORY DIR    the documents, with links for a package
SOURCE_DATE_EPOCH is the time that they name`

var errUsage = errors.New(usage)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	when, err := sourceDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	word := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch {
	case word(0) == "manual" && len(args) == 2:
		return manual(args[1], when)
	case word(0) == "sbom" && (len(args) == 2 || len(args) == 3):
		return sbom(os.Stdout, args[1], word(2), when)
	case word(0) == "docs" && len(args) == 3:
		return docs(args[1], args[2])
	case word(0) == "licenses" && len(args) == 2:
		return licenses(os.Stdout, args[1])
	}
	return errUsage
}

// sourceDate is the time that all files get, so that the same commit gives the same
// release: https://reproducible-builds.org/specs/source-date-epoch.
func sourceDate(epoch string) (time.Time, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, want seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
