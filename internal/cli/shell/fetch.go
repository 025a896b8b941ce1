package shell

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"retwis/index"
)

// fetchFlags are the flags of select commands that show hashes.
type fetchFlags struct {
	pattern string
	repair  bool
}

// FetchHelp describes the flags of select commands that show hashes.
const FetchHelp = `--fetch shows the hash of each id: its key is the pattern with the id in place of {id}.
With --json each result contains its hash. Ids whose hash does not exist, and entries whose
values differ from their hash, are listed on standard error; --repair corrects them.`

// idInKey is the placeholder for the ID in the pattern of --fetch.
const idInKey = "{id}"

func (f *fetchFlags) add(c *Command) {
	c.Flags().StringVar(&f.pattern, "fetch", "", "show the hashes of the ids: their `KEY` with {id} in place of the id, as in 'user:{id}'")
	c.Flags().BoolVar(&f.repair, "repair", false, "with --fetch: correct entries that differ from their hashes")
}

func (f *fetchFlags) check(changed func(flag string) bool) error {
	switch {
	case f.repair && !changed("fetch"):
		return Usage(errors.New("--repair needs --fetch: --repair corrects the entries of the hashes that are shown"))
	case changed("fetch") && !strings.Contains(f.pattern, idInKey):
		return Usage(fmt.Errorf("--fetch: %q has no {id}: write the key of a hash with {id} in place of the id, as in 'user:{id}'", f.pattern))
	}
	return nil
}

// fetchBatch is the number of hashes that are read together. As many rows are aligned together.
const fetchBatch = tableRows

// hashPrinter prints the hashes of entries.
type hashPrinter struct {
	*Printer
	command *Command
	index   Entries
	flags   *fetchFlags
	cursor  bool     // print the cursor of each entry
	columns []string // field names, the index's columns first
	shown   bool     // the printed header has all columns
	report  Report
}

func (c *Command) newHashPrinter(x Entries, flags *fetchFlags, cursor bool) *hashPrinter {
	p := &hashPrinter{command: c, index: x, flags: flags, cursor: cursor}
	right := []bool{false}
	for _, column := range x.Columns() {
		right, p.columns = append(right, column.Right), append(p.columns, column.Name)
	}
	p.Printer = c.NewPrinter(right...)
	return p
}

// print prints the hashes of all entries, followed by the entries that disagree with them.
func (p *hashPrinter) print(ctx context.Context, entries iter.Seq2[Entry, error]) error {
	var batch []Entry
	for e, err := range entries {
		if err != nil {
			return errors.Join(err, p.End())
		}
		if batch = append(batch, e); len(batch) == fetchBatch {
			if err := p.printBatch(ctx, batch); err != nil {
				return errors.Join(err, p.End())
			}
			batch = batch[:0]
		}
	}
	if err := errors.Join(p.printBatch(ctx, batch), p.End()); err != nil {
		return err
	}
	return p.printReport()
}

func (p *hashPrinter) printBatch(ctx context.Context, batch []Entry) error {
	key := func(id string) string { return strings.ReplaceAll(p.flags.pattern, idInKey, id) }
	found, report, err := p.index.Fetch(ctx, batch, index.FetchOptions{Key: key, Repair: p.flags.repair})
	p.add(report)
	if err != nil {
		return err
	}
	p.addColumns(found)
	next := 0
	for _, e := range batch {
		var hash map[string]string // nil if the hash does not exist
		if next < len(found) && found[next].ID == e.ID {
			hash = found[next].Fields
			next++
		}
		if err := p.printHash(e, hash); err != nil {
			return err
		}
	}
	return nil
}

// addColumns adds fields that have no column yet.
func (p *hashPrinter) addColumns(found []index.Fetched) {
	names := map[string]bool{}
	for _, hash := range found {
		for name, value := range hash.Fields {
			if name == "id" && value == hash.ID {
				continue // already in the first column
			}
			if !slices.Contains(p.columns, name) {
				names[name] = true
			}
		}
	}
	if len(names) > 0 {
		p.columns, p.shown = append(p.columns, slices.Sorted(maps.Keys(names))...), false
	}
}

// printHash prints a hash. Missing hashes appear only in JSON.
func (p *hashPrinter) printHash(e Entry, hash map[string]string) error {
	if p.json != nil {
		object := Object{{"id", e.ID}}
		for i, v := range e.Values {
			_, json := p.index.Format(i, v)
			object = append(object, Field{p.index.Columns()[i].Name, json})
		}
		object = append(object, Field{"hash", hash})
		if p.cursor {
			object = append(object, Field{"cursor", e.Cursor})
		}
		return p.Print(object)
	}
	if hash == nil {
		return nil
	}
	if !p.shown {
		p.shown = true
		header := []string{"id"}
		for _, name := range p.columns {
			if name == "id" {
				name = "hash id"
			}
			header = append(header, name)
		}
		if p.cursor {
			header = append(header, "cursor")
		}
		if err := p.Row(header...); err != nil {
			return err
		}
	}
	cells := []string{e.ID}
	for _, name := range p.columns {
		cells = append(cells, hash[name])
	}
	if p.cursor {
		cells = append(cells, e.Cursor)
	}
	return p.Row(cells...)
}

// add adds the report of a batch.
func (p *hashPrinter) add(r Report) {
	all := &p.report
	all.Missing, all.Stale, all.Dangling, all.Invalid = all.Missing+r.Missing, all.Stale+r.Stale, all.Dangling+r.Dangling, all.Invalid+r.Invalid
	all.Repaired += r.Repaired
	all.Examples = append(all.Examples, r.Examples[:min(len(r.Examples), maxFetchProblems-len(all.Examples))]...)
}

// maxFetchProblems limits the number of problems shown.
const maxFetchProblems = 10

// printReport prints to standard error which entries disagree with their hashes.
func (p *hashPrinter) printReport() error {
	problems := p.report.Problems()
	if problems == 0 {
		return nil
	}
	w := p.command.Stderr
	printExamples(w, p.report)
	if more := problems - int64(len(p.report.Examples)); more > 0 {
		fmt.Fprintf(w, "… and %d more\n", more)
	}
	fmt.Fprintf(w, "entries that disagree with their hashes: %d, repaired: %d\n", problems, p.report.Repaired)
	if !p.flags.repair {
		fmt.Fprintln(w, "Correct them with --repair.")
	}
	return nil
}
