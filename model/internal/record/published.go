package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// askAgain is how long an answer of the database is used. Migrate may run in another
// process.
const askAgain = time.Second

// Published is what user.meta says of a model in one partition.
type Published struct {
	Digest, Schema       string            // in force
	also                 string            // digest of another declaration that may write
	Wanted, WantedDigest string            // of the last New with another declaration, since the last Migrate
	token                string            // of the numbers of the indexes
	migration            string            // "": all records are in all indexes; see migrate_begin.lua
	Indexes              map[string]string // identity to number and key, including those of dropped indexes
	built                map[string]bool   // by identity
}

func ParsePublished(meta map[string]string) Published {
	r := Published{
		Digest: meta["digest"], also: meta["also"], Schema: meta["schema"], Wanted: meta["wanted"], WantedDigest: meta["wanteddigest"],
		token: meta["token"], migration: meta["walk"], Indexes: map[string]string{}, built: map[string]bool{},
	}
	for field, value := range meta {
		if identity, ok := strings.CutPrefix(field, "index:"); ok {
			r.Indexes[identity] = value
		} else if identity, ok := strings.CutPrefix(field, "built:"); ok {
			r.built[identity] = true
		}
	}
	return r
}

// DescribeIndex formats the identity of an index: name (columns and options).
func DescribeIndex(identity string) string {
	name, rest, _ := strings.Cut(identity, "=")
	return name + " (" + rest + ")"
}

// CheckBuilt fails unless all records are in an index. It asks the database once a
// second at most, also whether another process has dropped the index.
func (g *Registry) CheckBuilt(ctx context.Context, x *schema.Index) error {
	asked, now := x.State.Asked.Load(), time.Now().UnixNano()
	if now-asked >= int64(askAgain) && x.State.Asked.CompareAndSwap(asked, now) {
		parts := g.Parts
		if x.State.Built.Load() {
			parts = parts[:1] // where a migration would drop it first
		}
		built, err := g.IsBuilt(ctx, x, parts)
		if err != nil {
			x.State.Asked.Store(asked) // there was no answer
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

// IsBuilt asks partitions whether an index is built.
func (g *Registry) IsBuilt(ctx context.Context, x *schema.Index, parts []schema.Partition) (bool, error) {
	field := "built:" + x.Identity(g.Schema)
	commands := make(rueidis.Commands, len(parts))
	for i := range parts {
		commands[i] = g.client.B().Hexists().Key(parts[i].Meta).Field(field).Build()
	}
	for _, r := range g.client.DoMulti(ctx, commands...) {
		if there, err := r.AsBool(); err != nil || !there {
			return false, err
		}
	}
	return true, nil
}

// Published reads the meta of a partition.
func (g *Registry) Published(ctx context.Context, p *schema.Partition) (Published, error) {
	meta, err := g.client.Do(ctx, g.client.B().Hgetall().Key(p.Meta).Build()).AsStrMap()
	if err != nil {
		return Published{}, err
	}
	return ParsePublished(meta), nil
}

// pendingIn describes what Migrate would do in a partition.
func (g *Registry) pendingIn(r *Published) []string {
	var all []string
	identities := g.Identities()
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

func (g *Registry) Pending(ctx context.Context) ([]string, error) {
	var all []string
	for i := range g.Parts {
		r, err := g.Published(ctx, &g.Parts[i])
		if err != nil {
			return nil, err
		}
		for _, text := range g.pendingIn(&r) {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all, nil
}

// Refresh asks, once a second at most, whether unbuilt indexes have been built.
func (g *Registry) Refresh(ctx context.Context) error {
	for _, x := range g.Indexes {
		if x.Built() {
			continue
		}
		if err := g.CheckBuilt(ctx, x); err != nil && !errors.Is(err, schema.ErrSchema) {
			return err
		}
	}
	return nil
}
