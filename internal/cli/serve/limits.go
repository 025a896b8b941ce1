package serve

import (
	"fmt"
	"strings"

	"retwis/internal/cli/shell"
	"retwis/internal/social/limits"
)

// limitsFlag is the value of --limit: changes of the limits. The flag can be repeated, and each
// value may have several changes separated by spaces, as in a variable.
type limitsFlag struct{ config limits.Config }

// String implements pflag.Value.
func (*limitsFlag) String() string { return "" }

// Type implements pflag.Value.
func (*limitsFlag) Type() string { return "NAME=LIMIT" }

// Set implements pflag.Value.
func (f *limitsFlag) Set(value string) error {
	changes := strings.Fields(value)
	if len(changes) == 0 {
		return fmt.Errorf("the limit is empty: write a limit such as post=30/10m, post=30/10m,300/1d or post=off")
	}
	if f.config == nil {
		f.config = limits.Config{}
	}
	for _, change := range changes {
		if err := f.config.Set(change); err != nil {
			return err
		}
	}
	return nil
}

func (f *limitsFlag) add(c *shell.Command) {
	c.Flags().Var(f, "limit", "change how often people may do something; can be repeated")
}

// limitsHelp returns help on --limit with the default limits.
func limitsHelp() string {
	var text strings.Builder
	text.WriteString(`How often people may do things is limited. --limit post=60/10m,500/1d allows an account 60
posts in ten minutes, and 500 in a day; --limit post=60/10m:5 at most five at once;
--limit post=off any number; --limit off turns all limits off. By default:

`)
	for _, r := range limits.Config(nil).Rules() {
		fmt.Fprintf(&text, "  %-16s %-20s by %s\n", r.Name, r.Limits, r.By)
	}
	text.WriteString(`
An IPv6 address counts as its /64 network. Requests above a limit get status 429. If the
database does not answer in time, requests are allowed.`)
	return text.String()
}
