package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/redis/store"
)

// Entries is an index of IDs with a value in each of several columns, as used by retwis index and
// retwis space.
type Entries interface {
	RecordReader
	// Format returns a column value as text and as JSON.
	Format(column int, value any) (text string, json any)
	Create(ctx context.Context) error
	PutMany(ctx context.Context, entries iter.Seq[Entry]) (int, error)
	Remove(ctx context.Context, ids ...string) (int, error)
	Get(ctx context.Context, id string) (Entry, error)
	// Select and Count take conditions as typed by the user, such as price=10..30.
	Select(ctx context.Context, conditions []string, page index.Page) iter.Seq2[Entry, error]
	Count(ctx context.Context, conditions []string) (int64, error)
	// Fetch returns the hashes of entries and compares the entries with them.
	Fetch(ctx context.Context, entries []Entry, opt index.FetchOptions) ([]index.Fetched, Report, error)

	Verify(ctx context.Context, src Source, opt Options) (Report, error)
	Repair(ctx context.Context, src Source, opt Options) (Report, error)
	Rebuild(ctx context.Context, src Source, opt Options) (Report, error)
	Adopt(ctx context.Context, opt Options) (Report, error)
}

// RecordReader reads records with the columns of an index.
type RecordReader interface {
	Columns() []Column
	// Parse parses the values of a record and checks that the index can hold them.
	Parse(id string, texts []string) ([]any, error)
}

// Column is a column of an index.
type Column struct {
	Name  string
	Right bool // right-aligned, like numbers
}

// Entry is an entry of an index.
type Entry struct {
	ID     string
	Values []any
	Cursor string
}

// Declaration holds the flags that declare a new index.
type Declaration interface {
	Add(c *Command)
	// Open opens the index that the flags declare, or without them the existing index. changed
	// reports whether a flag is set.
	Open(ctx context.Context, client rueidis.Client, key string, changed func(flag string) bool) (Entries, error)
}

// AddPartitions adds --partitions, for a new index.
func (c *Command) AddPartitions(n *int) {
	c.Flags().IntVar(n, "partitions", 1, "on creation: spread the entries over this `NUMBER` of slots of a Cluster")
}

// CheckDeclared returns x, which flags have declared, and an error if the existing index was
// declared differently, so that a command fails before it reads input. err is the error of
// constructing x.
func CheckDeclared[X interface {
	Len(ctx context.Context) (int64, error)
}](ctx context.Context, x X, err error) (X, error) {
	if err != nil {
		return x, Usage(errors.New(OneLine(err)))
	}
	_, err = x.Len(ctx)
	return x, err
}

// EntriesNoun describes the commands of a noun that keeps entries.
type EntriesNoun struct {
	Name        string // name of the noun: index
	Unit        string // what an index holds: entries
	Declare     string // the flag that declares an index: --columns
	Declaration func() Declaration
	Open        func(ctx context.Context, client rueidis.Client, key string) (Entries, error)
	// Help holds the help of create, put, get, remove, select and count; From and Maintenance
	// configure verify, repair, rebuild and adopt.
	Help        map[string]Help
	From        string
	Maintenance map[Verb]Help
}

// Commands returns the subcommands of the noun.
func (n EntriesNoun) Commands(env Env) []*cobra.Command {
	return append([]*cobra.Command{n.create(env), n.put(env), n.get(env), n.selects(env), n.count(env), n.remove(env)},
		Maintenance{
			Key: "KEY", Unit: n.Unit, From: n.From, Help: n.Maintenance,
			New: func(verb Verb) Target { return &entriesTarget{noun: n, verb: verb} },
		}.Commands(env)...)
}

func (n EntriesNoun) command(env Env, use string, minArgs, maxArgs int) *Command {
	name, _, _ := strings.Cut(use, " ")
	help := n.Help[name]
	return New(env, &cobra.Command{Use: use, Short: help.Short, Long: help.Long, Example: help.Example, Args: Arguments(minArgs, maxArgs, "")})
}

// Noun returns a Noun that opens an existing index.
func (n EntriesNoun) Noun() Noun[Entries] { return Noun[Entries]{Open: n.open} }

func (n EntriesNoun) open(ctx context.Context, client rueidis.Client, key string) (Entries, error) {
	x, err := n.Open(ctx, client, key)
	if errors.Is(err, index.ErrNotFound) {
		err = Hint(err, fmt.Sprintf("Create it with %q.", "retwis "+n.Name+" put "+key+" "+n.Declare+" …"))
	}
	return x, err
}

// declared adds the flags of a declaration and returns a Noun that opens the declared index.
func (n EntriesNoun) declared(c *Command) Noun[Entries] {
	declaration := n.Declaration()
	declaration.Add(c)
	return Noun[Entries]{Open: func(ctx context.Context, client rueidis.Client, key string) (Entries, error) {
		return declaration.Open(ctx, client, key, c.Flags().Changed)
	}}
}

func (n EntriesNoun) create(env Env) *cobra.Command {
	c := n.command(env, "create [flags] KEY", 1, 1)
	c.Creates = true
	return n.declared(c).Build(c, "", func(ctx context.Context, x Entries, _ []string) error { return x.Create(ctx) })
}

func (n EntriesNoun) put(env Env) *cobra.Command {
	c := n.command(env, "put [flags] KEY [FILE...]", 1, -1)
	return Feed[Entries, Entry]{
		Noun:  n.declared(c),
		Unit:  n.Unit,
		Read:  func(in *Inputs, x Entries) iter.Seq2[Entry, error] { return in.Entries(x) },
		Write: Entries.PutMany,
	}.BuildPut(c)
}

