package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"retwis/internal/elapsed"
	"retwis/model/internal/schema"
)

// Dropping replaces the digest in meta while a model is deleted.
const Dropping = "dropping"

// RetryRestored calls do. If do fails because the database was emptied or restarted without its
// data, RetryRestored publishes the schema again and calls do once more.
func (g *Registry) RetryRestored(ctx context.Context, do func() error) error {
	err := do()
	if !errors.Is(err, schema.ErrSchema) {
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

// errPublished is returned if another process has published the schema in a partition that had
// none before.
var errPublished = fmt.Errorf("%w: another process has just published the schema", schema.ErrSchema)

// maxRestores limits retries while another process restores the same partitions.
const maxRestores = 10

// restore publishes the schema again in empty partitions, with this process's numbers of the
// indexes. It reports whether the declaration is in force afterwards.
func (g *Registry) restore(ctx context.Context) (restored bool, err error) {
	g.restores.Lock()
	defer g.restores.Unlock()
	for range maxRestores {
		if restored, err = g.restoreAll(ctx); !errors.Is(err, errPublished) {
			break
		}
	}
	return restored, err
}

// restoreAll is one attempt of restore: three pipelines.
func (g *Registry) restoreAll(ctx context.Context) (bool, error) {
	token := *g.token.Load()
	all, err := g.publishedAll(ctx)
	if err != nil {
		return false, err
	}
	for i := range all {
		if all[i].Digest == Dropping {
			return false, g.errDropping()
		}
		if all[i].Digest != "" {
			token = all[i].token
			if !g.sameNumbers(&all[i]) {
				return false, fmt.Errorf("%w: the database was emptied, and another process has numbered the indexes of %s differently: restart this process",
					schema.ErrSchema, g.Layout.Name)
			}
		}
	}
	inForce := true
	var empty, unnumbered []*schema.Partition
	for i := range all {
		p := &g.Layout.Parts[i]
		switch {
		case all[i].Digest == "":
			empty = append(empty, p)
		case !all[i].hasIndexes(g.Schema.Identities()):
			unnumbered = append(unnumbered, p) // another process, with different indexes, was first
		default:
			inForce = inForce && all[i].token == token && (all[i].Digest == g.Digest || all[i].also == g.Digest)
		}
	}
	if err := g.checkEmpty(ctx, empty); err != nil {
		return false, err
	}
	if _, err := g.publishIn(ctx, append(unnumbered, empty...), token, true, g.numbering()); err != nil {
		return false, err
	}
	for _, x := range g.Schema.Indexes {
		if len(empty) > 0 {
			x.State.Asked.Store(elapsed.Now())
			x.State.Built.Store(true)
		}
	}
	g.token.Store(&token)
	if _, err := g.publishName(ctx); err != nil {
		return false, err
	}
	return inForce, nil
}

// sameNumbers reports whether a meta is compatible with this process's numbers of the indexes.
func (g *Registry) sameNumbers(r *Published) bool {
	identities := map[string]string{}
	for identity, entry := range r.Indexes {
		number, _, _ := strings.Cut(entry, " ")
		identities[number] = identity
	}
	for i, given := 0, g.numbering(); i < len(given); i += 2 {
		entry, exists := r.Indexes[given[i]]
		number, _, _ := strings.Cut(given[i+1], " ")
		if exists && entry != given[i+1] || !exists && identities[number] != "" {
			return false
		}
	}
	return true
}

// hasIndexes reports whether a meta contains all indexes.
func (r *Published) hasIndexes(identities []string) bool {
	for _, identity := range identities {
		if r.Indexes[identity] == "" {
			return false
		}
	}
	return true
}

// checkEmpty returns an error if a partition without a schema has records: errPublished if
// another process has published the schema meanwhile, and may have written the records.
func (g *Registry) checkEmpty(ctx context.Context, parts []*schema.Partition) error {
	exists, err := g.exist(ctx, parts, func(p *schema.Partition) string { return p.All })
	if err != nil {
		return err
	}
	for _, p := range parts {
		if exists[p] == 0 {
			continue
		}
		now, err := g.Published(ctx, p)
		if err != nil {
			return err
		}
		if now.Digest != "" {
			return errPublished
		}
		return fmt.Errorf("%w: key %q is missing, but there are records: call New and Migrate", schema.ErrSchema, p.Meta)
	}
	return nil
}
