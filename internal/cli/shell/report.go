package shell

import (
	"fmt"
	"io"

	"retwis/maintain"
)

// The types of package maintain.
type (
	Options  = maintain.Options
	Report   = maintain.Report
	Progress = maintain.Progress
)

// PrintReport prints the report of verify or repair. If a problem is left, PrintReport returns an
// error.
func (c *Command) PrintReport(r Report) error {
	summary := Object{{"checked", r.Checked}, {"missing", r.Missing}, {"stale", r.Stale}, {"dangling", r.Dangling}}
	text := fmt.Sprintf("checked: %d, missing: %d, stale: %d, dangling: %d", r.Checked, r.Missing, r.Stale, r.Dangling)
	if r.Invalid > 0 {
		summary = append(summary, Field{"invalid", r.Invalid})
		text += fmt.Sprintf(", invalid: %d", r.Invalid)
	}
	summary = append(summary, Field{"repaired", r.Repaired})
	text += fmt.Sprintf(", repaired: %d", r.Repaired)
	return c.PrintProblems(r, summary, text, r.Problems()-r.Repaired)
}

// PrintAdopted prints the report of adopt. If entries were left out, PrintAdopted returns an error.
func (c *Command) PrintAdopted(r Report) error {
	left := r.Problems()
	return c.PrintProblems(r, Object{{"adopted", r.Checked}, {"left", left}},
		fmt.Sprintf("adopted: %d, left as they are: %d", r.Checked, left), left)
}

// PrintProblems prints the examples of a report and a summary, as JSON or as text. If problems are
// left, PrintProblems returns an error.
func (c *Command) PrintProblems(r Report, summary Object, text string, left int64) error {
	if err := c.printExamples(r); err != nil {
		return err
	}
	var err error
	if c.JSON {
		err = NewEncoder(c.Stdout).Encode(summary)
	} else {
		_, err = fmt.Fprintln(c.Stdout, text)
	}
	if err == nil && left > 0 {
		return ErrReported
	}
	return err
}

func (c *Command) printExamples(r Report) error {
	if !c.JSON {
		printExamples(c.Stdout, r)
		return nil
	}
	e := NewEncoder(c.Stdout)
	for _, p := range r.Examples {
		err := e.Encode(struct {
			Kind  maintain.Kind `json:"problem"`
			ID    Text          `json:"id"`
			Found Text          `json:"found,omitempty"`
			Want  Text          `json:"expected,omitempty"`
		}{p.Kind, Text(p.ID), Text(p.Found), Text(p.Want)})
		if err != nil {
			return err
		}
	}
	return nil
}

// printExamples prints the examples of a report as text.
func printExamples(out io.Writer, r Report) {
	for _, p := range r.Examples {
		fmt.Fprintf(out, "%s %q", p.Kind, p.ID)
		if p.Found != "" {
			fmt.Fprintf(out, ", found %s", ForTerminal(p.Found))
		}
		if p.Want != "" {
			fmt.Fprintf(out, ", expected %s", ForTerminal(p.Want))
		}
		fmt.Fprintln(out)
	}
	if more := r.Problems() - int64(len(r.Examples)); more > 0 && len(r.Examples) > 0 {
		fmt.Fprintf(out, "… and %d more\n", more)
	}
}
