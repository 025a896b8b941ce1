package maintain

import (
	"context"
	"iter"
	"time"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/scan"
	"retwis/maintain"
	"retwis/model/internal/record"
	"retwis/model/internal/registry"
	"retwis/model/internal/schema"
)

// Report is the result of Verify, Repair, Migrate or Drop.
type Report struct {
	maintain.Report
	Unknown     int64    // keys that could be records, but were neither written by the model nor adopted
	UnknownKeys []string // examples of these keys
}

// step is the number of records or entries checked in a step.
const step = 100

// run is a Verify, Repair, Migrate or Drop in progress.
type run struct {
	engine      *engine.Run
	t           *record.Table
	mode        Mode
	unknown     int64
	unknownKeys []string
	others      []registry.Neighbour // the other models of the database
	othersRead  bool
	waitLeft    time.Duration // remaining time that a dry run waits for slow writers
}

// Mode selects what a run does with the problems that it finds.
type Mode string

// The modes, with their names in scripts.
const (
	DryRun  Mode = "verify"
	Repair  Mode = "repair"
	migrate Mode = "migrate" // repairs, and removes entries of indexes that are no longer declared
)

func newRun(t *record.Table, m Mode, opt maintain.Options) *run {
	return &run{engine: engine.Start(opt), t: t, mode: m, waitLeft: t.Patience}
}

// result returns the report of the run.
func (r *run) result() Report {
	return Report{r.engine.Report, r.unknown, r.unknownKeys}
}

// repaired counts repaired problems, unless this is a dry run.
func (r *run) repaired(n int) {
	if r.mode != DryRun {
		r.engine.Report.Repaired += int64(n)
	}
}

// foundUnknown counts keys that the model did not write.
func (r *run) foundUnknown(p *schema.Partition, ids []string) {
	r.unknown += int64(len(ids))
	for _, id := range ids {
		if len(r.unknownKeys) < r.engine.Examples() {
			r.unknownKeys = append(r.unknownKeys, p.Record(id))
		}
	}
}

// each calls check for the pages of a hash or sorted set in each partition. A page has
// alternating names and values.
func (r *run) each(ctx context.Context, pages func(ctx context.Context, p *schema.Partition) iter.Seq2[[]string, error], check func(ctx context.Context, p *schema.Partition, pairs []string) error) error {
	for i := range r.t.Layout.Parts {
		p := &r.t.Layout.Parts[i]
		err := r.engine.Pages(ctx, pages(ctx, p), func(pairs []string) (int, error) {
			return len(pairs) / 2, check(ctx, p, pairs)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachHash calls check for the pages of a hash in each partition.
func (r *run) eachHash(ctx context.Context, key func(*schema.Partition) string, check func(ctx context.Context, p *schema.Partition, pairs []string) error) error {
	return r.each(ctx, func(ctx context.Context, p *schema.Partition) iter.Seq2[[]string, error] {
		return scan.Hash(ctx, r.t.Client, key(p), step)
	}, check)
}

// eachSortedSet calls check for the pages of a sorted set in each partition.
func (r *run) eachSortedSet(ctx context.Context, key func(*schema.Partition) string, check func(ctx context.Context, p *schema.Partition, pairs []string) error) error {
	return r.each(ctx, func(ctx context.Context, p *schema.Partition) iter.Seq2[[]string, error] {
		return scan.SortedSet(ctx, r.t.Client, key(p), step)
	}, check)
}

// scanKeys is the number of keys examined in a step of SCAN.
const scanKeys = 500

// eachKey calls check for pages of the keys with a prefix on all servers. check returns how
// many of the keys count as checked.
func (r *run) eachKey(ctx context.Context, prefix, kind string, check func(keys []string) (int, error)) error {
	pattern := scan.Pattern{Match: scan.Literal(prefix) + "*", Type: kind, Count: scanKeys}
	for page, err := range scan.Keys(ctx, r.t.Client, pattern) {
		if err != nil {
			return err
		}
		checked := 0
		for len(page.Keys) > 0 {
			keys := page.Keys[:min(step, len(page.Keys))]
			page.Keys = page.Keys[len(keys):]
			n, err := check(keys)
			if err != nil {
				return err
			}
			checked += n
		}
		if err := r.engine.Step(ctx, checked); err != nil {
			return err
		}
	}
	return nil
}

// names returns the names of a page of alternating names and values.
func names(pairs []string) []string {
	all := make([]string, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, pairs[i])
	}
	return all
}
