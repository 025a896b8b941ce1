package search

import (
	"math"
	"time"
)

const (
	// dayHours is how many hours make a day: of the trends, and of that before, with which
	// they are compared.
	dayHours = 24
	// halfLife is after how many hours a person counts half.
	halfLife = 4
	// fewestPeople is how many people a trend has at least where few are active, and enoughPeople
	// how many where a hundred are: one in twenty of them, between these.
	fewestPeople = 2
	enoughPeople = 5
	activeShare  = 20
	// minGrowth is by how much there are more people than the day before, at least: of very
	// many, a few more are a great deviation, and no news.
	minGrowth = 1.5
	// usualPeople is how many people are taken for usual where the day before had fewer:
	// so that six people are not a greater change than sixty.
	usualPeople = 5
)

// peopleOf returns how many people a trend has at least where so many accounts are active.
func peopleOf(active int64) float64 {
	return float64(max(fewestPeople, min(enoughPeople, active/activeShare)))
}

// clock is the moment of a merge.
type clock struct {
	hour int64 // the one that has begun
	part float64
}

func clockAt(at time.Time, hour int64) clock {
	return clock{hour: hour, part: at.Sub(time.Unix(hour*int64(time.Hour/time.Second), 0)).Hours()}
}

// weight is what a person counts who was there some hours ago, 0 for the hour that has
// begun. It falls steadily with time: the next hour begins with the weights of this one.
func (c clock) weight(ago int) float64 {
	age := c.part / 2
	if ago > 0 {
		age = c.part + float64(ago) - 0.5
	}
	return math.Exp2(-age / halfLife)
}

// counts are the people of each hour of two days, that of the merge first.
type counts [2 * dayHours]float64

// today weighs the people of the day. One who was there in several hours counts in each.
func (c *counts) today(at clock) (sum float64) {
	for ago := range dayHours {
		sum += c[ago] * at.weight(ago)
	}
	return sum
}

// before weighs the people of the day before as today does those of the day: a tag that as
// many people use every evening is no trend in the evening.
func (c *counts) before(at clock) float64 {
	sum := c[dayHours] * at.weight(0) * at.part // as much of the hour as has passed today
	for ago := 1; ago < dayHours; ago++ {
		sum += c[dayHours+ago] * at.weight(ago)
	}
	return sum
}

// roughly weighs the people of the day, without knowing who was there in several hours: one
// person who is there in each of them counts once.
func (c *counts) roughly(at clock) float64 {
	sum, latest := 0.0, 0.0
	for ago := range dayHours {
		if c[ago] > 0 {
			sum += (c[ago] - 1) * at.weight(ago)
			latest = max(latest, at.weight(ago))
		}
	}
	return sum + latest
}

// meanWeight is the weight of the people of some hours, from one to before another.
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

// sum is the number of people of the day if nobody was there in several hours.
func (c *counts) sum() (n float64) {
	for ago := range dayHours {
		n += c[ago]
	}
	return n
}

// score is how remarkable the people of a day are after those of the day before: by how many
// standard deviations of a number of people that arrive independently of each other. 0 is no
// trend.
func score(now, before float64) float64 {
	if now < minGrowth*before {
		return 0
	}
	return (now - before) / math.Sqrt(before+usualPeople)
}
