package graph

import (
	"context"
	"iter"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
)

var maintenance = shell.Maintenance{
	Key: "KEY", Unit: "triples", Files: true,
	New: func(verb shell.Verb) shell.Target { return &target{verb: verb} },
	Help: map[shell.Verb]shell.Help{
		shell.Verify: {
			Short: "Check that every triple of a graph is stored in every order",
			Long: `Checks that every triple is stored in every order. It works in short steps while the
graph is in use, and changes nothing. With files it also reports which of their triples
are not in the graph. The exit code is 1 if there is a problem; "graph repair" repairs
it.`,
			Example: `  retwis graph verify people
  retwis graph verify people friends.tsv --json`,
		},
		shell.Repair: {
			Short: "Repair triples that are not stored in every order",
			Long: `Repairs what "graph verify" finds, in short steps while the graph is in use. A triple
with at least half of its orders gets the others back; a triple with fewer is removed.
Triples of the files that are missing in the graph are put.`,
			Example: `  retwis graph repair people --rate 10000
  retwis graph repair people friends.tsv`,
		},
		shell.Rebuild: {
			Short: "Rebuild a graph from its source while it is in use",
			Long: `Rebuilds a graph from the triples of files, or of standard input, in the format of
"graph put". The old graph serves until the new one replaces it in one step, with all
writes made meanwhile.

` + shell.RebuildHelp,
			Example: `  retwis graph rebuild people friends.tsv`,
		},
		shell.Adopt: {
			Short: "Turn a sorted set made by hand into a graph",
			Long: `Turns a sorted set made by hand into a graph. The set must have six entries for each
triple, such as spo:matteo:friend-of:lucio, or three with --compact. The command adds
KEY.meta, and changes no entry. Entries that belong to no triple, and triples that lack an
order, are shown and stay as they are; then the exit code is 1. "graph repair" repairs them.`,
			Example: `  retwis graph adopt people`,
		},
	},
}

// target is the graph that a maintenance command works on.
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
	if t.verb == shell.Rebuild || t.verb == shell.Adopt {
		noun = t.noun()
	}
	g, err := noun.Open(ctx, db.Client(), key)
	if err != nil {
		return shell.Report{}, err
	}
	var source iter.Seq2[graph.Triple, error]
	if src.Inputs != nil {
		source = triples(src.Inputs, g)
	}
	switch t.verb {
	case shell.Adopt:
		return g.Adopt(ctx, opt)
	case shell.Rebuild:
		return g.Rebuild(ctx, shell.NotEmpty(src, source), opt)
	case shell.Repair:
		return g.Repair(ctx, source, opt)
	}
	return g.Verify(ctx, source, opt)
}
