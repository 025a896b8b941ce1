package index

import (
	"context"
	_ "embed"

	"github.com/redis/rueidis"

	"retwis/index/internal/reverse"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

var (
	//go:embed watch.lua
	watchLua string
	//go:embed replace.lua
	replaceLua string
	//go:embed fill.lua
	fillLua string
	//go:embed finish.lua
	finishLua string
)

// Verify compares the entries with the reverse index, and with the objects of a source
// if one is given, in steps of 200. An entry that is written during the run may be
// reported although it is right.
func (x *Lexical) Verify(ctx context.Context, src *Source[string], opt maintain.Options) (maintain.Report, error) {
	return x.newTarget().verify(ctx, src, opt)
}

// Repair finds what Verify finds and corrects it. On conflict the object wins, then
// key.content, the reverse index. Each entry is compared again in the step that changes
// it, so that concurrent writes stay. What a killed run left is removed.
//
// Where the reverse index is lost, for some ids or all, it is restored from the entries.
// If an id has several of those, only an object can decide; without one they are
// reported and stay.
//
// A source needs its Lookup.
func (x *Lexical) Repair(ctx context.Context, src *Source[string], opt maintain.Options) (maintain.Report, error) {
	return x.newTarget().repair(ctx, src, opt)
}

// Rebuild makes the index anew from a source, next to the old one, which serves until
// the new one replaces it: in one step that has caught up with all that was written
// meanwhile. A concurrent write wins over the source. An id that neither has is gone.
//
// A run that fails or whose context ends changes nothing, except for partitions that it has
// replaced already. What a killed one left next to the index goes with the first write a
// minute later, or with Repair.
func (x *Lexical) Rebuild(ctx context.Context, src Source[string], opt maintain.Options) (maintain.Report, error) {
	return x.newTarget().rebuild(ctx, src, opt)
}

// newTarget adapts the index to the maintenance engine.
func (x *Lexical) newTarget() *target {
	return &target{
		set: x.set, tracker: engine.NewTracker(x.set, nil),
		watch: partition.NewScript(watchLua), replace: partition.NewScript(replaceLua),
		fill: partition.NewScript(fillLua), finish: engine.NewFinish(finishLua),
		total: func(ctx context.Context) (int64, error) {
			return x.set.Sum(ctx, func(k *partition.Keys) rueidis.Completed { return x.set.Client.B().Hlen().Key(k.Content).Build() })
		},
		entries: func(ctx context.Context, c *checker) error {
			return lexicalCheck{c, x}.run(ctx)
		},
		values:   x.members,
		check:    func(id, member string) error { return x.check(Member{id, member}) },
		describe: x.describe,
		normal:   func(member string) string { return member },
		wrap:     x.wrap,
	}
}

func (x *Lexical) reverse() reverse.Index {
	return reverse.Index{Set: x.set, ID: x.id, Valid: func(id string) bool { return checkID(id) == nil }}
}
