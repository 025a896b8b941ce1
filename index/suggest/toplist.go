package suggest

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/script"
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

// topTerms returns the k best terms of each prefix: one round trip, unless cached lists
// must be rebuilt or are too short.
func (x *Index) topTerms(ctx context.Context, prefixes []string, k int) ([][]term, error) {
	var wanted []topList
	for _, prefix := range prefixes {
		for part := range x.keys {
			wanted = append(wanted, topList{part: part, prefix: prefix})
		}
	}
	lists, err := x.read(ctx, wanted)
	if err != nil {
		return nil, err
	}
	found := make([][]term, len(prefixes))
	for i := range lists {
		l := &lists[i]
		if l.uncached || l.threshold != nil && l.certain() < min(k, x.topK) {
			if err := x.rebuildList(ctx, l.part, l.prefix); err != nil {
				return nil, err
			}
			again, err := x.read(ctx, lists[i:i+1])
			if err != nil {
				return nil, err
			}
			lists[i] = again[0]
		}
		terms, err := x.descend(ctx, *l, k)
		if err != nil {
			return nil, err
		}
		found[i/len(x.keys)] = append(found[i/len(x.keys)], terms...)
	}
	for i, terms := range found {
		if len(x.keys) > 1 {
			slices.SortFunc(terms, compare)
		}
		found[i] = terms[:min(k, len(terms))]
	}
	return found, nil
}

// read reads the lists of prefixes, 100 a pipeline.
func (x *Index) read(ctx context.Context, wanted []topList) ([]topList, error) {
	lists := make([]topList, 0, len(wanted))
	for piece := range slices.Chunk(wanted, 100) {
		calls := make([]script.Call, len(piece))
		for i, l := range piece {
			calls[i] = script.Call{Keys: x.keys[l.part].reading(), Args: []string{l.prefix}}
		}
		for i, r := range x.scripts.complete.RunMany(ctx, x.set.Client, calls) {
			l, err := x.parseList(piece[i], r)
			if err != nil {
				return nil, err
			}
			lists = append(lists, l)
		}
	}
	return lists, nil
}

// parseList parses the reply of complete.lua.
func (x *Index) parseList(wanted topList, r rueidis.RedisResult) (topList, error) {
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
	for _, message := range values {
		value, err := message.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return l, err
		}
		var t term
		var ok bool
		if cached {
			var line string
			line, lines, _ = strings.Cut(lines, "\n")
			t, ok = parseCount(l.prefix+line, value)
		} else {
			t, ok = parseEntry(value)
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
	l.uncached = !cached && len(values) > x.scanLimit
	return l, nil
}

// rebuildList rebuilds the cached list of a prefix, and first those of longer prefixes
// that it is made of. A step reads at most one list for each byte that follows.
func (x *Index) rebuildList(ctx context.Context, part int, prefix string) error {
	todo := []string{prefix}
	for len(todo) > 0 {
		first, err := x.scripts.rebuildList.Run(ctx, x.set.Client, x.keys[part].reading(), todo[len(todo)-1:]).ToString()
		switch {
		case err != nil:
			return err
		case first != "":
			todo = append(todo, first)
		default:
			todo = todo[:len(todo)-1]
		}
	}
	return nil
}

// descend returns the k best terms of a prefix. While a list is too short, it is replaced
// by the lists of the prefixes one byte longer, the one with the highest threshold first.
func (x *Index) descend(ctx context.Context, l topList, k int) ([]term, error) {
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
		longer, err := x.scripts.children.Run(ctx, x.set.Client, x.keys[from.part].reading()[:1], []string{from.prefix, "256", "byte"}).AsStrSlice()
		if err != nil {
			return nil, err
		}
		wanted := make([]topList, len(longer))
		for i, prefix := range longer {
			wanted[i] = topList{part: from.part, prefix: prefix}
		}
		more, err := x.read(ctx, wanted)
		if err != nil {
			return nil, err
		}
		lists = append(slices.Delete(lists, highest, highest+1), more...)
	}
}
