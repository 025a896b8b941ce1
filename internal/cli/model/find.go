package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/cli/shell"
	"retwis/model"
)

// conditionsHelp lists the forms of a condition.
const conditionsHelp = `  city=Bari       this value, or a list with this element
  age=10..30      from 10 to 30; 10.. and ..30 are open at one end
  name=Ma*        text that begins with Ma; name==Ma* is that text itself
  age>10          also >=, < and <=
`

func newGet(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "get [flags] NAME ID...",
		Short: "Show records of a model",
		Long: `Shows the fields of records by their ids. Fields that the model does not declare are left
out. The exit code is 1 if any of the records does not exist.`,
		Example: `  retwis model get user 7
  retwis model get user 7 8 --json`,
		Args: shell.Arguments(2, -1, ""),
	})
	return existing.Build(c, "print each record as a line of JSON", func(ctx context.Context, m *model.Model, ids []string) error {
		p := newRecordPrinter(c, m)
		for _, id := range ids {
			r, err := m.Get(ctx, id)
			if err == nil {
				err = p.fields(r)
			}
			if err != nil {
				return errors.Join(err, p.End())
			}
		}
		return p.End()
	})
}

func newFind(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "find [flags] NAME [CONDITION...]",
		Short: "Show the records that match all conditions",
		Long: `Shows the records of a model that match all conditions, each of which needs an index:
` + conditionsHelp + `
--order-by needs an index in that order. Without it the records are in the order of
creation if all conditions have the form city=Bari, and otherwise in no particular order.
If there are more records, the last line shows how to continue with --after.`,
		Example: `  retwis model find user city=Bari age=30.. --order-by age
  retwis model find user --order-by 'age desc' --limit 10 --json`,
		Args: shell.Arguments(1, -1, ""),
	})
	var order []string
	var limit int
	var after string
	c.AddOrderBy(&order)
	c.Flags().IntVar(&limit, "limit", 100, "show at most this `NUMBER` of records")
	c.AddAfter(&after)
	check := func([]string) error {
		if limit < 1 {
			return shell.Usage(fmt.Errorf("--limit %d: it must be positive", limit))
		}
		return nil
	}
	return existing.BuildChecked(c, "print each record, and the cursor if there are more, as a line of JSON", check, func(ctx context.Context, m *model.Model, texts []string) error {
		conds, err := conditions(m, texts)
		if err != nil {
			return err
		}
		page, err := m.Find(conds...).OrderBy(order...).Limit(limit).After(after).Page(ctx)
		if err != nil {
			err = withIndexHint(err)
		}
		p := newRecordPrinter(c, m)
		for _, r := range page.Items {
			if failed := p.row(r); failed != nil {
				return failed
			}
		}
		return errors.Join(err, p.End(), p.more(page.Next), noteEmpty(ctx, c, m, int64(len(page.Items))))
	})
}

func newCount(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "count [flags] NAME [CONDITION...]",
		Short: "Count the records that match all conditions",
		Long: `Counts the records of a model that match all conditions, each of which needs an index:
` + strings.TrimSuffix(conditionsHelp, "\n"),
		Example: `  retwis model count user city=Bari`,
		Args:    shell.Arguments(1, -1, ""),
	})
	return existing.Build(c, "print the number as JSON", func(ctx context.Context, m *model.Model, texts []string) error {
		conds, err := conditions(m, texts)
		if err != nil {
			return err
		}
		n, err := m.Find(conds...).Count(ctx)
		if err != nil {
			return withIndexHint(err)
		}
		return errors.Join(c.PrintCount(n), noteEmpty(ctx, c, m, n))
	})
}

// noteEmpty explains, if the model has no records, how to add those that other programs wrote.
func noteEmpty(ctx context.Context, c *shell.Command, m *model.Model, found int64) error {
	if found > 0 {
		return nil
	}
	info, err := m.Describe(ctx)
	if err == nil && info.Records == 0 {
		name := shell.ForTerminal(info.Name)
		_, err = fmt.Fprintf(c.Stderr, "%s has no records; to add those that other programs wrote, run \"retwis model migrate %s --adopt '*'\"\n", name, name)
	}
	return err
}

// withIndexHint adds a hint to the error for a query that no index answers.
func withIndexHint(err error) error {
	if errors.Is(err, model.ErrNoIndex) {
		return shell.Hint(err, `List the indexes with "retwis model list".`)
	}
	return err
}

