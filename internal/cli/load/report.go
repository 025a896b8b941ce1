package load

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"retwis/bulk"
	"retwis/internal/cli/shell"
)

// printReport prints the report as JSON.
func printReport(w io.Writer, report bulk.Report, failed error) error {
	all := struct {
		bulk.Report
		Error string `json:"error,omitempty"`
	}{Report: report}
	if failed != nil {
		all.Error = shell.OneLine(failed)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(all)
}

// printCounts prints the same lines as redis-cli --pipe, and the failed commands on standard error.
// complete reports whether the whole input was loaded.
func (flags *loadFlags) printCounts(c *shell.Command, report bulk.Report, complete bool) error {
	to := c.Stderr
	for _, f := range report.Failures {
		where := fmt.Sprintf("byte %d", f.Offset)
		if f.Line > 0 {
			where = fmt.Sprintf("line %d", f.Line)
		}
		if f.File != "" {
			where = f.File + ", " + where
		}
		if len(report.Nodes) > 1 {
			where += ", " + f.Node
		}
		fmt.Fprintf(to, "command %d (%s): %s: %s\n", f.Command, where, f.Text, f.Error)
	}
	if len(report.Failures) > 0 && report.Errors > int64(len(report.Failures)) {
		fmt.Fprintf(to, "… and %d more\n", report.Errors-int64(len(report.Failures)))
	}
	for _, kind := range slices.Sorted(maps.Keys(report.Kinds)) {
		fmt.Fprintf(to, "%s: %d\n", kind, report.Kinds[kind])
	}
	flags.printSkipped(c, report)
	out := c.Stdout
	if complete {
		fmt.Fprint(out, "All data transferred. Waiting for the last reply...\nLast reply received from server.\n")
	}
	_, err := fmt.Fprintf(out, "errors: %d, replies: %d\n", report.Errors, report.Replies)
	return err
}

// printSkipped prints how much was not loaded: skipped records, bad records and truncated files.
func (flags *loadFlags) printSkipped(c *shell.Command, report bulk.Report) {
	if report.Skipped > 0 {
		fmt.Fprintf(c.Stderr, "records skipped: %d\n", report.Skipped)
	}
	if report.Bad > 0 {
		fmt.Fprintf(c.Stderr, "bad records: %d; see %s\n", report.Bad, flags.skipBad)
	}
	for _, cut := range report.Truncated {
		fmt.Fprintf(c.Stderr, "warning: %s\n", cut)
	}
}
