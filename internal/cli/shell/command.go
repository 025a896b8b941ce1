package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/store"
)

func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q?", args[0], like[0])
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only, and %q is none", cmd.Name(), args[0])
	}
	return nil
}

// What the commands of indexes have in common: retwis index, suggest, graph and
// space.

// Group makes a command of others.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = UnknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(children...)
	return cmd
}

// Arguments is what is wrong with the arguments of a command that takes a key and
// more. most may be -1: any number.
func Arguments(least, most int, usage string) cobra.PositionalArgs {
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

// WithStore opens the database for as long as do runs. What a user can do
// otherwise is wrong usage.
func WithStore(cmd *cobra.Command, env Env, url string, do func(context.Context, *store.Store) error) (err error) {
	ctx := cmd.Context()
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := store.Open(ctx, url, store.Options{Logger: Quiet(cmd), Getenv: env.Getenv})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = do(ctx, db)
	if errors.Is(err, index.ErrValue) || errors.Is(err, index.ErrDeclared) || errors.Is(err, index.ErrForeign) {
		return Usage(errors.New(OneLine(err)))
	}
	return err
}

// AsDeclared returns an index that flags have declared, unless it is there and
// was declared otherwise: told before anything is read.
func AsDeclared[X interface {
	Len(ctx context.Context) (int64, error)
}](ctx context.Context, x X, err error) (X, error) {
	if err == nil {
		_, err = x.Len(ctx)
	} else {
		err = Usage(errors.New(OneLine(err)))
	}
	return x, err
}

// AddPage adds the flags of a query that say which part of the answer is wanted.
func AddPage(cmd *cobra.Command, page *index.Page, cursor *bool) {
	f := cmd.Flags()
	f.IntVarP(&page.Limit, "limit", "n", 0, "how many to show; 0: all")
	f.IntVar(&page.Offset, "offset", 0, "how many to pass over first")
	f.BoolVarP(&page.Reverse, "reverse", "r", false, "show the last first")
	f.BoolVar(cursor, "cursor", false, "show the place of each in the order of the index")
	f.StringVar(&page.After, "after", "", "go on behind the one with this `CURSOR`")
}

// CheckPage refuses what is no part of an answer.
func CheckPage(page index.Page) error {
	if page.Limit < 0 || page.Offset < 0 {
		return Usage(errors.New("--limit and --offset cannot be negative"))
	}
	return nil
}

// ShowEach shows what ids have, and tells of those that are not there.
func ShowEach(cmd *cobra.Command, ids []string, show func(id string) error) error {
	var missing error
	for _, id := range ids {
		err := show(id)
		if errors.Is(err, index.ErrNotFound) {
			missing = ErrReported
			fmt.Fprintf(cmd.ErrOrStderr(), "retwis: %s\n", OneLine(err))
			continue
		}
		if err != nil {
			return err
		}
	}
	return missing
}
