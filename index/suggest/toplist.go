package suggest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redis/script"
)

// topList is the result of reading a prefix in one partition.
type topList struct {
	part      int
	prefix    string
	terms     []term // in order; they include all terms that rank above the threshold
	threshold *term  // nil: terms has all terms of the prefix
	uncached  bool   // the prefix has no cached list and too many terms to read
}

// certain returns the number of terms that are certain to be the best.
func (l *topList) certain() int {
	if l.threshold == nil {
		return len(l.terms)
	}
	i, ok := slices.BinarySearchFunc(l.terms, *l.threshold, compare)
	if ok {
		i++
	}
	return i
}

// completer reads the best terms of prefixes.
type completer struct {
	client  rueidis.Client
	keys    []keys
	scripts scripts

	topK, scanLimit int // TOP_K and SCAN_LIMIT of topk.lua
}

// exact returns the k best terms with a normalized prefix.
func (c *completer) exact(ctx context.Context, prefix string, k int) ([]term, error) {
	found, err := c.topTerms(ctx, rangesOf(prefix), k)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	if len(found) > 1 {
		slices.SortFunc(all, compare)
	}
	return all[:min(k, len(all))], nil
}

// rangesOf returns the key prefixes for a normalized prefix. If it ends with a blank,
// that includes the term that ends there.
func rangesOf(prefix string) []string {
	if whole, ended := strings.CutSuffix(prefix, " "); ended {
		return []string{prefix, whole + ":"}
	}
	return []string{prefix}
}

// topTerms returns the k best terms of each prefix: one round trip, unless cached lists
// must be rebuilt or are too short.
func (c *completer) topTerms(ctx context.Context, prefixes []string, k int) ([][]term, error) {
	var wanted []topList
	for _, prefix := range prefixes {
		for part := range c.keys {
			wanted = append(wanted, topList{part: part, prefix: prefix})
		}
	}
	lists, err := c.read(ctx, wanted)
	if err != nil {
		return nil, err
	}
	found := make([][]term, len(prefixes))
	for i := range lists {
		l := &lists[i]
		if l.uncached || l.threshold != nil && l.certain() < min(k, c.topK) {
			if err := c.rebuildList(ctx, l.part, l.prefix); err != nil {
				return nil, err
			}
			again, err := c.read(ctx, lists[i:i+1])
			if err != nil {
				return nil, err
			}
			lists[i] = again[0]
		}
		terms, err := c.descend(ctx, *l, k)
		if err != nil {
			return nil, err
		}
		found[i/len(c.keys)] = append(found[i/len(c.keys)], terms...)
	}
	for i, terms := range found {
		if len(c.keys) > 1 {
			slices.SortFunc(terms, compare)
		}
		found[i] = terms[:min(k, len(terms))]
	}
	return found, nil
}

// read reads the lists of prefixes, 100 a pipeline.
func (c *completer) read(ctx context.Context, wanted []topList) ([]topList, error) {
	lists := make([]topList, 0, len(wanted))
	for piece := range slices.Chunk(wanted, 100) {
		calls := make([]script.Call, len(piece))
		for i, l := range piece {
			calls[i] = script.Call{Keys: c.keys[l.part].reading(), Args: []string{l.prefix}}
		}
		for i, r := range c.scripts.complete.RunMany(ctx, c.client, calls) {
			l, err := c.parseList(piece[i], r)
			if err != nil {
				return nil, err
			}
			lists = append(lists, l)
		}
	}
	return lists, nil
}

// parseList parses the reply of complete.lua.
func (c *completer) parseList(wanted topList, r rueidis.RedisResult) (topList, error) {
	reply, err := r.ToArray()
	if err != nil {
		return wanted, err
	}
	text, err := reply[0].ToString()
	if err != nil {
		return wanted, err
	}
	values, err := reply[1].ToArray()
	if err != nil {
		return wanted, err
	}
	l := topList{part: wanted.part, prefix: wanted.prefix, terms: make([]term, 0, len(values))}
	threshold, lines, cached := strings.Cut(text, "\n")
	var payloads []string
	if len(reply) > 2 {
		if payloads, err = payloadsOf(reply[2]); err != nil {
			return wanted, err
		}
	}
	for i, message := range values {
		value, err := message.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return l, err
		}
		var t term
		var ok bool
		if cached {
			var line string
			line, lines, _ = strings.Cut(lines, "\n")
			t, ok = parseValue(l.prefix+line, value)
		} else if t, ok = parseEntry(value); len(reply) > 2 {
			t.payload = payloads[i]
		}
		if ok {
			l.terms = append(l.terms, t)
		}
	}
	slices.SortFunc(l.terms, compare)
	if threshold != "" {
		count, key, _ := strings.Cut(threshold, ":")
		t, _ := parseCount(key, count)
		l.threshold = &t
	}
	l.uncached = !cached && len(values) > c.scanLimit
	return l, nil
}

// payloadsOf returns the payloads in values of the reverse index, some of which are nil.
func payloadsOf(reply rueidis.RedisMessage) ([]string, error) {
	values, err := reply.ToArray()
	payloads := make([]string, len(values))
	for i, message := range values {
		value, _ := message.ToString() // "" without a value
		_, payloads[i], _ = strings.Cut(value, "\n")
	}
	return payloads, err
}

// rebuildList rebuilds the cached list of a prefix, and first those of longer prefixes
// that it is made of. A step reads at most one list for each byte that follows. If one of
// them is never good enough, since counts differ from those of the entries, it returns
// index.ErrCorrupt.
func (c *completer) rebuildList(ctx context.Context, part int, prefix string) error {
	todo, asked := []string{prefix}, map[string]int{}
	for len(todo) > 0 {
		first, err := c.scripts.rebuildList.Run(ctx, c.client, c.keys[part].reading(), todo[len(todo)-1:]).ToString()
		switch {
		case err != nil:
			return err
		case asked[first] == 10: // writers may spoil one now and then
			return fmt.Errorf("%w: the counts below %q are not those of the entries: Repair corrects it", index.ErrCorrupt, first)
		case first != "":
			asked[first]++
			todo = append(todo, first)
		default:
			todo = todo[:len(todo)-1]
		}
	}
	return nil
}

// descend returns the k best terms of a prefix. While a list is too short, it is replaced
// by the lists of the prefixes one byte longer, the one with the highest threshold first.
func (c *completer) descend(ctx context.Context, l topList, k int) ([]term, error) {
	lists := []topList{l}
	for {
		var all topList
		highest := -1
		for i := range lists {
			all.terms = append(all.terms, lists[i].terms...)
			switch {
			case lists[i].uncached:
				highest, all.threshold = i, &term{count: maxCount + 1}
			case lists[i].threshold != nil && (all.threshold == nil || compare(*lists[i].threshold, *all.threshold) < 0):
				highest, all.threshold = i, lists[i].threshold
			}
		}
		if len(lists) > 1 {
			slices.SortFunc(all.terms, compare)
		}
		if n := all.certain(); highest < 0 || n >= k {
			return all.terms[:min(n, k)], nil
		}
		from := lists[highest]
		longer, err := c.scripts.children.Run(ctx, c.client, c.keys[from.part].reading()[:1], []string{from.prefix, "256", "byte"}).AsStrSlice()
		if err != nil {
			return nil, err
		}
		wanted := make([]topList, len(longer))
		for i, prefix := range longer {
			wanted[i] = topList{part: from.part, prefix: prefix}
		}
		more, err := c.read(ctx, wanted)
		if err != nil {
			return nil, err
		}
		lists = append(slices.Delete(lists, highest, highest+1), more...)
	}
}
