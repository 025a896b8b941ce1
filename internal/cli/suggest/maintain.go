package suggest

import (
	"context"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
)

var maintenance = shell.Maintenance{
	Key: "KEY", Unit: "terms",
	New: func(verb shell.Verb) shell.Target { return &target{verb: verb} },
	Help: map[shell.Verb]shell.Help{
		shell.Verify: {
			Short: "Check that the keys of an index are consistent",
			Long: `Checks that the entries of an index, the counts stored next to them and the best terms
of each prefix agree. It works in short steps while the index is in use, and changes
nothing. The exit code is 1 if there is a problem; "suggest repair" repairs it.`,
			Example: `  retwis suggest verify words`,
		},
		shell.Repair: {
			Short: "Repair what verify finds",
			Long: `Repairs what "suggest verify" finds, in short steps while the index is in use. The counts
in KEY.content take precedence; lost counts are restored from the entries.`,
			Example: `  retwis suggest repair words --rate 10000`,
		},
		shell.Rebuild: {
			Short: "Rebuild an index from its source while it is in use",
			Long: `Rebuilds an index from the terms of files, or of standard input, in the format of
"suggest add". The old index serves until the new one replaces it in one step, with
all writes made meanwhile; blocked terms stay out.

` + shell.RebuildHelp,
			Example: `  retwis suggest rebuild words searches-of-this-year.tsv`,
		},
		shell.Adopt: {
			Short: "Turn a sorted set made by hand into an index",
			Long: `Turns a sorted set made by hand, with entries such as banana:273:Banana or banana:273, into
an index. The command works in short steps, and the index cannot be used until the command
has finished. A command that was interrupted can be run again.`,
			Example: `  retwis suggest adopt words`,
		},
	},
}

// target is the index that a maintenance command works on.
type target struct {
	declaration
	verb shell.Verb
}

// AddFlags implements shell.Target.
func (t *target) AddFlags(c *shell.Command) {
	if t.verb == shell.Rebuild || t.verb == shell.Adopt {
		t.add(c)
	}
}

// Run implements shell.Target.
func (t *target) Run(ctx context.Context, db *store.Store, key string, src shell.Source, opt shell.Options) (shell.Report, error) {
	noun := existing
	switch t.verb {
	case shell.Adopt:
		return suggest.Adopt(ctx, db.Client(), key, t.options(), opt)
	case shell.Rebuild:
		noun = t.noun()
	}
	x, err := noun.Open(ctx, db.Client(), key)
	switch {
	case err != nil:
		return shell.Report{}, err
	case t.verb == shell.Rebuild:
		return x.Rebuild(ctx, shell.NotEmpty(src, terms(src.Inputs, x)), opt)
	case t.verb == shell.Repair:
		return x.Repair(ctx, opt)
	}
	return x.Verify(ctx, opt)
}
