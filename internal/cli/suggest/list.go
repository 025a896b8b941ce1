package suggest

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newList(env shell.Env) *cobra.Command {
	var flags commonFlags
	var page index.Page
	var cursor, blocked bool
	cmd := &cobra.Command{
		Use:   "list [flags] KEY [PREFIX]",
		Short: "List terms in order, as \"suggest add\" reads them",
		Long: `Lists the terms that begin with a prefix, or all, in the order of their entries,
each with a tab and its count: what "suggest add" and "suggest rebuild" read. With
--blocked it lists the normalised forms that are kept out.`,
		Example: `  retwis suggest list words > words.tsv
  retwis suggest list words ban --limit 100
  retwis suggest list words --blocked`,
		Args: shell.Arguments(1, 2, "retwis suggest list KEY [PREFIX]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shell.CheckPage(page); err != nil {
				return err
			}
			if blocked && len(args) > 1 {
				return shell.Usage(fmt.Errorf("--blocked lists all forms, not those of %q", args[1]))
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *suggest.Index) error {
				if blocked {
					return flags.listBlocked(cmd, ctx, x)
				}
				return flags.list(cmd, x.All(ctx, strings.Join(args[1:], ""), page), cursor)
			})
		},
	}
	shell.AddPage(cmd, &page, &cursor)
	cmd.Flags().BoolVar(&blocked, "blocked", false, "list what is kept out")
	flags.add(cmd, env, "print each term as a line of JSON")
	return cmd
}

// list prints terms as they come.
func (flags *commonFlags) list(cmd *cobra.Command, terms func(yield func(suggest.Entry, error) bool), cursor bool) error {
	out := cmd.OutOrStdout()
	e := shell.NewEncoder(out)
	for t, err := range terms {
		at := ""
		if cursor && err == nil {
			at = t.Cursor()
		}
		switch {
		case err != nil:
		case flags.json:
			err = e.Encode(struct {
				suggest.Suggestion
				Form   string `json:"form"`
				Cursor string `json:"cursor,omitempty"`
			}{t.Suggestion, formText(t.Name), at})
		case cursor:
			_, err = fmt.Fprintf(out, "%s\t%d\t%s\n", t.Term, t.Count, at)
		default:
			_, err = fmt.Fprintf(out, "%s\t%d\n", t.Term, t.Count)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (flags *commonFlags) listBlocked(cmd *cobra.Command, ctx context.Context, x *suggest.Index) error {
	forms, err := x.Blocked(ctx)
	if err != nil {
		return err
	}
	e := shell.NewEncoder(cmd.OutOrStdout())
	for _, form := range forms {
		if flags.json {
			err = e.Encode(map[string]string{"form": formText(form)})
		} else {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), formText(form))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// formText is a normalised form as people write it.
func formText(form string) string { return strings.ReplaceAll(form, "\x1f", ":") }
