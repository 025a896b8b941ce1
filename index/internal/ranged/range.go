package ranged

import (
	"fmt"
	"slices"
	"strings"

	"retwis/internal/ordered"
	"retwis/internal/redis/scan"
)

// Range is a range of members. Its ends have the syntax of ZRANGEBYLEX or, in a scored index,
// of ZRANGEBYSCORE.
type Range struct{ Min, Max string }

// All is the range of all members.
func All() Range { return Range{"-", "+"} }

// WithPrefix returns the range of members that start with a prefix.
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

// clip returns the ranges in reading order, starting at the cursor. For a scored index it also
// returns the item to read after.
func (q *Query) clip(scored bool) (all []Range, after Item, err error) {
	ranges := q.Ranges
	if len(ranges) == 0 {
		ranges = []Range{All()}
		if scored {
			ranges = []Range{AllScores().Range()}
		}
	}
	cursor, err := scan.DecodeCursor(q.After)
	if err == nil && scored && q.After != "" {
		after, err = parseCursor(cursor)
	}
	if err != nil {
		return nil, Item{}, err
	}
	for _, r := range ranges {
		switch {
		case scored:
		case !isEnd(r.Min) || !isEnd(r.Max):
			return nil, Item{}, fmt.Errorf("%w: the range from %s to %s: an end must be -, +, or begin with [ or (", ordered.ErrValue, Shorten(r.Min), Shorten(r.Max))
		case q.After == "":
		case q.Reverse && beginsBefore(r.Min, cursor):
			r.Max = lowerMax(r.Max, cursor)
		case q.Reverse, !endsAfter(r.Max, cursor):
			continue
		default:
			r.Min = raiseMin(r.Min, cursor)
		}
		all = append(all, r)
	}
	if q.Reverse {
		slices.Reverse(all)
	}
	return all, after, nil
}

// isEnd reports whether end is valid for ZRANGEBYLEX.
func isEnd(end string) bool {
	return end == "-" || end == "+" || strings.HasPrefix(end, "[") || strings.HasPrefix(end, "(")
}

// beginsBefore reports whether a range that starts at min can have members before member.
func beginsBefore(min, member string) bool { return min == "-" || min != "+" && min[1:] < member }

// endsAfter reports whether a range that ends at max can have members after member.
func endsAfter(max, member string) bool { return max == "+" || max != "-" && max[1:] > member }

// lowerMax returns max, lowered to end before member.
func lowerMax(max, member string) string {
	if max == "+" || max != "-" && max[1:] >= member {
		return "(" + member
	}
	return max
}

// raiseMin returns min, raised to start after member.
func raiseMin(min, member string) string {
	if min == "-" || min != "+" && min[1:] <= member {
		return "(" + member
	}
	return min
}