// Entries yields the records of all files that fit the index and rejects the others.
func (in *Inputs) Entries(x RecordReader) iter.Seq2[Entry, error] {
	var names []string
	for _, c := range x.Columns() {
		names = append(names, c.Name)
	}
	return func(yield func(Entry, error) bool) {
		for r, err := range in.Records(names) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			values, err := x.Parse(r.ID, r.Texts)
			if err != nil {
				if err := in.Reject(r.File, r.Line, err); err != nil {
					yield(Entry{}, err)
					return
				}
				continue
			}
			in.Accept()
			if !yield(Entry{ID: r.ID, Values: values}, nil) {
				return
			}
		}
	}
}

func (n EntriesNoun) get(env Env) *cobra.Command {
	c := n.command(env, "get [flags] KEY ID...", 2, -1)
	return n.Noun().Build(c, "print each as a line of JSON", func(ctx context.Context, x Entries, ids []string) error {
		p := c.NewEntryPrinter(x)
		err := c.ShowEach(ids, func(id string) error {
			e, err := x.Get(ctx, id)
			if err != nil {
				return err
			}
			return p.Print(e)
		})
		return cmp.Or(p.End(), err)
	})
}

func (n EntriesNoun) remove(env Env) *cobra.Command {
	c := n.command(env, "remove [flags] KEY ID...", 2, -1)
	return n.Noun().Build(c, "print the summary as JSON", func(ctx context.Context, x Entries, ids []string) error {
		removed, err := x.Remove(ctx, ids...)
		if err != nil {
			return err
		}
		return c.PrintNumber("removed", int64(removed))
	})
}

func (n EntriesNoun) selects(env Env) *cobra.Command {
	c := n.command(env, "select [flags] KEY [CONDITION...]", 1, -1)
	c.SuggestFor = []string{"query"} // the former name of select
	var page PageFlags
	var fetch fetchFlags
	page.Add(c)
	fetch.add(c)
	check := func([]string) error { return cmp.Or(page.Check(), fetch.check(c.Flags().Changed)) }
	return n.Noun().BuildChecked(c, "print each as a line of JSON", check, func(ctx context.Context, x Entries, conditions []string) error {
		found := x.Select(ctx, conditions, page.Page)
		if fetch.pattern != "" {
			return c.newHashPrinter(x, &fetch, page.Cursor).print(ctx, found)
		}
		p := c.NewEntryPrinter(x)
		return PrintAll(p, found, func(e Entry) error {
			if page.Cursor {
				return p.Print(e, Field{"cursor", e.Cursor})
			}
			return p.Print(e)
		})
	})
}

func (n EntriesNoun) count(env Env) *cobra.Command {
	c := n.command(env, "count [flags] KEY [CONDITION...]", 1, -1)
	return n.Noun().Build(c, "print the number as JSON", func(ctx context.Context, x Entries, conditions []string) error {
		count, err := x.Count(ctx, conditions)
		if err != nil {
			return err
		}
		return c.PrintCount(count)
	})
}

// entriesTarget is the index that a maintenance command works on.
type entriesTarget struct {
	noun        EntriesNoun
	verb        Verb
	declaration Declaration
	changed     func(flag string) bool
}

// AddFlags implements Target.
func (t *entriesTarget) AddFlags(c *Command) {
	if t.verb == Adopt || t.verb == Rebuild {
		t.declaration, t.changed = t.noun.Declaration(), c.Flags().Changed
		t.declaration.Add(c)
	}
}

// Run implements Target.
func (t *entriesTarget) Run(ctx context.Context, db *store.Store, key string, src Source, opt Options) (Report, error) {
	open := t.noun.open
	if t.declaration != nil {
		open = func(ctx context.Context, client rueidis.Client, key string) (Entries, error) {
			return t.declaration.Open(ctx, client, key, t.changed)
		}
	}
	x, err := open(ctx, db.Client(), key)
	if err != nil {
		return Report{}, err
	}
	switch t.verb {
	case Adopt:
		return x.Adopt(ctx, opt)
	case Verify:
		return x.Verify(ctx, src, opt)
	case Repair:
		return x.Repair(ctx, src, opt)
	}
	return x.Rebuild(ctx, src, opt)
}

// EntryPrinter prints entries.
type EntryPrinter struct {
	*Printer
	index         Entries
	columns       []Column
	printedHeader bool
}

// NewEntryPrinter returns a printer for entries of x. more sets the alignment of fields that follow
// the values.
func (c *Command) NewEntryPrinter(x Entries, more ...bool) *EntryPrinter {
	p := &EntryPrinter{index: x, columns: x.Columns()}
	right := []bool{false}
	for _, column := range p.columns {
		right = append(right, column.Right)
	}
	p.Printer = c.NewPrinter(append(right, more...)...)
	return p
}

// Print prints an entry, followed by more fields.
func (p *EntryPrinter) Print(e Entry, more ...Field) error {
	object, cells := Object{{"id", e.ID}}, []string{e.ID}
	for i, v := range e.Values {
		text, json := p.index.Format(i, v)
		object, cells = append(object, Field{p.columns[i].Name, json}), append(cells, text)
	}
	for _, f := range more {
		object, cells = append(object, f), append(cells, fmt.Sprint(f.Value))
	}
	if !p.printedHeader {
		p.printedHeader = true
		var names []string
		for _, f := range object {
			names = append(names, f.Name)
		}
		if err := p.Row(names...); err != nil {
			return err
		}
	}
	return p.Printer.Print(object, cells...)
}
