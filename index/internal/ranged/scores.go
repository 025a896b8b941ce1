package ranged

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"retwis/internal/redis/scan"
)

// Text formats a score. -0 becomes 0, since Redis treats -0 and 0 as equal.
func Text(f float64) string { return strconv.FormatFloat(f+0, 'g', -1, 64) }

// Scores is a range of scores.
type Scores struct {
	Low, High         float64
	openLow, openHigh bool // the end is excluded
}

// AllScores is the range of all scores.
func AllScores() Scores { return Scores{Low: math.Inf(-1), High: math.Inf(1)} }

// Range converts the range for a Reader.
func (r Scores) Range() Range { return Range{scoreEnd(r.Low, r.openLow), scoreEnd(r.High, r.openHigh)} }

func scoreEnd(f float64, open bool) string {
	switch {
	case open:
		return "(" + Text(f)
	case math.IsInf(f, -1):
		return "-inf" // page.lua skips a ZCOUNT for -inf
	}
	return Text(f)
}

// Raise raises the lower end of the range.
func (r *Scores) Raise(f float64, open bool) {
	if f > r.Low || f == r.Low && open {
		r.Low, r.openLow = f, open
	}
}

// Lower lowers the upper end of the range.
func (r *Scores) Lower(f float64, open bool) {
	if f < r.High || f == r.High && open {
		r.High, r.openHigh = f, open
	}
}

// Empty reports whether the range contains no number.
func (r Scores) Empty() bool {
	return r.Low > r.High || r.Low == r.High && (r.openLow || r.openHigh)
}

// Has reports whether the range contains a number.
func (r Scores) Has(f float64) bool {
	return (f > r.Low || f == r.Low && !r.openLow) && (f < r.High || f == r.High && !r.openHigh)
}

// Cursor returns the position of an item of a scored index.
func Cursor(score float64, id string) string { return scan.EncodeCursor(Text(score) + " " + id) }

// parseCursor decodes the position of an item of a scored index.
func parseCursor(cursor string) (Item, error) {
	score, id, ok := strings.Cut(cursor, " ")
	f, err := strconv.ParseFloat(score, 64)
	if !ok || err != nil || math.IsNaN(f) {
		return Item{}, errors.New("invalid cursor: use one that an earlier page returned")
	}
	return Item{Member: id, Score: f}, nil
}
