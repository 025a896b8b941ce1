package suggest

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newAdd(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "add [flags] KEY [FILE...]",
		Short: "Count terms",
		Long: `Counts the terms of files, or of standard input. A line is a term, or a term, a tab and
the number to add to its count. After another tab a payload may follow, such as an id. It
replaces the payload of the term, and is shown with the term. An index that does not exist
is created.

A bad line is reported with its file and number, and the other terms are counted; the exit
code is then 1. Adding a file twice counts its terms twice; "suggest set" does not.`,
		Example: `  retwis suggest add words /usr/share/dict/words
  cut -f2 searches.tsv | retwis suggest add words
  printf 'Banana\t273\n' | retwis suggest add words
  printf 'Banana\t1\tfruit:7\n' | retwis suggest add words`,
		Args: shell.Arguments(1, -1, ""),
	})
	var declared declaration
	declared.add(c)
	return shell.Feed[*suggest.Index, suggest.Suggestion]{
		Noun: declared.noun(), Unit: "terms", Read: terms, Write: (*suggest.Index).AddMany,
	}.BuildPut(c)
}

// terms yields the terms of all files and rejects lines that are not terms.
func terms(in *shell.Inputs, x *suggest.Index) iter.Seq2[suggest.Suggestion, error] {
	return shell.Lines(in, func(line string) (suggest.Suggestion, error) {
		s, _, err := parseTerm(x, line)
		return s, err
	})
}

// parseTerm parses a line: a term, optionally followed by a tab and a count, and then by a tab and
// a payload. counted reports whether the line has a count; without a count, s.Count is 1.
func parseTerm(x *suggest.Index, line string) (s suggest.Suggestion, counted bool, err error) {
	term, rest, counted := strings.Cut(line, "\t")
	s = suggest.Suggestion{Term: term, Count: 1}
	if counted {
		digits, payload, _ := strings.Cut(rest, "\t")
		if s.Count, err = parseCount(digits); err != nil {
			return s, true, fmt.Errorf("%q after the tab is not a count from 1 to 2^53-1", digits)
		}
		s.Payload = payload
	}
	return s, counted, x.Check(s)
}

func parseCount(digits string) (int64, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && (n < 1 || n > 1<<53-1) {
		err = strconv.ErrRange
	}
	return n, err
}
