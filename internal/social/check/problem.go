package check

import (
	"retwis/maintain"
)

// Problem describes two keys that must agree but do not, or a key with invalid contents.
type Problem struct {
	Kind   maintain.Kind
	Key    string // the key with the problem
	Detail string
	// Leftover is true if the problem remains from a write that a crash interrupted. Such a problem
	// is invisible to users, or is repaired by the next write of the same kind.
	Leftover bool
	// Repair describes the repair. It is empty if only an operator can decide.
	Repair   string
	Repaired bool
}

func (p Problem) String() string {
	text := p.Key + ": " + p.Detail
	if p.Leftover {
		text += " (harmless leftover)"
	}
	switch {
	case p.Repaired:
		text += "; repaired: " + p.Repair
	case p.Repair != "":
		text += "; --repair would: " + p.Repair
	}
	return text
}

// Result counts the checked items and the problems. Problems and Leftovers include the repaired
// ones.
type Result struct {
	Users, Sessions, Follows, Posts, Timelines int64
	Problems, Leftovers, Repaired              int64
	// Remaining is the number of unrepaired problems, without leftovers.
	Remaining int64
	// Report counts problems and leftovers by kind.
	Report maintain.Report
}

// Options are the settings of a check. The zero value is a good default.
type Options struct {
	// Rate is in keys per second, and Progress counts keys. A repair scans all keys three times.
	maintain.Options
	// Report is called for each problem; it may be nil.
	Report func(Problem)
	// Followers is the size of the random sample of followers, for each author, whose timelines are
	// searched for the author's latest posts. 0 means 100; a negative number means none.
	Followers int
	// Part is the fraction of the users and posts to check, above 0 and at most 1. Their IDs
	// determine which ones are checked, so each check of a part checks the same ones. Keys that
	// hold data of all users, such as their names, are checked completely. 0 means 1.
	Part float64
	// Exclusive means that no other process uses the database, as after restoring a backup. A
	// repair then also finishes work that was begun a moment ago.
	Exclusive bool
	// DeleteFiles lets a repair delete unused picture files. Set it only if no other site, and no
	// copy of this site, stores its pictures in the same place.
	DeleteFiles bool
}

// defaultFollowers is the default of Options.Followers. A sample of this size detects a post that
// is missing from 5 % of the followers' timelines with a probability of 99 %.
const defaultFollowers = 100
