package model

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/nodes"
	"retwis/internal/scan"
)

// part is one walk of a run: through a key of each partition, or through the keys
// of each server.
type part struct {
	name   string
	places []string
	// step looks at the next page of a place, from a cursor; "" is both the
	// beginning and the end.
	step func(ctx context.Context, place int, cursor string) (looked int, next string, err error)
}

// walk goes through parts in turn, from the cursor of the run. The cursor of a
// step is told when it is done: name of the run, part, place, cursor.
func (r *run) walk(ctx context.Context, name string, parts []part) error {
	at, place, cursor, err := r.start(name, parts)
	if err != nil {
		return err
	}
	for ; at < len(parts); at, place = at+1, 0 {
		for ; place < len(parts[at].places); place++ {
			for more := true; more; more = cursor != "" {
				var n int
				if n, cursor, err = parts[at].step(ctx, place, cursor); err != nil {
					return err
				}
				if err := r.stepped(ctx, n, name+" "+behind(parts, at, place, cursor)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// walked is the cursor behind everything.
const walked = "end"

// behind is where a walk goes on.
func behind(parts []part, at, place int, cursor string) string {
	if cursor == "" {
		place++
	}
	for ; at < len(parts); at, place = at+1, 0 {
		if place < len(parts[at].places) {
			return fmt.Sprintf("%s %s %s", parts[at].name, parts[at].places[place], cursor)
		}
	}
	return walked
}

// start finds where a walk begins.
func (r *run) start(name string, parts []part) (at, place int, cursor string, err error) {
	if r.up.After == "" {
		return 0, 0, "", nil
	}
	words := strings.SplitN(r.up.After, " ", 4)
	if len(words) == 2 && words[0] == name && words[1] == walked {
		return len(parts), 0, "", nil
	}
	if len(words) == 4 && words[0] == name {
		at = slices.IndexFunc(parts, func(p part) bool { return p.name == words[1] })
		if at >= 0 {
			place = slices.Index(parts[at].places, words[2])
			if place >= 0 {
				return at, place, words[3], nil
			}
		}
	}
	return 0, 0, "", fmt.Errorf("%w: %q: begin anew", ErrCursor, shortened(r.up.After))
}

// partitions are the places of a part that walks through a key of each.
func (t *table) partitions() []string {
	all := make([]string, len(t.parts))
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return all
}

// scanned makes a part that walks through a hash or a sorted set. A page is pairs
// of a name and a value.
func (t *table) scanned(name string, hash bool, key func(*partition) string, page func(context.Context, *partition, []string) error) part {
	step := func(ctx context.Context, place int, cursor string) (int, string, error) {
		p := &t.parts[place]
		at, err := scanCursor(cursor)
		if err != nil {
			return 0, "", err
		}
		command := t.client.B().Zscan().Key(key(p)).Cursor(at).Count(upkeepStep).Build()
		if hash {
			command = t.client.B().Hscan().Key(key(p)).Cursor(at).Count(upkeepStep).Build()
		}
		entry, err := t.client.Do(ctx, command).AsScanEntry()
		if err != nil {
			return 0, "", fmt.Errorf("key %q: %w", key(p), err)
		}
		// A small one comes in one page, whatever COUNT says.
		for some := range slices.Chunk(entry.Elements, 2*upkeepStep) {
			if err := page(ctx, p, some); err != nil {
				return 0, "", err
			}
		}
		return len(entry.Elements) / 2, cursorText(entry.Cursor), nil
	}
	return part{name, t.partitions(), step}
}

func scanCursor(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q", ErrCursor, shortened(text))
	}
	return n, nil
}

func cursorText(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// scanKeys is how many keys SCAN looks at in a step.
const scanKeys = 500

// allKeys makes a part that walks through the keys of every server that begin in
// a way, of one type or of any.
func (t *table) allKeys(name string, masters []nodes.Master, prefix, kind string, page func(context.Context, []string) (int, error)) part {
	places := make([]string, len(masters))
	for i := range masters {
		places[i] = masters[i].Address
	}
	step := func(ctx context.Context, place int, cursor string) (int, string, error) {
		at, err := scanCursor(cursor)
		if err != nil {
			return 0, "", err
		}
		keys := t.client.B().Scan().Cursor(at).Match(scan.Literal(prefix) + "*").Count(scanKeys)
		command := keys.Build()
		if kind != "" {
			command = t.client.B().Scan().Cursor(at).Match(scan.Literal(prefix) + "*").Count(scanKeys).Type(kind).Build()
		}
		entry, err := masters[place].Client.Do(ctx, command).AsScanEntry()
		if err != nil {
			return 0, "", err
		}
		looked := 0
		for some := range slices.Chunk(entry.Elements, upkeepStep) {
			n, err := page(ctx, some)
			if err != nil {
				return 0, "", err
			}
			looked += n
		}
		return looked, cursorText(entry.Cursor), nil
	}
	return part{name, places, step}
}
