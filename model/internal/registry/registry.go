package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"

	"retwis/internal/elapsed"
	"retwis/internal/redis/script"
	"retwis/model/internal/schema"
)

//go:embed register.lua
var registerLua string

var registerScript = script.New(registerLua)

// Registry publishes the schema of a model in the database, and holds the numbers of its
// indexes there.
type Registry struct {
	client   rueidis.Client
	Layout   *schema.Layout
	Schema   *schema.Schema
	Digest   string
	token    atomic.Pointer[string] // token of the numbers of the indexes
	restores sync.Mutex             // serializes restore
}

// New returns the registry of a model that is not published yet.
func New(client rueidis.Client, l *schema.Layout, s *schema.Schema) *Registry {
	return &Registry{client: client, Layout: l, Schema: s}
}

// publish publishes the schema, and reads the names and states of the indexes in the
// database.
func (g *Registry) publish(ctx context.Context) error {
	w := g.Layout.Stored()
	g.Digest = schema.DigestOf(w.Expires, g.Schema.Identities())
	parts, err := g.publishedFirst(ctx)
	if err != nil {
		return err
	}
	// The first partition numbers the indexes; the others adopt its numbers, in one pipeline.
	reply, err := g.publishIn(ctx, parts[:1], rand.Text()[:8], false, nil)
	if err == nil {
		err = g.takeNumbers(true, reply[0])
	}
	if err != nil {
		return err
	}
	token := reply[0][1]
	replies, err := g.publishIn(ctx, parts[1:], token, true, g.numbering())
	if err != nil {
		return err
	}
	for _, reply := range replies {
		if err := g.takeNumbers(false, reply); err != nil {
			return err
		}
	}
	g.token.Store(&token)
	g.Layout.Arrange()
	return nil
}

// publishedFirst returns the partitions, sorted so that partitions with a meta key come first.
// A partition may have lost its meta key with its server, or New was interrupted.
func (g *Registry) publishedFirst(ctx context.Context) ([]*schema.Partition, error) {
	all := make([]*schema.Partition, len(g.Layout.Parts))
	for i := range g.Layout.Parts {
		all[i] = &g.Layout.Parts[i]
	}
	if !g.Layout.Spread() {
		return all, nil
	}
	exists, err := g.exist(ctx, all, func(p *schema.Partition) string { return p.Meta })
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b *schema.Partition) int { return cmp.Compare(exists[b], exists[a]) })
	return all, nil
}

// exist returns the partitions in which a key exists, mapped to 1: one pipeline.
func (g *Registry) exist(ctx context.Context, parts []*schema.Partition, key func(*schema.Partition) string) (map[*schema.Partition]int64, error) {
	commands := make(rueidis.Commands, len(parts))
	for i, p := range parts {
		commands[i] = g.client.B().Exists().Key(key(p)).Build()
	}
	exists := map[*schema.Partition]int64{}
	for i, reply := range g.client.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return nil, err
		}
		exists[parts[i]] = n
	}
	return exists, nil
}

// numbering returns the numbers of the indexes as arguments of register.lua.
func (g *Registry) numbering() []string {
	var given []string
	for _, x := range g.Schema.Indexes {
		given = append(given, x.Identity(g.Schema), fmt.Sprintf("%d %s", x.Number, x.Key))
	}
	return given
}

