package model

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
	"retwis/model"
)

var maintenance = shell.Maintenance{
	Key: "NAME", Unit: "records",
	New: func(verb shell.Verb) shell.Target { return &target{verb: verb} },
	Help: map[shell.Verb]shell.Help{
		shell.Verify: {
			Short: "Check that the records and indexes of a model agree",
			Long: `Checks that the records of a model and its indexes agree. It works in short steps while
the model is in use, and changes nothing. It reports
  missing    records that an index lacks
  stale      records for which an index has other values
  dangling   entries of indexes, and other parts, of records that do not exist
  invalid    records with a field that cannot be read, or that an index cannot hold
  taken      records with a unique value that another record has
Index values that only the program of the model can compute are assumed to be right.
Keys that could be records, but that the model did not write, are counted as unknown;
with --adopt they count as missing records. The exit code is 1 if there is a problem.`,
			Example: `  retwis model verify user
  retwis model verify user --rate 10000 --json`,
		},
		shell.Repair: {
			Short: "Repair what verify finds",
			Long: `Repairs what "model verify" finds, in short steps while the model is in use: the indexes
get the values of the fields of each record. Records that other programs wrote are added
to the indexes if --adopt matches them; expired records are removed. Invalid and taken
records are reported and left as they are: change the record. The exit code is 1 if a
problem is left.`,
			Example: `  retwis model repair user`,
		},
	},
}

// runFlags are the flags of commands that scan a model.
type runFlags struct {
	shell.RunFlags
	adopt *pattern
}

func (f *runFlags) addAdopt(c *shell.Command) {
	c.Flags().Var(&patternFlag{&f.adopt}, "adopt", "treat keys that the model did not write as its records if the id matches this `PATTERN`, such as '*'")
}

// set applies --adopt to a model.
func (f *runFlags) set(m *model.Model) {
	if f.adopt != nil {
		m.Adopt = f.adopt.matches
	}
}

// target is the model that a maintenance command works on.
type target struct {
	runFlags
	verb   shell.Verb
	report model.Report
}

// AddFlags implements shell.Target.
func (t *target) AddFlags(c *shell.Command) { t.addAdopt(c) }

// Run implements shell.Target.
func (t *target) Run(ctx context.Context, db *store.Store, name string, _ shell.Source, opt shell.Options) (shell.Report, error) {
	m, err := open(ctx, db.Client(), name)
	if err != nil {
		return shell.Report{}, err
	}
	t.set(m)
	run := m.Verify
	if t.verb == shell.Repair {
		run = m.Repair
	}
	t.report, err = run(ctx, opt)
	return t.report.Report, err
}

// PrintNotes implements shell.Noter.
func (t *target) PrintNotes(c *shell.Command) error { return printUnknown(c, &t.report) }

// printUnknown reports keys that the model did not write.
func printUnknown(c *shell.Command, r *model.Report) error {
	if r.Unknown == 0 {
		return nil
	}
	if c.JSON {
		return shell.NewEncoder(c.Stdout).Encode(struct {
			Unknown int64        `json:"unknown"`
			Keys    []shell.Text `json:"keys,omitempty"`
		}{r.Unknown, shell.Texts(r.UnknownKeys)})
	}
	var example string
	if len(r.UnknownKeys) > 0 {
		example = ", such as " + shell.ForTerminal(r.UnknownKeys[0])
	}
	_, err := fmt.Fprintf(c.Stdout, "unknown: %s that the model did not write%s; --adopt treats them as records\n",
		shell.Plural(r.Unknown, "key", "keys"), example)
	return err
}

// pattern is a glob in which * matches any characters and ? matches one.
type pattern struct {
	text string
	re   *regexp.Regexp
}

func (p *pattern) matches(s string) bool { return p.re.MatchString(s) }

// patternFlag is the value of a flag that takes a pattern. Set stores the pattern in *p.
type patternFlag struct{ p **pattern }

func (f *patternFlag) String() string {
	if f.p == nil || *f.p == nil {
		return ""
	}
	return (*f.p).text
}

// Type implements pflag.Value.
func (f *patternFlag) Type() string { return "pattern" }

// Set implements pflag.Value.
func (f *patternFlag) Set(text string) error {
	quoted := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(text))
	re, err := regexp.Compile(`(?s)^` + quoted + `$`)
	*f.p = &pattern{text, re}
	return err
}
