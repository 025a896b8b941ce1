package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// askAgain is how long the answer of the database counts. Migrate may run in
// another process.
const askAgain = time.Second

// registered is what user.meta says of a model in one partition.
type registered struct {
	digest, schema       string            // in force
	also                 string            // digest of another declaration that may write
	wanted, wantedDigest string            // of the last New that differs, since the last Migrate
	token                string            // of the numbering of the indexes
	walk                 string            // "": all records are in all indexes; see migrate_begin.lua
	indexes              map[string]string // identity to number and key, also of those that are gone
	built                map[string]bool   // by identity
}

func registeredOf(meta map[string]string) registered {
	r := registered{
		digest: meta["digest"], also: meta["also"], schema: meta["schema"], wanted: meta["wanted"], wantedDigest: meta["wanteddigest"],
		token: meta["token"], walk: meta["walk"], indexes: map[string]string{}, built: map[string]bool{},
	}
	for field, value := range meta {
		if identity, ok := strings.CutPrefix(field, "index:"); ok {
			r.indexes[identity] = value
		} else if identity, ok := strings.CutPrefix(field, "built:"); ok {
			r.built[identity] = true
		}
	}
	return r
}

// described words the identity of an index: name (what it is on).
func described(identity string) string {
	name, rest, _ := strings.Cut(identity, "=")
	return name + " (" + rest + ")"
}

// ready fails unless all records are in an index. It asks the database once a
// second at most: also whether the index is still there, which another process
// may have dropped.
func (g *registry) ready(ctx context.Context, x *indexSpec) error {
	asked, now := x.state.asked.Load(), time.Now().UnixNano()
	if now-asked >= int64(askAgain) && x.state.asked.CompareAndSwap(asked, now) {
		parts := g.parts
		if x.state.built.Load() {
			parts = parts[:1] // where it would be taken back first
		}
		built, err := g.isBuilt(ctx, x, parts)
		if err != nil {
			x.state.asked.Store(asked) // it did not answer
			return err
		}
		x.state.built.Store(built)
		if !built {
			if _, err := g.restore(ctx); err != nil {
				return err
			}
		}
	}
	if !x.state.built.Load() {
		return fmt.Errorf("%w: index %s is not built: run Migrate, in a program that declares it", ErrSchema, x.Name)
	}
	return nil
}

// isBuilt asks partitions.
func (g *registry) isBuilt(ctx context.Context, x *indexSpec, parts []partition) (bool, error) {
	field := "built:" + x.identity(g.schema)
	commands := make(rueidis.Commands, len(parts))
	for i := range parts {
		commands[i] = g.client.B().Hexists().Key(parts[i].meta).Field(field).Build()
	}
	for _, r := range g.client.DoMulti(ctx, commands...) {
		if there, err := r.AsBool(); err != nil || !there {
			return false, err
		}
	}
	return true, nil
}

// registeredIn reads what a partition says.
func (g *registry) registeredIn(ctx context.Context, p *partition) (registered, error) {
	meta, err := g.client.Do(ctx, g.client.B().Hgetall().Key(p.meta).Build()).AsStrMap()
	if err != nil {
		return registered{}, err
	}
	return registeredOf(meta), nil
}

// pending says what Migrate would do, in words.
func (g *registry) pending(r *registered) []string {
	var all []string
	identities := g.identities()
	for _, identity := range identities {
		if !r.built[identity] {
			all = append(all, "build "+described(identity))
		}
	}
	for _, identity := range slices.Sorted(maps.Keys(r.built)) {
		if !slices.Contains(identities, identity) {
			all = append(all, "drop "+described(identity))
		}
	}
	if len(all) == 0 && (r.digest != g.digest || r.walk != "") {
		all = append(all, "walk all records")
	}
	return all
}

func (g *registry) pendingAll(ctx context.Context) ([]string, error) {
	var all []string
	for i := range g.parts {
		r, err := g.registeredIn(ctx, &g.parts[i])
		if err != nil {
			return nil, err
		}
		for _, text := range g.pending(&r) {
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all, nil
}

// refresh asks, once a second at most, whether indexes have been built that were
// not.
func (g *registry) refresh(ctx context.Context) error {
	for _, x := range g.indexes {
		if x.ready() {
			continue
		}
		if err := g.ready(ctx, x); err != nil && !errors.Is(err, ErrSchema) {
			return err
		}
	}
	return nil
}
