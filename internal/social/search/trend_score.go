package search

import (
	"math"
	"time"
)

const (
	// dayHours is the length of a day in hours: of the trend day, and of the previous day with
	// which it is compared.
	dayHours = 24
	// halfLife is the number of hours after which a person counts half.
	halfLife = 4
	// fewestPeople is the minimum number of people in a trend if few accounts are active, and
	// enoughPeople the minimum if a hundred are active. In between, the minimum is one in twenty.
	fewestPeople = 2
	enoughPeople = 5
	activeShare  = 20
	// minGrowth is the minimum growth over the previous day. With very many people, a small growth
	// is a large deviation but not a trend.
	minGrowth = 1.5
	// usualPeople is added to the people of the previous day for the standard deviation, so that
	// six people are not a greater change than sixty.
	usualPeople = 5
)

// minPeople returns the minimum number of people in a trend for a number of active accounts.
func minPeople(active int64) float64 {
	return float64(max(fewestPeople, min(enoughPeople, active/activeShare)))
}

// clock is the time of a merge.
type clock struct {
	hour int64   // the current hour
	part float64 // the part of the hour that has passed
}

// clockAt returns the clock of a merge at a time in an hour.
func clockAt(at time.Time, hour int64) clock {
	return clock{hour: hour, part: at.Sub(time.Unix(hour*int64(time.Hour/time.Second), 0)).Hours()}
}

// weight is the weight of a person counted ago hours earlier, 0 meaning the current hour. The
// weight falls continuously, also from one hour to the next.
func (c clock) weight(ago int) float64 {
	age := c.part / 2
	if ago > 0 {
		age = c.part + float64(ago) - 0.5
	}
	return math.Exp2(-age / halfLife)
}

// counts are the people in each hour of two days, starting with the hour of the merge.
type counts [2 * dayHours]float64

// weightedToday returns the weighted people of the day. A person counted in several hours counts in
// each of them.
func (c *counts) weightedToday(at clock) (sum float64) {
	for ago := range dayHours {
		sum += c[ago] * at.weight(ago)
	}
	return sum
}

// weightedBefore returns the weighted people of the previous day, with the weights that
// weightedToday gives to the same hours of the day. So a tag with the same people every evening is
// not a trend.
func (c *counts) weightedBefore(at clock) float64 {
	sum := c[dayHours] * at.weight(0) * at.part // the part that has passed of the current hour
	for ago := 1; ago < dayHours; ago++ {
		sum += c[dayHours+ago] * at.weight(ago)
	}
	return sum
}

// roughWeight estimates the weighted people of the day without knowing who was counted in several
// hours: it removes one person from each hour and counts that person once.
func (c *counts) roughWeight(at clock) float64 {
	sum, latest := 0.0, 0.0
	for ago := range dayHours {
		if c[ago] > 0 {
			sum += (c[ago] - 1) * at.weight(ago)
			latest = max(latest, at.weight(ago))
		}
	}
	return sum + latest
}

// meanWeight returns the mean weight of the people in the hours from … to-1.
func (c *counts) meanWeight(at clock, from, to int) float64 {
	people, weight := 0.0, 0.0
	for ago := from; ago < to; ago++ {
		people += c[ago]
		weight += c[ago] * at.weight(ago)
	}
	if people == 0 { // the sets of these hours had no room for the subject
		return at.weight(to - 1)
	}
	return weight / people
}

// sum returns the number of people of the day, assuming that nobody was counted in several hours.
func (c *counts) sum() (n float64) {
	for ago := range dayHours {
		n += c[ago]
	}
	return n
}

// score returns the difference between the people of a day and those of the previous day, in
// standard deviations of a number of people who arrive independently of each other. 0 means no
// trend.
func score(now, before float64) float64 {
	if now < minGrowth*before {
		return 0
	}
	return (now - before) / math.Sqrt(before+usualPeople)
}