// publishIn runs register.lua in partitions: one pipeline.
func (g *Registry) publishIn(ctx context.Context, parts []*schema.Partition, token string, follow bool, given []string) ([][]string, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	w := g.Layout.Stored()
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	following := ""
	if follow {
		following = "follow"
	}
	args := append([]string{g.Digest, string(text), w.Fixed(), token, following, strconv.Itoa(len(given) / 2)}, given...)
	for _, x := range g.Schema.Indexes {
		args = append(args, x.Name, x.Identity(g.Schema))
	}
	calls := make([]script.Call, len(parts))
	for i, p := range parts {
		calls[i] = script.Call{Keys: []string{p.Meta, p.All}, Args: args}
		if !follow && !g.Layout.Spread() {
			calls[i].Keys = append(calls[i].Keys, g.legacyKeys()...)
		}
	}
	replies := make([][]string, len(parts))
	for i, reply := range registerScript.RunMany(ctx, g.client, calls) {
		if replies[i], err = g.registered(parts[i], reply); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// registered decodes a reply of register.lua, or returns its error.
func (g *Registry) registered(p *schema.Partition, r rueidis.RedisResult) ([]string, error) {
	reply, err := r.AsStrSlice()
	if e, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(e.Error(), "SCHEMA ") {
		w := g.Layout.Stored()
		return nil, fmt.Errorf("%w: %s stores %s, not %s", schema.ErrSchema, g.Layout.Name, strings.TrimPrefix(e.Error(), "SCHEMA "), w.Fixed())
	} else if ok && strings.HasPrefix(e.Error(), "DROPPING") {
		return nil, g.errDropping()
	} else if ok && strings.HasPrefix(e.Error(), "OTHER ") {
		return nil, fmt.Errorf("%w: the records of %s have the fields %s, and %s has no field in common with them: choose another Options.Name, or Drop them first",
			schema.ErrDeclaration, g.Layout.Name, strings.TrimPrefix(e.Error(), "OTHER "), g.Schema.TypeName)
	}
	if err == nil && len(reply) != 2+3*len(g.Schema.Indexes) {
		err = fmt.Errorf("%w: %s", schema.ErrCorrupt, p.Meta)
	}
	return reply, err
}

// errDropping returns the error for a model that is being deleted.
func (g *Registry) errDropping() error {
	return fmt.Errorf("%w: the model is being deleted: wait until Drop has finished", schema.ErrSchema)
}

// legacyKeys returns keys that exist if another program stored records before the model.
func (g *Registry) legacyKeys() []string {
	var all []string
	if g.Layout.IDs == schema.Counter && g.client.Mode() != rueidis.ClientModeCluster {
		all = append(all, g.Layout.Counter)
	}
	for _, x := range g.Schema.Indexes {
		if x.At != "" {
			all = append(all, x.At)
		}
	}
	return all
}

// takeNumbers sets the numbers, keys and states of the indexes from a reply of register.lua.
func (g *Registry) takeNumbers(first bool, reply []string) error {
	for i, x := range g.Schema.Indexes {
		number, err := strconv.Atoi(reply[2+3*i])
		if err != nil {
			return fmt.Errorf("%w: %s: %w", schema.ErrCorrupt, g.Layout.Parts[0].Meta, err)
		}
		if key := reply[3+3*i]; first {
			x.Number, x.Key = number, key
		} else if x.Number != number || x.Key != key {
			return fmt.Errorf("%w: index %s has different numbers in the partitions", schema.ErrCorrupt, x.Name)
		}
		x.State.Asked.Store(elapsed.Now())
		x.State.Built.Store((first || x.State.Built.Load()) && reply[4+3*i] == "1")
	}
	return nil
}

// publishName adds the name of the model to the list of models, and reports whether the name is
// new. If the server refuses the write, because the program may only write its own keys, the
// model is not listed but otherwise works.
func (g *Registry) publishName(ctx context.Context) (added bool, err error) {
	n, err := g.client.Do(ctx, g.client.B().Hset().Key(ModelsKey).FieldValue().
		FieldValue(g.Layout.Name, strconv.Itoa(len(g.Layout.Parts))).Build()).AsInt64()
	if _, ok := rueidis.IsRedisErr(err); ok {
		return false, nil
	}
	return n == 1, err
}

// Stamp returns the text that scripts compare with meta before they use the numbers of the
// indexes: the digest of the declaration and the token of the numbers.
func (g *Registry) Stamp() string { return g.Digest + *g.token.Load() }

// SchemaError returns the error for a declaration that is not in force.
func (g *Registry) SchemaError() error {
	return fmt.Errorf("%w: another process has migrated %s, or Migrate must be run first: Pending lists what it would do", schema.ErrSchema, g.Layout.Name)
}

// Adopt sets the numbers of the indexes as published. It returns the numbers of the indexes
// that need the Go type, each between commas.
func (g *Registry) Adopt(r *Published, expires string) (opaque string, err error) {
	identities := g.Schema.Identities()
	g.Digest = schema.DigestOf(expires, identities)
	g.token.Store(&r.token)
	for i, x := range g.Schema.Indexes {
		number, key, _ := strings.Cut(r.Indexes[identities[i]], " ")
		if x.Number, err = strconv.Atoi(number); err != nil {
			return "", fmt.Errorf("%w: index %s has no number", schema.ErrCorrupt, x.Name)
		}
		x.Key = key
		if g.Schema.Computed(x) {
			opaque += "," + number
		}
	}
	if opaque != "" {
		opaque += ","
	}
	return opaque, nil
}

// ModelsKey is the key of a hash that maps the names of all models that New has opened to their
// numbers of partitions. On a Cluster the hash is in its own slot, so every New writes it
// separately.
const ModelsKey = "models"

// Published reads the meta of a partition.
func (g *Registry) Published(ctx context.Context, p *schema.Partition) (Published, error) {
	meta, err := g.client.Do(ctx, g.client.B().Hgetall().Key(p.Meta).Build()).AsStrMap()
	if err != nil {
		return Published{}, err
	}
	return ParsePublished(meta), nil
}

// publishedAll reads the meta of all partitions: one pipeline.
func (g *Registry) publishedAll(ctx context.Context) ([]Published, error) {
	commands := make(rueidis.Commands, len(g.Layout.Parts))
	for i := range g.Layout.Parts {
		commands[i] = g.client.B().Hgetall().Key(g.Layout.Parts[i].Meta).Build()
	}
	all := make([]Published, len(commands))
	for i, reply := range g.client.DoMulti(ctx, commands...) {
		meta, err := reply.AsStrMap()
		if err != nil {
			return nil, err
		}
		all[i] = ParsePublished(meta)
	}
	return all, nil
}
