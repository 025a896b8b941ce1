package shell

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/maintain"
)

// Adopt runs the adoption of a sorted set, with its progress on a terminal, and
// prints what it did. It fails if entries stay as they are.
func (u *MaintainFlags) Adopt(cmd *cobra.Command, asJSON bool, do func(maintain.Options) (maintain.Report, error)) error {
	opt, wipe := u.Options(cmd)
	report, err := do(opt)
	wipe()
	if err != nil {
		if errors.Is(err, index.ErrValue) {
			PrintProblems(cmd.ErrOrStderr(), report)
		}
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		if err := PrintProblemsJSON(out, report); err != nil {
			return err
		}
		err = NewEncoder(out).Encode(struct {
			Adopted int64 `json:"adopted"`
			Left    int64 `json:"left"`
		}{report.Checked, report.Problems()})
	} else {
		PrintProblems(out, report)
		_, err = fmt.Fprintf(out, "adopted: %d, left as they are: %d\n", report.Checked, report.Problems())
	}
	if err == nil && report.Problems() > 0 {
		err = ErrReported
	}
	return err
}

// MaintainFlags are those of verify and repair, and of rebuild, which shows no
// problems and has only the rate.
type MaintainFlags struct{ Rate, examples uint32 }

func (u *MaintainFlags) Add(cmd *cobra.Command) {
	u.AddRate(cmd)
	cmd.Flags().Uint32Var(&u.examples, "examples", 10, "how many problems to show")
}

func (u *MaintainFlags) AddRate(cmd *cobra.Command) {
	cmd.Flags().Uint32Var(&u.Rate, "rate", 0, "how many `ENTRIES` a second to look at, at most; 0: as fast as it goes")
}

// Options are those of the run, which shows its progress on a terminal.
func (u *MaintainFlags) Options(cmd *cobra.Command) (up maintain.Options, wipe func()) {
	up = maintain.Options{Rate: int(u.Rate), Examples: int(u.examples)}
	if u.examples == 0 {
		up.Examples = -1
	}
	if !IsTerminal(cmd.ErrOrStderr()) {
		return up, func() {}
	}
	up.Progress = func(p maintain.Progress) {
		fmt.Fprintf(cmd.ErrOrStderr(), "\r%s checked, %s ", Thousands(p.Checked), Plural(int(p.Problems()), "problem", "problems"))
	}
	return up, func() { fmt.Fprint(cmd.ErrOrStderr(), "\r\x1b[K") }
}

// Run runs verify or repair, with its progress on a terminal, and prints the report.
func (u *MaintainFlags) Run(cmd *cobra.Command, asJSON bool, do func(maintain.Options) (maintain.Report, error)) error {
	opt, wipe := u.Options(cmd)
	report, err := do(opt)
	wipe()
	if err != nil {
		return err
	}
	return tellUpkeep(cmd, report, asJSON)
}

// AddFrom adds the flag that names the objects of an index.
func AddFrom(cmd *cobra.Command, from *string, example string) {
	cmd.Flags().StringVar(from, "from", "", "the objects: the hashes whose keys are like this `PATTERN`, as in '"+example+"'; * is the id")
}

// tellUpkeep prints a report, and fails if a problem is left.
func tellUpkeep(cmd *cobra.Command, r maintain.Report, asJSON bool) error {
	if err := printUpkeep(cmd.OutOrStdout(), r, asJSON); err != nil {
		return err
	}
	if r.Problems() > r.Repaired {
		return ErrReported
	}
	return nil
}

func printUpkeep(out io.Writer, r maintain.Report, asJSON bool) error {
	if asJSON {
		return printUpkeepJSON(out, r)
	}
	PrintProblems(out, r)
	invalid := ""
	if r.Invalid > 0 {
		invalid = fmt.Sprintf("invalid: %d, ", r.Invalid)
	}
	_, err := fmt.Fprintf(out, "checked: %d, missing: %d, stale: %d, dangling: %d, %srepaired: %d\n",
		r.Checked, r.Missing, r.Stale, r.Dangling, invalid, r.Repaired)
	return err
}

// PrintProblems prints the examples of a report.
func PrintProblems(out io.Writer, r maintain.Report) {
	for _, p := range r.Examples {
		fmt.Fprintf(out, "%s: %s", p.Kind, ForTerminal(p.ID))
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

// PrintProblemsJSON prints the examples of a report as JSON.
func PrintProblemsJSON(out io.Writer, r maintain.Report) error {
	e := NewEncoder(out)
	for _, p := range r.Examples {
		err := e.Encode(struct {
			Kind  maintain.Kind `json:"problem"`
			ID    string        `json:"id"`
			Found string        `json:"found,omitempty"`
			Want  string        `json:"expected,omitempty"`
		}(p))
		if err != nil {
			return err
		}
	}
	return nil
}

func printUpkeepJSON(out io.Writer, r maintain.Report) error {
	if err := PrintProblemsJSON(out, r); err != nil {
		return err
	}
	return NewEncoder(out).Encode(struct {
		Checked  int64 `json:"checked"`
		Missing  int64 `json:"missing"`
		Stale    int64 `json:"stale"`
		Dangling int64 `json:"dangling"`
		Invalid  int64 `json:"invalid,omitempty"`
		Repaired int64 `json:"repaired"`
	}{r.Checked, r.Missing, r.Stale, r.Dangling, r.Invalid, r.Repaired})
}
