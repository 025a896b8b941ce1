package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/layout2009"
	"retwis/internal/social/storage"
)

var (
	// ErrForeign reports that the database has keys of other programs and no Retwis; see Share.
	ErrForeign = errors.New("the database has keys of other programs but no Retwis")
	// Err2009 reports that the database contains a site of the case study of 2009, perhaps next to
	// a site of 2014. The IDs of the site of 2009 denote different users and posts.
	Err2009 = errors.New("the database holds a site of 2009, whose keys are different")
)

// Share marks the database as belonging to this site although other programs have keys in it. Adopt
// then no longer returns ErrForeign. Nothing else separates the programs. Adopt marks an empty
// database too, so that keys written before the first registration do not count as foreign.
func (d Database) Share(ctx context.Context) error {
	err := d.client.Do(ctx, d.client.B().Set().Key(storage.LayoutOwner).Value("retwis").Build()).Error()
	if err != nil {
		return fmt.Errorf("social: share the database: %w", err)
	}
	return nil
}

// shownKeys is how many keys of other programs an error lists.
const shownKeys = 3

// claimDatabase marks a database without a site as belonging to this site. It returns ErrForeign,
// or Err2009 for a database of 2009 that has lost its counters. Keys of the toolkit are accepted.
func (d Database) claimDatabase(ctx context.Context) error {
	if claimed, err := d.isClaimed(ctx); err != nil || claimed {
		return err
	}
	var foreign []string
	metas := map[string]bool{}
	enough := errors.New("enough was seen")
	err := d.keys(ctx, "*", func(keys []string, _ int64) error {
		for _, name := range keys {
			if _, field, ok := layout2009.ParseUserKey(name); ok && field == "username" {
				return Err2009
			}
		}
		others, err := d.notToolkit(ctx, metas, keys)
		foreign = append(foreign, others...)
		if err == nil && len(foreign) >= shownKeys {
			err = enough
		}
		return err
	})
	if err != nil && !errors.Is(err, enough) {
		return err
	}
	if len(foreign) > 0 {
		// Another process of this site may have claimed the database and written the keys.
		if claimed, err := d.isClaimed(ctx); err != nil || claimed {
			return err
		}
		return d.foreignError(ctx, foreign[:min(len(foreign), shownKeys)])
	}
	return d.Share(ctx)
}

// isClaimed reports whether the database is marked as belonging to a site.
func (d Database) isClaimed(ctx context.Context) (bool, error) {
	for _, key := range []string{storage.LayoutOwner, storage.LayoutVersion} {
		text, err := reply.Text(d.client.Do(ctx, d.client.B().Get().Key(key).Build()))
		if err != nil || text != "" {
			return err == nil, err
		}
	}
	return false, nil
}

// foreignError returns an ErrForeign that lists some keys of other programs.
func (d Database) foreignError(ctx context.Context, keys []string) error {
	cmds := make(rueidis.Commands, len(keys))
	for i, name := range keys {
		cmds[i] = d.client.B().Type().Key(name).Build()
	}
	shown := make([]string, len(keys))
	for i, res := range d.client.DoMulti(ctx, cmds...) {
		kind, err := res.ToString()
		if err != nil {
			return err
		}
		shown[i] = fmt.Sprintf("%.60q (%s)", keys[i], kind)
	}
	return fmt.Errorf("%w: it has %s", ErrForeign, strings.Join(shown, ", "))
}

// notToolkit returns the keys that were not written by the toolkit. The keys of locks begin with
// "redlock:"; the keys of an index or a model have a base name for which a key NAME.meta exists.
// metas caches base names between calls.
func (d Database) notToolkit(ctx context.Context, metas map[string]bool, keys []string) ([]string, error) {
	var unknown, bases []string
	var cmds rueidis.Commands
	asked := map[string]bool{}
	for _, name := range keys {
		if strings.HasPrefix(name, "redlock:") || name == "models" || hasOwner(metas, name) {
			continue
		}
		unknown = append(unknown, name)
		for _, base := range owners(name) {
			if !asked[base] {
				asked[base] = true
				bases = append(bases, base)
				cmds = append(cmds, d.client.B().Hlen().Key(base+".meta").Build())
			}
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	if len(metas) > maxMetas {
		clear(metas)
	}
	for i, res := range d.client.DoMulti(ctx, cmds...) {
		fields, err := reply.OrEmpty(res.AsInt64())
		if err != nil {
			return nil, err
		}
		if fields > 0 {
			metas[bases[i]] = true
		}
	}
	return slices.DeleteFunc(unknown, func(name string) bool { return hasOwner(metas, name) }), nil
}

// maxMetas limits the base names that notToolkit caches.
const maxMetas = 10_000

func hasOwner(metas map[string]bool, name string) bool {
	return slices.ContainsFunc(owners(name), func(base string) bool { return metas[base] })
}

// maxOwners limits how many names owners returns.
const maxOwners = 16

// owners returns the possible names of the index or model to which a key belongs:
// "person.by.email" and "person:1" can belong to "person",
// "{rooms.3}.content" to "{rooms.3}", "next_person_id" to "person".
func owners(name string) []string {
	all := []string{name}
	if counted, ok := strings.CutPrefix(name, "next_"); ok {
		all = append(all, strings.TrimSuffix(counted, "_id"))
	}
	for i := len(name) - 1; i > 0 && len(all) < maxOwners; i-- {
		if strings.IndexByte(".:", name[i]) >= 0 {
			all = append(all, name[:i])
		}
	}
	return all
}
