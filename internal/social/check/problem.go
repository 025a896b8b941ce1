package check

import (
	"retwis/maintain"
)

// Problem is a place where two keys that must agree do not, or where a key
// holds what it should not.
type Problem struct {
	Kind   maintain.Kind
	Key    string // the key in which it was found
	Detail string
	// Leftover problems were left by a write that a crash cut short. They are
	// invisible to users, or repaired by the next write of the same kind.
	Leftover bool
	// Repair describes the repair; empty where only a person can decide.
	Repair   string
	Repaired bool
}

func (p Problem) String() string {
	text := p.Key + ": " + p.Detail
	if p.Leftover {
		text += " (a leftover, harmless)"
	}
	switch {
	case p.Repaired:
		text += "; repaired: " + p.Repair
	case p.Repair != "":
		text += "; --repair would: " + p.Repair
	}
	return text
}

// Result counts what was checked and what was found. Problems and Leftovers
// include what was repaired.
type Result struct {
	Users, Sessions, Follows, Posts, Timelines int64
	Problems, Leftovers, Repaired              int64
	// Remaining are the problems that are still there, without leftovers.
	Remaining int64
	// Report counts problems and leftovers by their kind.
	Report maintain.Report
}

// Options are the settings of a check. The zero value is a good default.
type Options struct {
	// Rate is in keys per second, Progress counts keys: a repair passes over all
	// of them three times.
	maintain.Options
	// Report is called with each problem. Default: no call.
	Report func(Problem)
	// Followers is the size of the random sample of followers, for each author,
	// whose timelines are searched for the author's latest posts. Default: 100.
	// Negative: none.
	Followers int
	// Part is the share of the users and posts that are checked, above 0, chosen by
	// their ids: the same ones each time. Keys with the names, the sessions and the
	// latest posts of all are checked whole. Default: 1, all.
	Part float64
	// Exclusive says that no process uses the database: a repair finishes work that
	// one has begun a moment ago, as it is found in a backup.
	Exclusive bool
	// DeleteFiles lets a repair delete the files of pictures that nothing uses: no other site, and
	// no copy of this one, has its pictures in the same place.
	DeleteFiles bool
}

// defaultFollowers detects a loss of five followers in a hundred with a
// probability of 99 %, for each author.
const defaultFollowers = 100
