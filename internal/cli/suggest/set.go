package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newSet(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "set [flags] KEY [TERM COUNT [PAYLOAD]]",
		Short: "Set the counts and payloads of terms",
		Long: `Replaces the count and the payload of a term. Without PAYLOAD the term has no payload
afterwards. A term or index that does not exist is created.

Without TERM, the terms of the files of --file, or of standard input, are set. A line is a
term, a tab and its count, and optionally a tab and a payload, as "suggest list" prints
them. A bad line is reported with its file and number, and the other terms are set; the
exit code is then 1. Setting a file twice does no harm.

A blocked term is not set.`,
		Example: `  retwis suggest set words Banana 273
  retwis suggest set cities Berlin 3700000 city:17
  retwis suggest set words --file words.tsv
  retwis suggest list words | retwis suggest set copy`,
		Args: shell.Arguments(1, 4, ""),
	})
	var declared declaration
	declared.add(c)
	var files []string
	c.Flags().StringArrayVarP(&files, "file", "f", nil, "set the terms of this `FILE`; - for standard input; may be repeated")
	c.AddJSON("print the term, or the summary of files, as JSON")
	c.AddRedis()
	c.Creates = true
	return c.Build(func(ctx context.Context, args []string) error {
		switch {
		case len(args) == 2:
			return shell.Usage(fmt.Errorf("the count of %q is missing: retwis suggest set KEY TERM COUNT; files need --file", args[1]))
		case len(args) > 2 && len(files) > 0:
			return shell.Usage(errors.New("a term and --file cannot be combined: use one"))
		case len(args) > 2:
			return setOne(ctx, c, &declared, args)
		}
		return shell.Feed[*suggest.Index, suggest.Suggestion]{
			Noun: declared.noun(), Unit: "terms", Read: countedTerms, Write: (*suggest.Index).PutMany,
		}.Run(ctx, c, args[0], files)
	})
}

// setOne sets a term and prints it.
func setOne(ctx context.Context, c *shell.Command, declared *declaration, args []string) error {
	s := suggest.Suggestion{Term: args[1]}
	var err error
	if s.Count, err = parseCount(args[2]); err != nil {
		return shell.Usage(fmt.Errorf("%q is not a count from 1 to 2^53-1", args[2]))
	}
	if len(args) > 3 {
		s.Payload = args[3]
	}
	return declared.noun().With(ctx, c, args[0], func(x *suggest.Index) error {
		stored, err := x.Put(ctx, s)
		switch {
		case err != nil:
			return err
		case !stored:
			return shell.Hint(fmt.Errorf("the term %q is blocked", s.Term), fmt.Sprintf("Unblock it with %q.", "retwis suggest remove "+args[0]+" --unblock "+s.Term))
		}
		if s, err = x.Get(ctx, s.Term); err != nil {
			return err
		}
		p := c.NewPrinter(false, true)
		return cmp.Or(printTerm(p, s), p.End())
	})
}

// countedTerms is like terms for lines that must have a count.
func countedTerms(in *shell.Inputs, x *suggest.Index) iter.Seq2[suggest.Suggestion, error] {
	return shell.Lines(in, func(line string) (suggest.Suggestion, error) {
		s, counted, err := parseTerm(x, line)
		if err == nil && !counted {
			err = fmt.Errorf("%q has no tab and count", line)
		}
		return s, err
	})
}
