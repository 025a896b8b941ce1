package ranged

import (
	"fmt"
	"slices"
	"strings"

	"retwis/internal/ordered"
	"retwis/internal/redis/scan"
)

// Range is a range of members, its ends as ZRANGEBYLEX takes them, or of a scored index as
// ZRANGEBYSCORE does.
type Range struct{ Min, Max string }

// All is the range of all members.
func All() Range { return Range{"-", "+"} }

// WithPrefix returns the range of the members that begin with a prefix.
func WithPrefix(prefix string) Range {
	end := ordered.Successor(prefix)
	switch {
	case prefix == "":
		return All()
	case end == "":
		return Range{"[" + prefix, "+"}
	}
	return Range{"[" + prefix, "(" + end}
}

// clip returns the ranges in the order in which they are read, and from the cursor on. Of a
// scored index it returns the item to read after.
func (q *Query) clip(scored bool) (all []Range, after Item, err error) {
	ranges := q.Ranges
	if len(ranges) == 0 {
		ranges = []Range{All()}
		if scored {
			ranges = []Range{AllScores().Range()}
		}
	}
	at, err := scan.DecodeCursor(q.After)
	if err == nil && scored && q.After != "" {
		after, err = parseCursor(at)
	}
	if err != nil {
		return nil, Item{}, err
	}
	for _, r := range ranges {
		switch {
		case scored:
		case !isEnd(r.Min) || !isEnd(r.Max):
			return nil, Item{}, fmt.Errorf("%w: the range from %s to %s: an end is -, +, or begins with [ or (", ordered.ErrValue, Shorten(r.Min), Shorten(r.Max))
		case q.After == "":
		case q.Reverse && beginsBefore(r.Min, at):
			r.Max = lowerMax(r.Max, at)
		case q.Reverse, !endsAfter(r.Max, at):
			continue
		default:
			r.Min = raiseMin(r.Min, at)
		}
		all = append(all, r)
	}
	if q.Reverse {
		slices.Reverse(all)
	}
	return all, after, nil
}

// isEnd reports whether ZRANGEBYLEX takes an end of a range.
func isEnd(end string) bool {
	return end == "-" || end == "+" || strings.HasPrefix(end, "[") || strings.HasPrefix(end, "(")
}

// beginsBefore reports whether a range that begins at min has members before at.
func beginsBefore(min, at string) bool { return min == "-" || min != "+" && min[1:] < at }

// endsAfter reports whether a range that ends at max has members after at.
func endsAfter(max, at string) bool { return max == "+" || max != "-" && max[1:] > at }

// lowerMax returns the end of a range that must also end before at.
func lowerMax(max, at string) string {
	if max == "+" || max != "-" && max[1:] >= at {
		return "(" + at
	}
	return max
}

// raiseMin returns the beginning of a range that must also begin after at.
func raiseMin(min, at string) string {
	if min == "-" || min != "+" && min[1:] <= at {
		return "(" + at
	}
	return min
}
