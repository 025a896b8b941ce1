// Command capacity computes what a site of a size needs, from what was measured: masters,
// web processes, workers, memory, and what limits it first. docs/scaling.md has its table.
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
	site := defaults(0)
	flags := flag.NewFlagSet("capacity", flag.ContinueOnError)
	sizes := flags.String("users", "1,10,100", "how many `millions` of users, with commas")
	page := flags.String("write", "", "the `page` in which to replace the tables")
	inputs := []struct {
		value     *float64
		name, use string
		most      float64
	}{
		{&site.Follows, "follows", "follows of a user", 1e6},
		{&site.Active, "active", "share of the users who come on a day", 1},
		{&site.Posts, "posts", "posts of an active user on a day", 1e6},
		{&site.Pages, "pages", "pages of an active user on a day", 1e6},
		{&site.Likes, "likes", "likes of an active user on a day", 1e6},
		{&site.Pushes, "pushes", "timelines on which a post is written", 1e9},
		{&site.Peak, "peak", "the busiest hour, to the average", 24},
		{&site.Crowded, "crowded", "share of the follows that lead to people with more than 512 followers", 1},
		{&site.Timelines, "timelines", "share of the users whose home timeline is in memory", 1},
		{&site.Years, "years", "years of posts in memory", 100},
		{&site.Star, "star", "share of the users who follow the one with the most followers", 1},
	}
	for _, in := range inputs {
		flags.Float64Var(in.value, in.name, *in.value, in.use)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, in := range inputs {
		if !(*in.value >= 0 && *in.value <= in.most) {
			return fmt.Errorf("--%s: use a number from 0 to %g", in.name, in.most)
		}
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag", flags.Arg(0))
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
