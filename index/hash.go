package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index/internal/members"
	"retwis/internal/redis/keys"
	"retwis/internal/redis/partition"
)

var (
	//go:embed hash_put.lua
	hashPutLua string
	//go:embed hash_remove.lua
	hashRemoveLua string
)

// HashMember says how an entry of a Lexical is made from a hash.
type HashMember struct {
	// Fields are the fields that Member reads.
	Fields []string
	// Member returns the member of an id, or false if a hash with these fields does not
	// belong in the index.
	Member func(id string, fields map[string]string) (string, bool, error)
}

// Limits of PutHash.
const (
	maxHashFields = 1000
	hashTries     = 10 // while others change the fields that it did not set
)

// PutHash sets fields of a hash and puts its entry in one script: either both are written,
// or nothing is. A field that the index needs and that is not set here is taken from the
// stored hash, which costs a second round trip. For the key see Composite.PutHash.
func (x *Lexical) PutHash(ctx context.Context, id, key string, fields map[string]string, of HashMember) error {
	return x.newTarget().putHash(ctx, hashWrite{id: id, key: key, fields: fields, needs: of.Fields, value: of.Member}, putLua)
}

// RemoveHash removes a hash and its entry in one script, under the conditions of PutHash.
// It reports whether the index had the entry.
func (x *Lexical) RemoveHash(ctx context.Context, id, key string) (bool, error) {
	return x.newTarget().removeHash(ctx, id, key, removeLua, "")
}

// PutHash sets fields of a hash and puts its entry in one script: either both are written,
// or nothing is. The columns are the fields of their names. One that is not among these is
// taken from the stored hash, which costs a second round trip.
//
//	err = rooms.PutHash(ctx, "90", "{rooms}:90", map[string]string{"room": "56", "price": "28.44", "view": "sea"})
//
// On a Cluster the hash must be in the hash slot of the entry: it needs the hash tag of
// PartitionKey. Elsewhere any key will do. At most 1,000 fields are set.
func (c *Composite) PutHash(ctx context.Context, id, key string, fields map[string]string) error {
	return c.lex.PutHash(ctx, id, key, fields, c.hashMember())
}

// RemoveHash removes a hash and its entry in one script, under the conditions of PutHash.
// It reports whether the index had the entry.
func (c *Composite) RemoveHash(ctx context.Context, id, key string) (bool, error) {
	return c.lex.RemoveHash(ctx, id, key)
}

// PartitionKey returns the key of the sorted set that has the entry of an id: that of the
// index, or of one of its partitions.
func (c *Composite) PartitionKey(id string) string { return c.lex.set.Of(id).Index }

func (c *Composite) hashMember() HashMember {
	var names []string
	for _, column := range c.opt.Columns {
		names = append(names, column.Name)
	}
	return HashMember{Fields: names, Member: func(id string, fields map[string]string) (string, bool, error) {
		values, ok, err := c.parse(id, fields)
		if !ok || err != nil {
			return "", false, err
		}
		m, err := c.member(id, values)
		return m.Member, true, err
	}}
}

// PutHash sets fields of a hash and puts its entry in one script: see Composite.PutHash.
func (x *Numeric[N]) PutHash(ctx context.Context, id, key string, fields map[string]string) error {
	return x.maintenance().newTarget().putHash(ctx, hashWrite{id: id, key: key, fields: fields, needs: []string{x.column.Name}, value: x.scoreOf}, numericPutLua)
}

// RemoveHash removes a hash and its entry in one script: see Composite.RemoveHash.
func (x *Numeric[N]) RemoveHash(ctx context.Context, id, key string) (bool, error) {
	return x.maintenance().newTarget().removeHash(ctx, id, key, numericRemoveLua)
}

// PartitionKey returns the key of the sorted set that has the entry of an id: that of the
// index, or of one of its partitions.
func (x *Numeric[N]) PartitionKey(id string) string { return x.set.Of(id).Index }

// scoreOf returns the score of a hash.
func (x *Numeric[N]) scoreOf(id string, fields map[string]string) (string, bool, error) {
	n, ok, err := x.parse(id, fields)
	if !ok || err != nil {
		return "", false, err
	}
	if err := checkNumber(n); err != nil {
		return "", false, err
	}
	return scoreText(n), true, nil
}

// hashWrite is a hash to write with its entry.
type hashWrite struct {
	id, key string
	fields  map[string]string
	needs   []string // the fields that the value is made from
	value   func(id string, fields map[string]string) (string, bool, error)
}

