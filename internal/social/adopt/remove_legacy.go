package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
)

// ErrNotConverted: the database holds a site of 2009 that has not been
// converted; Adopt does it.
var ErrNotConverted = errors.New("the database holds a site of 2009 that has not been converted")

// NotConverted returns ErrNotConverted for a database of 2009 that has not been
// converted. beside reports that the database holds another site too, so that
// Adopt will not convert it. Two round trips.
func (d Database) NotConverted(ctx context.Context) (beside bool, err error) {
	b := d.client.B()
	var old bool
	for _, key := range []string{key2009NextUserID, key2009NextPostID, key2009Timeline} {
		exists, err := d.client.Do(ctx, b.Exists().Key(key).Build()).AsBool()
		if err != nil {
			return false, fmt.Errorf("social: %w", err)
		}
		old = old || exists
	}
	state, err := reply.Text(d.client.Do(ctx, b.Get().Key(layout.LegacyState).Build()))
	if err != nil {
		return false, err
	}
	if !old && state == "" || state == stateConverted {
		return false, nil
	}
	version, err := reply.Text(d.client.Do(ctx, b.Get().Key(layout.LayoutVersion).Build()))
	if err != nil {
		return false, err
	}
	return version != "", ErrNotConverted
}

// LegacyKeys are the old keys of one kind in a converted database.
type LegacyKeys struct {
	Kind string // counters, users, names, sessions, follows, timelines or posts
	// Removed keys were removed, or would be: their content is in the new layout.
	// Kept keys were not converted; Example is one of them.
	Removed, Kept int64
	Example       string
}

// RemoveLegacy removes the old keys of a converted database of 2009, or only counts
// them. Keys that were not converted stay. It scans all keys in short steps and
// may run while the site is in use; an interrupted run can be repeated. It returns
// ErrNotConverted for a database that has not been converted yet.
func (d Database) RemoveLegacy(ctx context.Context, remove bool) ([]LegacyKeys, error) {
	if _, err := d.NotConverted(ctx); err != nil {
		return nil, err
	}
	c, err := newConversion(d, func(int64) {})
	if err != nil {
		return nil, err
	}
	r := &removal{c: c, remove: remove, kinds: map[string]*LegacyKeys{}}
	state, err := reply.Text(d.client.Do(ctx, d.client.B().Get().Key(layout.LegacyState).Build()))
	if err != nil || state == "" {
		return nil, err
	}
	err = d.keys(ctx, "*", func(keys []string, _ int64) error {
		for part := range slices.Chunk(keys, conversionPart) {
			if err := r.part(ctx, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("social: remove the old keys: %w", err)
	}
	all, kept := r.result()
	if remove && kept == 0 {
		err = d.client.Do(ctx, d.client.B().Del().Key(layout.LegacyState).Build()).Error()
	}
	return all, err
}

type removal struct {
	c      *conversion
	remove bool
	kinds  map[string]*LegacyKeys
}

// legacyKey is a key of the old layout by its name.
type legacyKey struct {
	name      string
	kind      string // of LegacyKeys
	redisType string
	uid, pid  int64 // the id in the name, if there is one
	username  string
}

// parseLegacy reads the name of a key.
func parseLegacy(name string) (legacyKey, bool) {
	k := legacyKey{name: name, redisType: "string"}
	switch {
	case name == key2009NextUserID || name == key2009NextPostID:
		k.kind = "counters"
		return k, true
	case name == key2009Timeline:
		k.kind, k.redisType = "timelines", "list"
		return k, true
	}
	if uid, field, ok := parse2009(name); ok {
		k.uid = uid
		switch field {
		case "followers", "following":
			k.kind, k.redisType = "follows", "set"
		case "posts":
			k.kind, k.redisType = "timelines", "list"
		default:
			k.kind = "users"
		}
		return k, true
	}
	if rest, ok := strings.CutPrefix(name, prefixLegacyPost); ok {
		k.kind = "posts"
		k.pid, ok = layout.ParseID(rest)
		return k, ok
	}
	if rest, ok := strings.CutPrefix(name, prefix2009Name); ok {
		k.kind = "names"
		k.username, ok = strings.CutSuffix(rest, ":uid")
		if !ok {
			k.username, ok = strings.CutSuffix(rest, ":id")
		}
		return k, ok
	}
	k.kind = "sessions"
	return k, strings.HasPrefix(name, prefix2009Auth)
}

// part removes the converted keys among these.
func (r *removal) part(ctx context.Context, names []string) error {
	var keys []legacyKey
	var types rueidis.Commands
	b := r.c.d.client.B()
	for _, name := range names {
		if k, ok := parseLegacy(name); ok {
			keys = append(keys, k)
			types = append(types, b.Type().Key(name).Build())
		}
	}
	if len(keys) == 0 {
		return nil
	}
	res := r.c.d.client.DoMulti(ctx, types...)
	converted := make([]bool, len(keys))
	err := storage.AtOnce(len(keys), func(i int) error {
		kind, err := res[i].ToString()
		if err != nil || kind != keys[i].redisType {
			return err
		}
		converted[i], err = r.converted(ctx, keys[i])
		return err
	})
	if err != nil {
		return err
	}
	var remove rueidis.Commands
	for i, k := range keys {
		if kind, _ := res[i].ToString(); kind == "none" {
			continue
		}
		r.count(k, converted[i])
		if converted[i] {
			remove = append(remove, b.Unlink().Key(k.name).Build())
		}
	}
	if !r.remove || len(remove) == 0 {
		return nil
	}
	return reply.FirstError(r.c.d.client.DoMulti(ctx, remove...))
}

// converted reports whether the content of a key is in the new layout.
func (r *removal) converted(ctx context.Context, k legacyKey) (bool, error) {
	c, b := r.c, r.c.d.client.B()
	switch k.kind {
	case "posts":
		known, err := c.known(ctx, c.posts, layout.PostPrefix, "user_id", []int64{k.pid})
		return known[k.pid], err
	case "names", "sessions":
		value, err := reply.TextOrEmpty(c.d.client.Do(ctx, b.Getrange().Key(k.name).Start(0).End(maxDigits).Build()))
		if err != nil {
			return false, err
		}
		uid, ok := layout.ParseID(value)
		if !ok {
			return false, nil
		}
		if k.kind == "names" {
			owner, err := reply.Text(c.d.client.Do(ctx, b.Hget().Key(layout.Users).Field(k.username).Build()))
			return owner == value, err
		}
		known, err := c.known(ctx, c.users, layout.UserPrefix, "username", []int64{uid})
		return known[uid], err
	}
	if k.uid == 0 {
		return true, nil
	}
	known, err := c.known(ctx, c.users, layout.UserPrefix, "username", []int64{k.uid})
	return known[k.uid], err
}

func (r *removal) count(k legacyKey, converted bool) {
	kind := r.kinds[k.kind]
	if kind == nil {
		kind = &LegacyKeys{Kind: k.kind}
		r.kinds[k.kind] = kind
	}
	if converted {
		kind.Removed++
		return
	}
	kind.Kept++
	kind.Example = k.name
}

// result returns the kinds by name, and how many keys stay.
func (r *removal) result() (all []LegacyKeys, kept int64) {
	for _, kind := range r.kinds {
		all = append(all, *kind)
		kept += kind.Kept
	}
	slices.SortFunc(all, func(a, b LegacyKeys) int { return strings.Compare(a.Kind, b.Kind) })
	return all, kept
}