// conditions parses conditions on the fields of a model.
func conditions(m *model.Model, texts []string) ([]model.Cond, error) {
	fields := m.Fields()
	columns := make([]index.Column, len(fields))
	kinds := map[string]string{}
	for i, f := range fields {
		kind := f.Kind
		if f.Element != "" {
			kind = f.Element
		}
		kinds[f.Name] = kind
		columns[i] = index.Column{Name: f.Name, Type: columnType(kind)}
	}
	parsed, err := shell.ParseConditions(texts, columns)
	if err != nil {
		return nil, err
	}
	var all []model.Cond
	for _, c := range parsed {
		if kinds[c.Column] == "duration" {
			if err := parseDurations(&c); err != nil {
				return nil, shell.Usage(err)
			}
		}
		all = append(all, conditionsFor.New(c))
	}
	return all, nil
}

// columnType returns the column type that parses the values of a kind.
func columnType(kind string) index.Type {
	switch kind {
	case "bool":
		return index.Bool
	case "int":
		return index.Int
	case "uint":
		return index.Uint
	case "float":
		return index.Float
	case "time", "unix":
		return index.Time
	}
	return index.String
}

// parseDurations converts the values of a condition to durations.
func parseDurations(c *shell.Condition) error {
	for _, v := range []*any{&c.Low, &c.High} {
		text, ok := (*v).(string)
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || c.Operator == "*" {
			return fmt.Errorf("%s: %q is not a duration such as 1h30m", c.Column, text)
		}
		*v = d
	}
	return nil
}

var conditionsFor = shell.Conditions[model.Cond]{
	Eq: model.Eq, AtLeast: model.AtLeast, AtMost: model.AtMost, Above: model.Above, Below: model.Below,
	Between: model.Between, Prefix: model.Prefix,
}

// recordPrinter prints records.
type recordPrinter struct {
	*shell.Printer
	c        *shell.Command
	declared []model.FieldInfo
	header   bool // whether the header has been printed
}

func newRecordPrinter(c *shell.Command, m *model.Model) *recordPrinter {
	stored := slices.DeleteFunc(m.Fields(), func(f model.FieldInfo) bool { return f.Computed })
	return &recordPrinter{Printer: c.NewPrinter(), c: c, declared: stored}
}

// object returns a record as JSON, with numbers, bools, lists and maps as such.
func (p *recordPrinter) object(r model.Record) shell.Object {
	o := shell.Object{{Name: "id", Value: r.ID}}
	fields := shell.Object{}
	for _, f := range r.Fields {
		i := slices.IndexFunc(p.declared, func(x model.FieldInfo) bool { return x.Name == f.Name })
		fields = append(fields, shell.Field{Name: f.Name, Value: valueOf(p.declared[i].Kind, f.Value)})
	}
	return append(o, shell.Field{Name: "fields", Value: fields})
}

// valueOf returns the text of a field as JSON.
func valueOf(kind, text string) any {
	switch kind {
	case "int", "uint", "float", "unix", "json":
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case "bool":
		if text == "1" || text == "0" {
			return text == "1"
		}
	}
	return text
}

// row prints a record as a table row, or as JSON.
func (p *recordPrinter) row(r model.Record) error {
	if p.c.JSON {
		return shell.NewEncoder(p.c.Stdout).Encode(p.object(r))
	}
	if !p.header {
		p.header = true
		names := []string{"id"}
		for _, f := range p.declared {
			names = append(names, f.Name)
		}
		if err := p.Row(names...); err != nil {
			return err
		}
	}
	cells := []string{r.ID}
	for _, f := range p.declared {
		value := "-"
		for _, stored := range r.Fields {
			if stored.Name == f.Name {
				value = shell.ForTerminal(stored.Value)
			}
		}
		cells = append(cells, value)
	}
	return p.Row(cells...)
}

// fields prints the fields of a record, one per line, or as JSON.
func (p *recordPrinter) fields(r model.Record) error {
	if p.c.JSON {
		return shell.NewEncoder(p.c.Stdout).Encode(p.object(r))
	}
	if err := p.Row("id", r.ID); err != nil {
		return err
	}
	for _, f := range r.Fields {
		if err := p.Row(f.Name, shell.ForTerminal(f.Value)); err != nil {
			return err
		}
	}
	return nil
}

// more prints the cursor of the next page.
func (p *recordPrinter) more(cursor string) error {
	switch {
	case cursor == "":
		return nil
	case p.c.JSON:
		return shell.NewEncoder(p.c.Stdout).Encode(shell.Object{{Name: "after", Value: cursor}})
	}
	_, err := fmt.Fprintf(p.c.Stdout, "more: --after %s\n", cursor)
	return err
}
