package registry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/model/internal/schema"
)

// keyPattern matches a key, or all keys with a prefix and a suffix of a certain form.
type keyPattern struct {
	text   string // the key or the prefix
	suffix form
}

// form is the form of a key after a prefix.
type form string

const (
	nothing  form = ""         // an exact key
	anything form = "anything" // any text, which may be empty
)

// canStartWith reports whether text of the form can start with s.
func (f form) canStartWith(s string) bool {
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	switch f {
	case nothing:
		return s == ""
	case form(schema.Counter):
		return strings.Trim(s, "0123456789") == ""
	case form(schema.ULID):
		return len(s) <= 26 && strings.Trim(strings.ToUpper(s), crockford) == ""
	}
	return true
}

// overlaps reports whether a key can match both patterns.
func (p keyPattern) overlaps(q keyPattern) bool {
	if len(p.text) > len(q.text) {
		p, q = q, p
	}
	rest, ok := strings.CutPrefix(q.text, p.text)
	return ok && p.suffix.canStartWith(rest)
}

// keySpace returns patterns for the keys of a model in its first partitions.
func keySpace(w *schema.Stored, name string, partitions int) []keyPattern {
	all := []keyPattern{}
	if w.IDs == schema.Counter {
		all = append(all, keyPattern{schema.CounterOf(name, w.Counter), nothing})
	}
	for _, x := range w.Indexes {
		if x.At != "" {
			all = append(all, keyPattern{x.At, nothing})
		}
	}
	for _, k := range schema.Partitions(name, w.Record, w.Partitions)[:min(partitions, w.Partitions)] {
		all = append(all, keyPattern{k.RecordPrefix, form(w.IDs)})
		for _, key := range []string{k.Content, k.All, k.Meta, k.Expires, k.Voids} {
			all = append(all, keyPattern{key, nothing})
		}
		for _, key := range []string{k.Index(""), k.Base + ".of.", k.Lock("")} {
			all = append(all, keyPattern{key, anything})
		}
	}
	return all
}

func (p keyPattern) String() string {
	if p.suffix == nothing {
		return strconv.Quote(p.text)
	}
	return strconv.Quote(p.text + "…")
}

// Neighbour is another model of the database.
type Neighbour struct {
	Name string
	schema.Stored
	meta map[string]string
}

// CheckOwnKeys returns an error if the model would use a key for two purposes.
func (g *Registry) CheckOwnKeys() error {
	w := g.Layout.Stored()
	all := append(keySpace(&w, g.Layout.Name, 1), keyPattern{ModelsKey, nothing})
	for i, p := range all {
		for _, q := range all[:i] {
			if p.overlaps(q) {
				return fmt.Errorf("the keys %s and %s of the model can be equal: choose other keys in Options.Keys", p, q)
			}
		}
	}
	return nil
}

// Neighbours returns the other models of the database, omitting unreadable ones: a program may
// have access to its own keys only.
func (g *Registry) Neighbours(ctx context.Context) ([]Neighbour, error) {
	list, err := g.client.Do(ctx, g.client.B().Hgetall().Key(ModelsKey).Build()).AsStrMap()
	if _, refused := rueidis.IsRedisErr(err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Neighbour
	var commands rueidis.Commands
	for name, partitions := range list {
		n, err := strconv.Atoi(partitions)
		if name == g.Layout.Name || err != nil || n < 1 || n > keys.MaxPartitions {
			continue
		}
		all = append(all, Neighbour{Name: name})
		commands = append(commands, g.client.B().Hgetall().Key(schema.Partitions(name, "", n)[0].Meta).Build())
	}
	if len(commands) == 0 {
		return nil, nil
	}
	for i, reply := range g.client.DoMulti(ctx, commands...) {
		meta, err := reply.AsStrMap()
		if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
			return nil, err
		}
		if err != nil || meta["digest"] == "" {
			continue // its keys were deleted
		}
		if w, _, err := schema.ParseStored(meta["schema"]); err == nil && w.Partitions >= 1 && w.Partitions <= keys.MaxPartitions {
			all[i].Stored, all[i].meta = w, meta
		}
	}
	return slices.DeleteFunc(all, func(n Neighbour) bool { return n.Partitions == 0 }), nil
}

// checkNeighbours returns an error if a key of the model could belong to another model. If
// later is set, it checks only models whose names sort before the name of this model, so that
// one of two conflicting models stays.
func (g *Registry) checkNeighbours(ctx context.Context, later bool) error {
	all, err := g.Neighbours(ctx)
	if err != nil {
		return err
	}
	own := g.Layout.Stored()
	for _, n := range all {
		if later && g.Layout.Name < n.Name {
			continue
		}
		// If both models have partitions, comparing the first partitions is enough: every key
		// contains the number of its partition.
		ours, theirs := len(g.Layout.Parts), n.Partitions
		if g.Layout.Spread() && n.Partitions > 1 {
			ours, theirs = 1, 1
		}
		for _, p := range keySpace(&own, g.Layout.Name, ours) {
			for _, q := range keySpace(&n.Stored, n.Name, theirs) {
				if p.overlaps(q) {
					return fmt.Errorf("%w: its keys %s can be keys %s of model %s: choose another Options.Name, or Options.Keys.Record",
						schema.ErrDeclaration, p, q, n.Name)
				}
			}
		}
	}
	return nil
}

// Has reports whether a key belongs to the model by a prefix longer than prefixLen bytes.
func (n *Neighbour) Has(key string, prefixLen int) bool {
	for _, q := range keySpace(&n.Stored, n.Name, n.Partitions) {
		rest, ok := strings.CutPrefix(key, q.text)
		if ok && len(q.text) > prefixLen && q.suffix.canStartWith(rest) {
			return true
		}
	}
	return false
}

// TargetField returns the prefix of the fields of meta that name the models that a field refers
// to.
func TargetField(field string) string { return "refers:" + field + ":" }

// RefersTo reports whether a field refers to a model: as published or, if nothing was
// published, by the name of the Go type. Without published targets, a reference to the Go type
// of the referring model itself refers to that model.
func (n *Neighbour) RefersTo(r schema.Reference, model string, s *schema.Schema) bool {
	known := false
	for field := range n.meta {
		known = known || strings.HasPrefix(field, TargetField(r.Field))
	}
	if known {
		return n.meta[TargetField(r.Field)+model] != ""
	}
	name := s.TypeName
	return name != "" && strings.EqualFold(r.Target, name) && !strings.EqualFold(r.Target, n.Type)
}
