package suggest

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newList(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "list [flags] KEY [PREFIX]",
		Short: "List terms in order, as \"suggest add\" reads them",
		Long: `Lists all terms, or those that begin with a prefix, in the order of their normalized
forms. Each term is followed by a tab and its count, and by a tab and its payload, if it
has a payload: the format of "suggest add", "suggest set" and "suggest rebuild". With
--cursor, the last column is the cursor of the term.`,
		Example: `  retwis suggest list words > words.tsv
  retwis suggest list words ban --limit 100`,
		Args: shell.Arguments(1, 2, ""),
	})
	var page shell.PageFlags
	page.Add(c)
	check := func([]string) error { return page.Check() }
	return existing.BuildChecked(c, "print each term as a line of JSON", check, func(ctx context.Context, x *suggest.Index, prefix []string) error {
		return list(c, x.All(ctx, strings.Join(prefix, ""), page.Page), page.Cursor)
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
			object := append(objectOf(t.Suggestion), shell.Field{Name: "form", Value: t.Name})
			if at != "" {
				object = append(object, shell.Field{Name: "cursor", Value: at})
			}
			err = e.Encode(object)
		default:
			line := t.Term + "\t" + strconv.FormatInt(t.Count, 10)
			for _, column := range []string{t.Payload, at} {
				if column != "" {
					line += "\t" + column
				}
			}
			_, err = fmt.Fprintln(c.Stdout, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
