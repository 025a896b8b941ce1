package suggest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

const maxLine = 64 << 10 // bytes

func newAdd(env shell.Env) *cobra.Command {
	var flags commonFlags
	var made newTerms
	cmd := &cobra.Command{
		Use:   "add [flags] KEY [FILE...]",
		Short: "Count terms",
		Long: `Counts the terms of some files, or of standard input: one a line, or with a tab and
how often it is to be counted behind it. An index that is not there is made.

A bad line is told by its file and number, and the rest goes in; the exit code is
then 1. Adding a file twice counts its terms twice.`,
		Example: `  retwis suggest add words /usr/share/dict/words
  cut -f2 searches.tsv | retwis suggest add words
  printf 'Banana\t273\n' | retwis suggest add words`,
		Args: shell.Arguments(1, -1, "retwis suggest add KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := shell.OpenInputs(cmd, env, args[1:], "terms")
			if err != nil {
				return err
			}
			defer in.Close()
			return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				x, err := made.make(ctx, db.Client(), args[0], cmd.Flags().Changed)
				if err != nil {
					return err
				}
				if err := addTerms(ctx, x, terms(in, x)); err != nil {
					return err
				}
				return in.Report(flags.json)
			})
		},
	}
	made.add(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

// addTerms counts terms up to the first error of the input.
func addTerms(ctx context.Context, x *suggest.Index, terms iter.Seq2[suggest.Suggestion, error]) error {
	var failed error
	_, err := x.AddMany(ctx, func(yield func(suggest.Suggestion) bool) {
		for s, err := range terms {
			if failed = err; err != nil || !yield(s) {
				return
			}
		}
	})
	return errors.Join(failed, err)
}

// terms yields the good lines of all files, and tells the bad ones.
func terms(in *shell.Inputs, x *suggest.Index) iter.Seq2[suggest.Suggestion, error] {
	return func(yield func(suggest.Suggestion, error) bool) {
		for i, f := range in.Files {
			if !readTerms(in, x, in.Names[i], f, yield) {
				return
			}
		}
	}
}

// readTerms yields the terms of one file. It returns whether to go on.
func readTerms(in *shell.Inputs, x *suggest.Index, name string, f io.Reader, yield func(suggest.Suggestion, error) bool) bool {
	r := bufio.NewReaderSize(f, maxLine)
	for number := 1; ; number++ {
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return yield(suggest.Suggestion{}, fmt.Errorf("%s:%d: %w", name, number, err))
		}
		text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors begin a file with it
		}
		var s suggest.Suggestion
		wrong := fmt.Errorf("the line is longer than %d bytes", maxLine)
		if !long {
			s, wrong = parseSuggestion(x, string(text))
		}
		switch {
		case wrong == nil:
			in.Accept()
			if !yield(s, nil) {
				return false
			}
		case long || len(text) > 0:
			in.Reject(name, number, wrong)
		}
		if err != nil {
			return true
		}
	}
}

// parseSuggestion reads a line: a term, or a term, a tab and a count.
func parseSuggestion(x *suggest.Index, line string) (suggest.Suggestion, error) {
	s := suggest.Suggestion{Term: line, Count: 1}
	if tab := strings.LastIndexByte(line, '\t'); tab >= 0 {
		n, err := strconv.ParseInt(line[tab+1:], 10, 64)
		if err != nil || n < 1 || n > 1<<53-1 {
			return s, fmt.Errorf("%q behind the tab is no count from 1 to 2^53-1", line[tab+1:])
		}
		s = suggest.Suggestion{Term: line[:tab], Count: n}
	}
	_, err := x.Normalize(s.Term)
	return s, err
}
