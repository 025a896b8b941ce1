package text

import (
	"context"
	"strconv"
	"strings"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/scan"
)

// storedKey is a key of a generation.
type storedKey struct {
	key        string
	part       int
	generation string
	number     int64  // of the generation
	kind       string // ids, rare, tail, dir or seg
	name       string // the part after the kind: a term, or a number
}

// pageKeys is the number of keys examined in a step of a scan.
const pageKeys = 500

// storedKeys yields the keys of all generations, in pages, in one scan of the keyspace. A key
// may occur twice.
func (x *store) storedKeys(ctx context.Context, yield func([]storedKey) error) error {
	for page, err := range scan.Keys(ctx, x.set.Client, scan.Pattern{Match: x.pattern(), Count: pageKeys}) {
		if err != nil {
			return err
		}
		var found []storedKey
		for _, key := range page.Keys {
			if k, ok := x.parseKey(key); ok {
				found = append(found, k)
			}
		}
		if err := yield(found); err != nil {
			return err
		}
	}
	return nil
}

// pattern returns a glob pattern for the keys of generations in all partitions.
func (x *store) pattern() string {
	name := x.keys[0].Index
	if len(x.keys) == 1 {
		return escape(name) + ".*"
	}
	before, after, _ := strings.Cut(name, ".0}") // see keys.Spread
	return escape(before) + ".*}" + escape(after) + ".*"
}

// escape escapes a text for a glob pattern.
func escape(text string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`).Replace(text)
}

// parseKey parses a key, and reports whether it belongs to a generation.
func (x *store) parseKey(key string) (k storedKey, ok bool) {
	for i := range x.keys {
		rest, found := strings.CutPrefix(key, x.keys[i].Index+".")
		if !found {
			continue
		}
		generation, rest, _ := strings.Cut(rest, ".")
		kind, name, isKey := strings.Cut(rest, ":")
		number, _ := strconv.ParseInt(generation, 10, 64)
		if strconv.FormatInt(number, 10) != generation || number < 0 || !isKey {
			continue
		}
		switch kind {
		case "ids", "rare", "tail", "dir", "seg":
			return storedKey{key, i, generation, number, kind, name}, true
		}
	}
	return k, false
}

// highest returns the highest generation with keys, for each partition with keys.
func (x *store) highest(ctx context.Context, run *engine.Run) (map[int]int64, error) {
	highest := map[int]int64{}
	return highest, x.storedKeys(ctx, func(page []storedKey) error {
		for _, k := range page {
			highest[k.part] = max(highest[k.part], k.number)
		}
		return run.Pace(ctx, 0)
	})
}

// raise ensures that no generation with keys is reused.
func (x *store) raise(ctx context.Context, highest map[int]int64) error {
	for i, n := range highest {
		args := append(x.set.Args(), strconv.FormatInt(n, 10))
		if err := x.scripts.raise.Run(ctx, x.set.Client, x.keys[i].All(), args).Error(); err != nil {
			return err
		}
	}
	return nil
}

// drop removes unused keys, in steps. After each step it calls after, unless nil, with the
// number of keys of the step.
func (x *store) drop(ctx context.Context, unused func(storedKey) bool, after func(context.Context, int) error) (n int64, err error) {
	err = x.storedKeys(ctx, func(page []storedKey) error {
		for _, k := range page {
			if !unused(k) {
				continue
			}
			deleted, err := x.set.Client.Do(ctx, x.set.Client.B().Unlink().Key(k.key).Build()).AsInt64()
			if err != nil {
				return err
			}
			n += deleted
		}
		if after != nil {
			return after(ctx, len(page))
		}
		return nil
	})
	return n, err
}
