package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/store"
)

// What the commands of indexes have in common: retwis index, suggest, graph and
// space.

// parent makes a command of others.
func parent(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = unknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(children...)
	return cmd
}

// named is what is wrong with the arguments of a command that takes a key and
// more. most may be -1: any number.
func named(least, most int, usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("something is missing: %s", usage)
		case most >= 0 && len(args) > most:
			return fmt.Errorf("%q is one argument too many: %s", args[most], usage)
		}
		return nil
	}
}

// withStore opens the database for as long as do runs. What a user can do
// otherwise is wrong usage.
func withStore(cmd *cobra.Command, env Env, url string, do func(context.Context, *store.Store) error) (err error) {
	ctx := cmd.Context()
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := store.Open(ctx, url, store.Options{Logger: quiet(cmd), Getenv: env.Getenv})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = do(ctx, db)
	if errors.Is(err, index.ErrValue) || errors.Is(err, index.ErrDeclared) || errors.Is(err, index.ErrForeign) {
		return &usageError{errors.New(oneLine(err))}
	}
	return err
}

// asDeclared returns an index that flags have declared, unless it is there and
// was declared otherwise: told before anything is read.
func asDeclared[X interface {
	Len(ctx context.Context) (int64, error)
}](ctx context.Context, x X, err error) (X, error) {
	if err == nil {
		_, err = x.Len(ctx)
	} else {
		err = &usageError{errors.New(oneLine(err))}
	}
	return x, err
}

// addPage adds the flags of a query that say which part of the answer is wanted.
func addPage(cmd *cobra.Command, page *index.Page, cursor *bool) {
	f := cmd.Flags()
	f.IntVarP(&page.Limit, "limit", "n", 0, "how many to show; 0: all")
	f.IntVar(&page.Offset, "offset", 0, "how many to pass over first")
	f.BoolVarP(&page.Reverse, "reverse", "r", false, "show the last first")
	f.BoolVar(cursor, "cursor", false, "show the place of each in the order of the index")
	f.StringVar(&page.After, "after", "", "go on behind the one with this `CURSOR`")
}

// checkPage refuses what is no part of an answer.
func checkPage(page index.Page) error {
	if page.Limit < 0 || page.Offset < 0 {
		return &usageError{errors.New("--limit and --offset cannot be negative")}
	}
	return nil
}

// showEach shows what ids have, and tells of those that are not there.
func showEach(cmd *cobra.Command, ids []string, show func(id string) error) error {
	var missing error
	for _, id := range ids {
		err := show(id)
		if errors.Is(err, index.ErrNotFound) {
			missing = errTold
			fmt.Fprintf(cmd.ErrOrStderr(), "retwis: %s\n", oneLine(err))
			continue
		}
		if err != nil {
			return err
		}
	}
	return missing
}

// newEncoder writes JSON a line at a time, as it is.
func newEncoder(out io.Writer) *json.Encoder {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e
}

// forTerminal quotes a text that could do something else to a terminal than be
// read.
func forTerminal(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return strconv.Quote(text)
	}
	return text
}
