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
	terms     []term  // sorted; includes all terms that rank above the threshold
	threshold *term   // nil: terms contains all terms of the prefix
	read      int     // number of entries read, if there is no cached list
	now       float64 // the time of the server; see add.lua
}

// certain returns the number of leading terms that are certain to be the best.
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

// cached parses a cached list, whose text starts with the threshold, and the values of its
// members.
func (l topList) cached(text string, values rueidis.RedisMessage) (topList, error) {
	all, err := values.ToArray()
	if err != nil {
		return l, err
	}
	threshold, lines, _ := strings.Cut(text, "\n")
	l.terms = make([]term, 0, len(all))
	for _, message := range all {
		var line string
		line, lines, _ = strings.Cut(lines, "\n")
		value, _ := message.ToString() // "" for a removed term
		if t, ok := parseValue(l.prefix+line, value); ok {
			l.terms = append(l.terms, t)
		}
	}
	if count, name, found := strings.Cut(threshold, "\t"); found {
		t, _ := parseValue(name, count)
		l.threshold = &t
	}
	return l, nil
}

// topTerms returns the k best terms of each prefix, and the time of the server: one round
// trip, unless cached lists must be rebuilt or are too short.
func (x *Index) topTerms(ctx context.Context, prefixes []string, k int) (found [][]term, now float64, err error) {
	var wanted []topList
	for _, prefix := range prefixes {
		for part := range x.keys {
			wanted = append(wanted, topList{part: part, prefix: prefix})
		}
	}
	lists, err := x.read(ctx, wanted)
	if err != nil {
		return nil, 0, err
	}
	found = make([][]term, len(prefixes))
	for i := range lists {
		l := &lists[i]
		if l.read > x.scanLimit || l.threshold != nil && l.certain() < min(k, x.topK) {
			if err := x.rebuildList(ctx, l.part, l.prefix); err != nil {
				return nil, 0, err
			}
			rebuilt, err := x.read(ctx, lists[i:i+1])
			if err != nil {
				return nil, 0, err
			}
			lists[i] = rebuilt[0]
		}
		terms, err := x.descend(ctx, *l, k)
		if err != nil {
			return nil, 0, err
		}
		found[i/len(x.keys)] = append(found[i/len(x.keys)], terms...)
		now = l.now
	}
	for i, terms := range found {
		slices.SortFunc(terms, compare)
		found[i] = terms[:min(k, len(terms))]
	}
	return found, now, nil
}

// read reads the lists of prefixes, 100 per pipeline.
func (x *Index) read(ctx context.Context, wanted []topList) ([]topList, error) {
	lists := make([]topList, 0, len(wanted))
	for chunk := range slices.Chunk(wanted, 100) {
		calls := make([]script.Call, len(chunk))
		for i, l := range chunk {
			calls[i] = script.Call{Keys: x.keys[l.part].reading(), Args: []string{l.prefix, x.opt.halfLife()}}
		}
		for i, r := range x.scripts.complete.RunMany(ctx, x.set.Client, calls) {
			l, err := parseList(topList{part: chunk[i].part, prefix: chunk[i].prefix}, r)
			if err != nil {
				return nil, err
			}
			slices.SortFunc(l.terms, compare)
			l.terms = slices.Compact(l.terms) // a damaged list may contain a term twice
			lists = append(lists, l)
		}
	}
	return lists, nil
}

// rebuildList rebuilds the cached list of a prefix, after the lists of longer prefixes on which
// it depends. A step reads at most one list per possible next byte. If one of these lists is
// still too short after ten attempts, because counts differ from those of the entries, it
// returns index.ErrCorrupt.
func (x *Index) rebuildList(ctx context.Context, part int, prefix string) error {
	pending, attempts := []string{prefix}, map[string]int{}
	for len(pending) > 0 {
		first, err := x.scripts.rebuildList.Run(ctx, x.set.Client, x.keys[part].reading(), pending[len(pending)-1:]).ToString()
		switch {
		case err != nil:
			return err
		case attempts[first] == 10: // writers may invalidate a list now and then
			return fmt.Errorf("%w: the counts below %q differ from those of the entries: Repair corrects them", index.ErrCorrupt, first)
		case first != "":
			attempts[first]++
			pending = append(pending, first)
		default:
			pending = pending[:len(pending)-1]
		}
	}
	return nil
}

// descend returns the k best terms of a prefix. While there are too few certain terms, the list
// with the highest threshold is replaced by the lists of the prefixes one byte longer.
func (x *Index) descend(ctx context.Context, l topList, k int) ([]term, error) {
	lists := []topList{l}
	for {
		var all topList
		highest := -1
		for i := range lists {
			all.terms = append(all.terms, lists[i].terms...)
			switch {
			case lists[i].read > x.scanLimit:
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
