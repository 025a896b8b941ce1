package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// dropping is what meta says in the place of the digest while a model is deleted.
const dropping = "dropping"

// again does something, and once more where it failed because the database had been
// emptied, or had come back without its data, and the model is registered again.
func (g *registry) again(ctx context.Context, do func() error) error {
	err := do()
	if !errors.Is(err, ErrSchema) {
		return err
	}
	restored, failed := g.restore(ctx)
	switch {
	case failed != nil:
		return failed
	case !restored:
		return err
	}
	return do()
}

// restore registers the model again in partitions that are empty, with the numbers
// that its indexes have here, and tells whether its declaration may be written by
// now.
func (g *registry) restore(ctx context.Context) (bool, error) {
	g.restores.Lock()
	defer g.restores.Unlock()
	token, all := *g.token.Load(), make([]registered, len(g.parts))
	for i := range g.parts {
		var err error
		if all[i], err = g.registeredIn(ctx, &g.parts[i]); err != nil {
			return false, err
		}
		if all[i].digest == dropping {
			return false, g.isDropping()
		}
		if all[i].digest != "" {
			token = all[i].token
			if !g.numberedAs(&all[i]) {
				return false, fmt.Errorf("%w: the database was emptied, and another process has numbered the indexes of %s otherwise: start this one again",
					ErrSchema, g.name)
			}
		}
	}
	may := true
	for i := range all {
		p := &g.parts[i]
		switch {
		case all[i].digest == "":
			if err := g.restoreIn(ctx, p, token); err != nil {
				return false, err
			}
		case !g.known(&all[i]):
			// Another process, with other indexes, was first.
			if _, err := g.registerIn(ctx, []string{p.meta, p.all}, token, true, g.numbering()); err != nil {
				return false, err
			}
		default:
			may = may && all[i].token == token && (all[i].digest == g.digest || all[i].also == g.digest)
		}
	}
	g.token.Store(&token)
	if _, err := g.publishName(ctx); err != nil {
		return false, err
	}
	return may, nil
}

// numberedAs tells whether a meta does not number the indexes otherwise than this
// process does.
func (g *registry) numberedAs(r *registered) bool {
	of := map[string]string{}
	for identity, called := range r.indexes {
		number, _, _ := strings.Cut(called, " ")
		of[number] = identity
	}
	for i, given := 0, g.numbering(); i < len(given); i += 2 {
		called, there := r.indexes[given[i]]
		number, _, _ := strings.Cut(given[i+1], " ")
		if there && called != given[i+1] || !there && of[number] != "" {
			return false
		}
	}
	return true
}

// known tells whether a meta has all indexes.
func (g *registry) known(r *registered) bool {
	for _, identity := range g.identities() {
		if r.indexes[identity] == "" {
			return false
		}
	}
	return true
}

// restoreIn registers the model in a partition that is empty.
func (g *registry) restoreIn(ctx context.Context, p *partition, token string) error {
	there, err := g.client.Do(ctx, g.client.B().Exists().Key(p.all).Build()).AsBool()
	if err != nil {
		return err
	}
	if there {
		return fmt.Errorf("%w: key %q is gone, and records are there: call New and Migrate", ErrSchema, p.meta)
	}
	if _, err := g.registerIn(ctx, []string{p.meta, p.all}, token, true, g.numbering()); err != nil {
		return err
	}
	for _, x := range g.indexes {
		x.state.asked.Store(time.Now().UnixNano())
		x.state.built.Store(true)
	}
	return nil
}
