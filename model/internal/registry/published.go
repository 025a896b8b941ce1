package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/elapsed"
	"retwis/model/internal/schema"
)

// RefreshInterval is how long the state of an index, as read from the database, is used.
// Another process may run Migrate meanwhile.
const RefreshInterval = time.Second

// CheckBuilt returns an error unless all records are in an index. It reads the database at most
// once a second, since another process may drop the index.
func (g *Registry) CheckBuilt(ctx context.Context, x *schema.Index) error {
	asked, now := x.State.Asked.Load(), elapsed.Now()
	if now-asked >= int64(RefreshInterval) && x.State.Asked.CompareAndSwap(asked, now) {
		parts := g.Layout.Parts
		if x.State.Built.Load() {
			parts = parts[:1] // a migration drops the index in the first partition first
		}
		built, err := g.IsBuilt(ctx, x, parts)
		if err != nil {
			x.State.Asked.Store(asked) // no reply
			return err
		}
		x.State.Built.Store(built)
		if !built {
			if _, err := g.restore(ctx); err != nil {
				return err
			}
		}
	}
	if !x.State.Built.Load() {
		return fmt.Errorf("%w: index %s is not built: run Migrate, in a program that declares it", schema.ErrSchema, x.Name)
	}
	return nil
}

// IsBuilt reports whether an index is built in partitions.
func (g *Registry) IsBuilt(ctx context.Context, x *schema.Index, parts []schema.Partition) (bool, error) {
	field := "built:" + x.Identity(g.Schema)
	commands := make(rueidis.Commands, len(parts))
	for i := range parts {
		commands[i] = g.client.B().Hexists().Key(parts[i].Meta).Field(field).Build()
	}
	for _, r := range g.client.DoMulti(ctx, commands...) {
		if built, err := r.AsBool(); err != nil || !built {
			return false, err
		}
	}
	return true, nil
}

// pendingIn describes what Migrate would do in a partition.
func (g *Registry) pendingIn(r *Published) []string {
	all := g.changedIn(r)
	identities := g.Schema.Identities()
	for _, identity := range identities {
		if !r.built[identity] {
			all = append(all, "build "+DescribeIndex(identity))
		}
	}
	for _, identity := range slices.Sorted(maps.Keys(r.built)) {
		if !slices.Contains(identities, identity) {
			all = append(all, "drop "+DescribeIndex(identity))
		}
	}
	if len(all) == 0 && (r.Digest != g.Digest || r.migration != "") {
		all = append(all, "scan all records")
	}
	return all
}

// changedIn describes fields whose declared kind has changed.
func (g *Registry) changedIn(r *Published) (all []string) {
	_, before, err := schema.ParseStored(r.Schema)
	if err != nil {
		return nil
	}
	for _, f := range g.Schema.Fields {
		if i := before.Number(f.Name); i >= 0 && !f.Computed && !before.Fields[i].Computed && f.Type() != before.Fields[i].Type() {
			all = append(all, fmt.Sprintf("change %s from %s to %s", f.Name, before.Fields[i].Type(), f.Type()))
		}
	}
	return all
}

// Changed describes fields whose declared kind has changed.
func (g *Registry) Changed(ctx context.Context) ([]string, error) {
	r, err := g.Published(ctx, &g.Layout.Parts[0])
	return g.changedIn(&r), err
}

// Pending describes what Migrate would do; see Store.Pending.
func (g *Registry) Pending(ctx context.Context) ([]string, error) {
	published, err := g.publishedAll(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	for i := range published {
		for _, text := range g.pendingIn(&published[i]) {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all, nil
}

// Refresh checks, at most once a second, whether unbuilt indexes have been built.
func (g *Registry) Refresh(ctx context.Context) error {
	for _, x := range g.Schema.Indexes {
		if x.Built() {
			continue
		}
		if err := g.CheckBuilt(ctx, x); err != nil && !errors.Is(err, schema.ErrSchema) {
			return err
		}
	}
	return nil
}
