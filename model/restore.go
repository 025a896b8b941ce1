package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// again does something, and once more where it failed because the database had been
// emptied, or had come back without its data, and the model is registered again.
func (t *table) again(ctx context.Context, do func() error) error {
	err := do()
	if !errors.Is(err, ErrSchema) {
		return err
	}
	restored, failed := t.restore(ctx)
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
func (t *table) restore(ctx context.Context) (bool, error) {
	t.restores.Lock()
	defer t.restores.Unlock()
	token, all := *t.token.Load(), make([]registered, len(t.parts))
	for i := range t.parts {
		var err error
		if all[i], err = t.registeredIn(ctx, &t.parts[i]); err != nil {
			return false, err
		}
		if all[i].digest == dropping {
			return false, t.isDropping()
		}
		if all[i].digest != "" {
			token = all[i].token
			if !t.numberedAs(&all[i]) {
				return false, fmt.Errorf("%w: the database was emptied, and another process has numbered the indexes of %s otherwise: start this one again",
					ErrSchema, t.opt.Name)
			}
		}
	}
	may := true
	for i := range all {
		p := &t.parts[i]
		switch {
		case all[i].digest == "":
			if err := t.restoreIn(ctx, p, token); err != nil {
				return false, err
			}
		case !t.known(&all[i]):
			// Another process, with other indexes, was first.
			if _, err := t.registerIn(ctx, []string{p.meta, p.all}, token, true, t.numbering()); err != nil {
				return false, err
			}
		default:
			may = may && all[i].token == token && (all[i].digest == t.digest || all[i].also == t.digest)
		}
	}
	t.token.Store(&token)
	if _, err := t.publishName(ctx); err != nil {
		return false, err
	}
	return may, nil
}

// numberedAs tells whether a meta does not number the indexes otherwise than this
// process does.
func (t *table) numberedAs(r *registered) bool {
	of := map[string]string{}
	for identity, called := range r.indexes {
		number, _, _ := strings.Cut(called, " ")
		of[number] = identity
	}
	for i, given := 0, t.numbering(); i < len(given); i += 2 {
		called, there := r.indexes[given[i]]
		number, _, _ := strings.Cut(given[i+1], " ")
		if there && called != given[i+1] || !there && of[number] != "" {
			return false
		}
	}
	return true
}

// known tells whether a meta has all indexes.
func (t *table) known(r *registered) bool {
	for _, identity := range t.identities() {
		if r.indexes[identity] == "" {
			return false
		}
	}
	return true
}

// restoreIn registers the model in a partition that is empty.
func (t *table) restoreIn(ctx context.Context, p *partition, token string) error {
	there, err := t.client.Do(ctx, t.client.B().Exists().Key(p.all).Build()).AsBool()
	if err != nil {
		return err
	}
	if there {
		return fmt.Errorf("%w: key %q is gone, and records are there: call New and Migrate", ErrSchema, p.meta)
	}
	if _, err := t.registerIn(ctx, []string{p.meta, p.all}, token, true, t.numbering()); err != nil {
		return err
	}
	for _, x := range t.indexes {
		x.state.asked.Store(time.Now().UnixNano())
		x.state.built.Store(true)
	}
	return nil
}

// dropping is what meta says in the place of the digest while a model is deleted.
const dropping = "dropping"