func (t *target) putHash(ctx context.Context, w hashWrite, put string) error {
	return t.wrap(ctx, t.tryPutHash(ctx, w, put))
}

func (t *target) tryPutHash(ctx context.Context, w hashWrite, put string) error {
	if err := t.checkHash(w.id, w.key); err != nil {
		return err
	}
	if len(w.fields) == 0 || len(w.fields) > maxHashFields {
		return fmt.Errorf("%w: the hash %s: %d fields to set: from 1 to %d are allowed", ErrValue, members.Shorten(w.key), len(w.fields), maxHashFields)
	}
	if len(t.set.Keys) > 1 {
		if err := t.set.Declare(ctx); err != nil {
			return err
		}
	}
	s := partition.NewScript(hashPutLua, put)
	for range hashTries {
		stored, err := t.storedFields(ctx, w)
		if err != nil {
			return err
		}
		all := maps.Clone(stored)
		maps.Copy(all, w.fields)
		value, err := t.hashValue(w, all)
		if err != nil {
			return err
		}
		args := append(t.set.Args(), strconv.Itoa(len(stored)))
		args = append(appendFields(args, stored), strconv.Itoa(len(w.fields)))
		args = append(appendFields(args, w.fields), w.id, value)
		n, err := s.Run(ctx, t.set.Client, append(t.set.Of(w.id).All(), w.key), args).AsInt64()
		if n >= 0 || err != nil {
			return err
		}
	}
	return fmt.Errorf("the hash %s was changed %d times meanwhile: put it again, with all fields that the index needs", members.Shorten(w.key), hashTries)
}

// storedFields returns the fields that the value needs and that are not set.
func (t *target) storedFields(ctx context.Context, w hashWrite) (map[string]string, error) {
	names := slices.DeleteFunc(slices.Clone(w.needs), func(name string) bool {
		_, ok := w.fields[name]
		return ok
	})
	if len(names) == 0 {
		return map[string]string{}, nil
	}
	reply := t.set.Client.Do(ctx, t.set.Client.B().Hmget().Key(w.key).Field(names...).Build())
	return fieldsOf(reply, names)
}

// hashValue returns the value of an entry from the fields of its hash.
func (t *target) hashValue(w hashWrite, fields map[string]string) (string, error) {
	value, ok, err := w.value(w.id, fields)
	if err == nil && !ok {
		err = errors.New("it does not belong in the index")
		for _, name := range w.needs {
			if _, ok := fields[name]; !ok {
				err = fmt.Errorf("it has no field %q, which the index needs", name)
			}
		}
		err = fmt.Errorf("%w: %w", ErrValue, err)
	}
	if err == nil {
		err = t.check(w.id, value)
	}
	if err != nil {
		return "", fmt.Errorf("the hash %s: %w", members.Shorten(w.key), err)
	}
	return value, nil
}

// appendFields appends the names and values of fields, sorted by name.
func appendFields(args []string, fields map[string]string) []string {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		args = append(args, name, fields[name])
	}
	return args
}

func (t *target) removeHash(ctx context.Context, id, key, remove string, args ...string) (bool, error) {
	err := t.checkHash(id, key)
	if err == nil {
		err = t.set.Check(ctx)
	}
	if err != nil {
		return false, t.wrap(ctx, err)
	}
	s := partition.NewScript(hashRemoveLua, remove)
	args = append(append(t.set.Args(), args...), id)
	n, err := s.Run(ctx, t.set.Client, append(t.set.Of(id).All(), key), args).AsInt64()
	return n > 0, t.wrap(ctx, err)
}

// checkHash refuses an id that the index does not take, and the key of a hash that no
// script can write together with the entry.
func (t *target) checkHash(id, key string) error {
	if err := checkID(id); err != nil {
		return err
	}
	own := t.set.Of(id)
	switch {
	case key == "":
		return fmt.Errorf("%w: the key of the hash of id %s is empty", ErrValue, members.Shorten(id))
	case slices.Contains(own.All(), key):
		return fmt.Errorf("%w: %s is a key of the index: give the hash another one", ErrValue, members.Shorten(key))
	case t.set.Client.Mode() == rueidis.ClientModeCluster && keys.Slot([]byte(key)) != keys.Slot([]byte(own.Index)):
		return fmt.Errorf("%w: the hash %s and the index %s are in different hash slots of the Cluster: give the hash the hash tag of the index, as in %q",
			ErrValue, members.Shorten(key), own.Index, "{"+keys.Tag(own.Index)+"}:"+id)
	}
	return nil
}
