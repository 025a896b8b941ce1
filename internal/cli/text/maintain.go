package text

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
)

var maintenance = shell.Maintenance{
	Key: "KEY", Unit: "documents", From: "post:*", Files: true, Drop: true,
	New: func(verb shell.Verb) shell.Target { return &target{verb: verb} },
	Help: map[shell.Verb]shell.Help{
		shell.Verify: {
			Short: "Check an index against itself and against its objects",
			Long: `Checks that the keys of an index are consistent, and that each document has its words.
With --from the documents are also compared with their objects: the hashes whose keys match
a pattern, with the fields text and terms. With files the documents are compared with those
of the files, in the format of "text put". The command works in short steps while the index
is in use, and changes nothing. It reports
  missing    documents of the objects that the index does not have
  stale      documents whose words differ from their object or record
  dangling   keys and lists that are damaged, and with --from documents without an object
  invalid    objects that the index cannot hold
The exit code is 1 if there is a problem.`,
			Example: `  retwis text verify posts
  retwis text verify posts --from 'post:*' --field body --rate 10000`,
		},
		shell.Repair: {
			Short: "Correct the documents that verify reports",
			Long: `Corrects the documents that "text verify" reports, in short steps while the index is in
use. With --from a document gets the words of its object, and a document without an object
is removed. With files the documents of the files are put, even if they were removed or the
index has them with another text; other documents stay unchanged. The documents of the
files are kept in memory. Damaged keys and lists are reported and not repaired: "text
rebuild" rebuilds the index.`,
			Example: `  retwis text repair posts --from 'post:*' --field body
  retwis text repair posts edited.csv`,
		},
		shell.Rebuild: {
			Short: "Rebuild an index from its objects while it is in use",
			Long: `Rebuilds an index from the hashes whose keys match a pattern (--from), with the fields
text and terms, or from files in the format of "text put". The old index serves until the
new one replaces it, with all writes made meanwhile. Documents that were removed stay out.

` + shell.RebuildHelp,
			Example: `  retwis text rebuild posts posts.csv
  retwis text rebuild posts --from 'post:*' --field body`,
		},
	},
}

// target is the index that a maintenance command works on.
type target struct {
	declaration
	verb    shell.Verb
	field   string
	changed func(flag string) bool
}

// AddFlags implements shell.Target.
func (t *target) AddFlags(c *shell.Command) {
	t.changed = c.Flags().Changed
	addField(c, &t.field)
	if t.verb == shell.Rebuild {
		t.add(c)
	}
}

// Run implements shell.Target.
func (t *target) Run(ctx context.Context, db *store.Store, key string, from shell.Source, opt shell.Options) (shell.Report, error) {
	client := db.Client()
	x, err := t.index(ctx, client, key)
	if err != nil {
		return shell.Report{}, err
	}
	src, err := t.source(ctx, client, from, x)
	switch {
	case err != nil:
		return shell.Report{}, err
	case t.verb == shell.Rebuild:
		return x.Rebuild(ctx, *src, opt)
	case t.verb == shell.Repair:
		report, err := x.Repair(ctx, src, opt)
		if errors.Is(err, index.ErrCorrupt) {
			err = shell.Hint(err, fmt.Sprintf("%q shows what is damaged; %q with the documents rebuilds the index.", "retwis text verify "+key, "retwis text rebuild "+key))
		}
		return report, err
	}
	return x.Verify(ctx, src, opt)
}

func (t *target) index(ctx context.Context, client rueidis.Client, key string) (*text.Index, error) {
	if t.verb == shell.Rebuild {
		return t.declaration.open(ctx, client, key, t.changed)
	}
	return open(ctx, client, key)
}

// source returns the source with which the index is compared, or from which it is rebuilt, or nil
// if there is none.
func (t *target) source(ctx context.Context, client rueidis.Client, from shell.Source, x *text.Index) (*index.Source[text.Document], error) {
	if from.Pattern != "" {
		src, err := hashes(client, from.Pattern, t.field)
		if err == nil {
			err = shell.CheckObjects(ctx, from, src)
		}
		return &src, err
	}
	if from.Inputs == nil {
		return nil, nil
	}
	if t.verb == shell.Repair {
		src, err := load(from.Inputs, t.field, x)
		return &src, err
	}
	src := index.Objects(shell.NotEmpty(from, objects(from.Inputs, t.field, x)))
	return &src, nil
}
