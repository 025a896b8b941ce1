package suggest

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list [flags] KEY [PREFIX]",
		Short: "List terms in order, as \"suggest add\" reads them",
		Long: `Lists all terms, or those that begin with a prefix, in the order of the index, each
with a tab and its count: the format of "suggest add" and "suggest rebuild". With
--blocked it lists the blocked terms, normalized.`,
		Example: `  retwis suggest list words > words.tsv
  retwis suggest list words ban --limit 100
  retwis suggest list words --blocked`,
		Args: shell.Arguments(1, 2, ""),
	})
	var page shell.PageFlags
	page.Add(c)
	var blocked bool
	c.Flags().BoolVar(&blocked, "blocked", false, "list the blocked terms")
	c.AddJSON("print each term as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		if err := page.Check(); err != nil {
			return err
		}
		if blocked && len(args) > 1 {
			return shell.Usage(fmt.Errorf("--blocked lists all blocked terms, not those of %q", args[1]))
		}
		return withIndex(ctx, c, args[0], func(x *suggest.Index) error {
			if blocked {
				return listBlocked(ctx, c, x)
			}
			return list(c, x.All(ctx, strings.Join(args[1:], ""), page.Page), page.Cursor)
		})
	})
}

// list prints terms as they are read.
func list(c *shell.Command, terms iter.Seq2[suggest.Entry, error], cursor bool) error {
	e := shell.NewEncoder(c.Stdout)
	for t, err := range terms {
		at := ""
		if cursor && err == nil {
			at = t.Cursor()
		}
		switch {
		case err != nil:
		case c.JSON:
			err = e.Encode(struct {
				suggest.Suggestion
				Form   string `json:"form"`
				Cursor string `json:"cursor,omitempty"`
			}{t.Suggestion, formText(t.Name), at})
		case cursor:
			_, err = fmt.Fprintf(c.Stdout, "%s\t%d\t%s\n", t.Term, t.Count, at)
		default:
			_, err = fmt.Fprintf(c.Stdout, "%s\t%d\n", t.Term, t.Count)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func listBlocked(ctx context.Context, c *shell.Command, x *suggest.Index) error {
	forms, err := x.Blocked(ctx)
	if err != nil {
		return err
	}
	e := shell.NewEncoder(c.Stdout)
	for _, form := range forms {
		if c.JSON {
			err = e.Encode(map[string]string{"form": formText(form)})
		} else {
			_, err = fmt.Fprintln(c.Stdout, formText(form))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// formText returns a normalized term as people write it.
func formText(form string) string { return strings.ReplaceAll(form, "\x1f", ":") }
