package model

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// registry keeps the schema of a model in the database, and the numbers that its
// indexes have there.
type registry struct {
	client rueidis.Client
	*layout
	*schema
	digest   string
	token    atomic.Pointer[string] // of the numbering of the indexes
	restores sync.Mutex
}

// registerTimeout bounds the round trips of New.
const registerTimeout = 10 * time.Second

// enrol makes the model known to the database, unless its keys could be those of
// another model.
func (g *registry) enrol(ctx context.Context) error {
	if err := g.checkNeighbours(ctx, false); err != nil {
		return err
	}
	if err := g.register(ctx); err != nil {
		return err
	}
	added, err := g.publishName(ctx)
	if err != nil || !added {
		return err
	}
	// Another model may have been published at the same moment.
	if err = g.checkNeighbours(ctx, true); err != nil {
		_ = g.client.Do(ctx, g.client.B().Hdel().Key(modelsKey).Field(g.name).Build()).Error() // it is refused either way
	}
	return err
}

// register publishes the schema, and takes over what the indexes are called in the
// database and which are built.
func (g *registry) register(ctx context.Context) error {
	w := g.stored()
	g.digest = digestOf(w.Expires, g.identities())
	parts, err := g.registeredFirst(ctx)
	if err != nil {
		return err
	}
	// The first partition numbers the indexes, and the others follow.
	var given []string
	token := rand.Text()[:8]
	for i, p := range parts {
		keys := []string{p.meta, p.all}
		if !g.spread() {
			keys = append(keys, g.legacyKeys()...)
		}
		reply, err := g.registerIn(ctx, keys, token, i > 0, given)
		if err != nil {
			return err
		}
		if err := g.learn(i == 0, reply); err != nil {
			return err
		}
		token = reply[1]
		given = g.numbering()
	}
	g.token.Store(&token)
	g.place()
	return nil
}

// registeredFirst are the partitions, those first that have a meta: others may have
// lost theirs together with the server that they were on.
func (g *registry) registeredFirst(ctx context.Context) ([]*partition, error) {
	all := make([]*partition, len(g.parts))
	commands := make(rueidis.Commands, len(g.parts))
	for i := range g.parts {
		all[i] = &g.parts[i]
		commands[i] = g.client.B().Exists().Key(g.parts[i].meta).Build()
	}
	if !g.spread() {
		return all, nil
	}
	there := map[*partition]int64{}
	for i, reply := range g.client.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return nil, err
		}
		there[all[i]] = n
	}
	slices.SortStableFunc(all, func(a, b *partition) int { return cmp.Compare(there[b], there[a]) })
	return all, nil
}

// numbering is what the indexes are called, as register.lua takes it.
func (g *registry) numbering() []string {
	var given []string
	for _, x := range g.indexes {
		given = append(given, x.identity(g.schema), fmt.Sprintf("%d %s", x.number, x.key))
	}
	return given
}

// registerIn runs register.lua.
func (g *registry) registerIn(ctx context.Context, keys []string, token string, follow bool, given []string) ([]string, error) {
	w := g.stored()
	schema, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	following := ""
	if follow {
		following = "follow"
	}
	args := append([]string{g.digest, string(schema), w.fixed(), token, following, strconv.Itoa(len(given) / 2)}, given...)
	for _, x := range g.indexes {
		args = append(args, x.Name, x.identity(g.schema))
	}
	reply, err := registerScript.Run(ctx, g.client, keys, args).AsStrSlice()
	if e, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(e.Error(), "SCHEMA ") {
		if strings.Contains(e.Error(), "each record as "+encodingJSON) {
			return nil, errJSON(g.name)
		}
		return nil, fmt.Errorf("%w: %s has %s, not %s", ErrSchema, g.name, strings.TrimPrefix(e.Error(), "SCHEMA "), w.fixed())
	} else if ok && strings.HasPrefix(e.Error(), "DROPPING") {
		return nil, g.isDropping()
	}
	if err == nil && len(reply) != 2+3*len(g.indexes) {
		err = fmt.Errorf("%w: %s", ErrCorrupt, keys[0])
	}
	return reply, err
}

func (g *registry) isDropping() error {
	return fmt.Errorf("%w: the model is being deleted: let Drop come to its end", ErrSchema)
}

// legacyKeys are there where another program kept records before the model.
func (g *registry) legacyKeys() []string {
	var all []string
	if g.ids == Counter && g.client.Mode() != rueidis.ClientModeCluster {
		all = append(all, g.counter)
	}
	for _, x := range g.indexes {
		if x.At != "" {
			all = append(all, x.At)
		}
	}
	return all
}

// learn takes in what register.lua replied.
func (g *registry) learn(first bool, reply []string) error {
	for i, x := range g.indexes {
		number, err := strconv.Atoi(reply[2+3*i])
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCorrupt, g.parts[0].meta, err)
		}
		if key := reply[3+3*i]; first {
			x.number, x.key = number, key
		} else if x.number != number || x.key != key {
			return fmt.Errorf("%w: index %s has different numbers in the partitions", ErrCorrupt, x.Name)
		}
		x.state.asked.Store(time.Now().UnixNano())
		x.state.built.Store((first || x.state.built.Load()) && reply[4+3*i] == "1")
	}
	return nil
}

// publishName writes the name of the model down, and tells whether it is new. That
// a server refuses it, as where a program may write its own keys only, keeps the
// model from being listed, and from nothing else.
func (g *registry) publishName(ctx context.Context) (added bool, err error) {
	n, err := g.client.Do(ctx, g.client.B().Hset().Key(modelsKey).FieldValue().
		FieldValue(g.name, strconv.Itoa(len(g.parts))).Build()).AsInt64()
	if _, ok := rueidis.IsRedisErr(err); ok {
		return false, nil
	}
	return n == 1, err
}

// stamp is what scripts compare with meta before they rely on the numbers of the
// indexes: the digest of the declaration and the token of the numbering.
func (g *registry) stamp() string { return g.digest + *g.token.Load() }

// otherSchema words what scripts reply to a declaration that is not in force.
func (g *registry) otherSchema() error {
	return fmt.Errorf("%w: another process has migrated %s, or Migrate is to be run first", ErrSchema, g.parts[0].base)
}

// adopt takes over the numbers of the indexes from what is stored. It returns the
// indexes that need the Go type, as align.lua takes them.
func (g *registry) adopt(r *registered, expires string) (opaque string, err error) {
	identities := g.schema.identities()
	g.digest = digestOf(expires, identities)
	g.token.Store(&r.token)
	for i, x := range g.schema.indexes {
		number, key, _ := strings.Cut(r.indexes[identities[i]], " ")
		if x.number, err = strconv.Atoi(number); err != nil {
			return "", fmt.Errorf("%w: index %s has no number", ErrCorrupt, x.Name)
		}
		x.key = key
		if g.schema.computed(x) {
			opaque += "," + number
		}
	}
	if opaque != "" {
		opaque += ","
	}
	return opaque, nil
}
