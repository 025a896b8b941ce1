package check

import (
	"retwis/maintain"
)

// Problem is a place where two keys that must agree do not, or where a key has wrong contents.
type Problem struct {
	Kind   maintain.Kind
	Key    string // the key with the problem
	Detail string
	// Leftover problems remain from a write that a crash interrupted. They are invisible to users,
	// or repaired by the next write of the same kind.
	Leftover bool
	// Repair describes the repair; it is empty if only a person can decide.
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

// Result counts what was checked and what was found. Problems and Leftovers include what was
// repaired.
type Result struct {
	Users, Sessions, Follows, Posts, Timelines int64
	Problems, Leftovers, Repaired              int64
	// Remaining is the number of problems that still exist, without leftovers.
	Remaining int64
	// Report counts problems and leftovers by kind.
	Report maintain.Report
}

// Options are the settings of a check. The zero value is a good default.
type Options struct {
	// Rate is in keys per second, Progress counts keys: a repair scans all of them three times.
	maintain.Options
	// Report is called for each problem; it may be nil.
	Report func(Problem)
	// Followers is the size of the random sample of followers, for each author, whose timelines are
	// searched for the author's latest posts. 0 means 100; a negative number means none.
	Followers int
	// Part is the share of the users and posts that are checked, above 0, chosen by their IDs:
	// always the same ones. Keys with the names, the sessions and the latest posts of all users are
	// checked completely. 0 means 1: all.
	Part float64
	// Exclusive says that no process uses the database, so a repair also finishes work begun a
	// moment ago, as found in a backup.
	Exclusive bool
	// DeleteFiles lets a repair delete unused picture files. It requires that no other site, and no
	// copy of this one, stores its pictures in the same place.
	DeleteFiles bool
}

// defaultFollowers detects a loss of five followers in a hundred with a
// probability of 99 %, for each author.
const defaultFollowers = 100
