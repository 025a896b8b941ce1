package model

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// keyPattern is a key, or all keys that begin with some text and go on in a way.
type keyPattern struct {
	text string
	rest form
}

// form is what follows the text of a pattern.
type form string

const (
	nothing  form = ""         // it is a whole key
	anything form = "anything" // also nothing
)

// starts tells whether something of the form begins with s.
func (f form) starts(s string) bool {
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	switch f {
	case nothing:
		return s == ""
	case form(Counter):
		return strings.Trim(s, "0123456789") == ""
	case form(ULID):
		return len(s) <= 26 && strings.Trim(strings.ToUpper(s), crockford) == ""
	}
	return true
}

// meets tells whether a key can be of both patterns.
func (p keyPattern) meets(q keyPattern) bool {
	if len(p.text) > len(q.text) {
		p, q = q, p
	}
	rest, ok := strings.CutPrefix(q.text, p.text)
	return ok && p.rest.starts(rest)
}

// keySpace are the keys of a model: those of a partition, or of all.
func (w *stored) keySpace(name string, partitions int) []keyPattern {
	opt := Options{Name: name, Partitions: w.Partitions, Keys: Keys{Record: w.Record, Counter: w.Counter}}
	all := []keyPattern{}
	if w.IDs == Counter {
		all = append(all, keyPattern{opt.counter(), nothing})
	}
	for _, x := range w.Indexes {
		if x.At != "" {
			all = append(all, keyPattern{x.At, nothing})
		}
	}
	for _, k := range opt.spread()[:min(partitions, w.Partitions)] {
		all = append(all, keyPattern{k.record, form(w.IDs)})
		for _, key := range []string{k.content, k.all, k.meta, k.expires, k.changes, k.voids, k.waiting} {
			all = append(all, keyPattern{key, nothing})
		}
		for _, key := range []string{k.index(""), k.base + ".of.", k.lock("")} {
			all = append(all, keyPattern{key, anything})
		}
	}
	return all
}

// checkName refuses names that read like a key of another model.
func (o *Options) checkName() error {
	if o.Name == modelsKey {
		return fmt.Errorf("Options.Name is %q: the list of models is called so: choose another name", o.Name)
	}
	k := keysOf("", "")
	for _, key := range []string{k.content, k.all, k.meta, k.expires, k.changes, k.voids, k.waiting, ".lock"} {
		if model, ok := strings.CutSuffix(o.Name, key); ok {
			return fmt.Errorf("Options.Name is %q: a model called %q has keys like that: choose another name", o.Name, model)
		}
	}
	for _, key := range []string{k.index(""), ".of.", k.lock("")} {
		if model, _, ok := strings.Cut(o.Name, key); ok {
			return fmt.Errorf("Options.Name is %q: a model called %q has keys like that: choose another name", o.Name, model)
		}
	}
	return nil
}

func (p keyPattern) String() string {
	if p.rest == nothing {
		return strconv.Quote(p.text)
	}
	return strconv.Quote(p.text + "…")
}

// neighbour is another model of the database.
type neighbour struct {
	name string
	stored
	meta map[string]string
}

// checkOwnKeys refuses keys of which one model would need two for different
// things.
func (g *registry) checkOwnKeys() error {
	w := g.stored()
	all := append(w.keySpace(g.name, 1), keyPattern{modelsKey, nothing})
	for i, p := range all {
		for _, q := range all[:i] {
			if p.meets(q) {
				return fmt.Errorf("the keys %s and %s of the model can be the same: choose others in Options.Keys", p, q)
			}
		}
	}
	return nil
}

// neighbours are the other models of the database. Those that cannot be read are
// left out: a program may be allowed to see its own keys only.
func (g *registry) neighbours(ctx context.Context) ([]neighbour, error) {
	list, err := g.client.Do(ctx, g.client.B().Hgetall().Key(modelsKey).Build()).AsStrMap()
	if _, refused := rueidis.IsRedisErr(err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []neighbour
	var commands rueidis.Commands
	for name, partitions := range list {
		n, err := strconv.Atoi(partitions)
		if name == g.name || err != nil || n < 1 || n > maxPartitions {
			continue
		}
		opt := Options{Name: name, Partitions: n}
		all = append(all, neighbour{name: name})
		commands = append(commands, g.client.B().Hgetall().Key(opt.spread()[0].meta).Build())
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
		if w, _, err := parseStored(meta["schema"]); err == nil && w.Partitions >= 1 && w.Partitions <= maxPartitions {
			all[i].stored, all[i].meta = w, meta
		}
	}
	return slices.DeleteFunc(all, func(n neighbour) bool { return n.Partitions == 0 }), nil
}

// checkNeighbours refuses a model of which a key could be one of another model.
// later: only one whose name comes after that of the other, so that of two that
// meet one stays.
func (g *registry) checkNeighbours(ctx context.Context, later bool) error {
	all, err := g.neighbours(ctx)
	if err != nil {
		return err
	}
	mine := g.stored()
	for _, n := range all {
		if later && g.name < n.name {
			continue
		}
		// The same number of a partition is part of the keys of both.
		ours, theirs := len(g.parts), n.Partitions
		if g.spread() && n.Partitions > 1 {
			ours, theirs = 1, 1
		}
		for _, p := range mine.keySpace(g.name, ours) {
			for _, q := range n.keySpace(n.name, theirs) {
				if p.meets(q) {
					return fmt.Errorf("%w: its keys %s can be keys %s of model %s: choose another Options.Name, or Options.Keys.Record",
						ErrDeclaration, p, q, n.name)
				}
			}
		}
	}
	return nil
}

// has reports whether a key is one of the model, by more than its first bytes.
func (n *neighbour) has(key string, more int) bool {
	for _, q := range n.keySpace(n.name, n.Partitions) {
		rest, ok := strings.CutPrefix(key, q.text)
		if ok && len(q.text) > more && q.rest.starts(rest) {
			return true
		}
	}
	return false
}
