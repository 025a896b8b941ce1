// Command capacity estimates the masters, web processes, workers and memory that a site of a given
// size needs, and its first bottleneck, from measured costs. It writes the tables of
// docs/scaling.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "capacity:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	var site Site
	flags := flag.NewFlagSet("capacity", flag.ContinueOnError)
	inputs := site.inputs(flags)
	sizes := flags.String("users", "1,10,100", "`millions` of users, separated by commas")
	page := flags.String("write", "", "replace the tables in this `page`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, in := range inputs {
		if !(*in.value >= 0 && *in.value <= in.max) {
			return fmt.Errorf("--%s: use a number from 0 to %g", in.name, in.max)
		}
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var needs []Need
	for text := range strings.SplitSeq(*sizes, ",") {
		millions, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(millions > 0 && millions <= 10_000) {
			return fmt.Errorf("--users: %q: use millions, such as 1,10,100", text)
		}
		site.Users = millions * 1e6
		needs = append(needs, need(site))
	}
	if *page != "" {
		return write(*page, needs)
	}
	_, err := io.WriteString(out, table(needs))
	return err
}
