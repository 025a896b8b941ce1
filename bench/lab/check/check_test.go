package check

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"retwis/bench/lab/history"
)

// story is a handwritten history. Each operation takes 0.1 s and starts at a given second.
type story struct {
	h history.History
}

// op appends an operation.
func (s *story) op(at float64, person string, kind history.Kind, change func(op *history.Op)) *story {
	op := history.Op{Person: person, Kind: kind, Outcome: history.OK, Signed: true}
	op.Start = time.Duration(at * float64(time.Second))
	op.End = op.Start + 100*time.Millisecond
	if change != nil {
		change(&op)
	}
	s.h.Ops = append(s.h.Ops, op)
	return s
}

func text(text string) func(*history.Op) { return func(op *history.Op) { op.Text = text } }

func other(name string) func(*history.Op) { return func(op *history.Op) { op.Other = name } }

func sessionNumber(n int) func(*history.Op) { return func(op *history.Op) { op.Session = n } }

// both combines two changes.
func both(a, b func(*history.Op)) func(*history.Op) {
	return func(op *history.Op) { a(op); b(op) }
}

// shows sets the posts on a complete page. Post 1 has the text "a", post 2 "b", and so on.
func shows(ids ...int64) func(*history.Op) {
	return func(op *history.Op) {
		op.Complete = true
		for _, id := range ids {
			op.Seen = append(op.Seen, history.Seen{ID: id, Text: string(rune('a' - 1 + id)), Author: "ada"})
		}
	}
}

func final(op *history.Op) { op.Final = true }

func process(n int) func(*history.Op) { return func(op *history.Op) { op.Process = n } }

func outcome(o history.Outcome) func(*history.Op) { return func(op *history.Op) { op.Outcome = o } }

func fresh(op *history.Op) { op.Fresh = true }

var bounds = Bounds{Quiet: 2 * time.Second, Settle: 3 * time.Second, Fault: 20 * time.Second, Recovery: 30 * time.Second}

func fault(kind string, start, end int, change func(f *history.Fault)) history.Fault {
	f := history.Fault{Kind: kind, Start: time.Duration(start) * time.Second, End: time.Duration(end) * time.Second}
	if change != nil {
		change(&f)
	}
	return f
}

// manyPosts is a story in which ada writes more posts after the first, and ben sees each of them on
// the profile of ada.
func manyPosts(more int) *story {
	s := followed().op(5, "ben", history.Home, shows(1))
	for i := range more {
		s.op(6, "ada", history.Post, text(string(rune('b'+i))))
		s.op(7, "ben", history.Profile, both(other("ada"), both(shows(int64(i+2)), func(op *history.Op) { op.Complete, op.Following = false, true })))
	}
	return s
}

// newest returns the IDs of the n posts after the first in manyPosts, newest first.
func newest(n int) (ids []int64) {
	for i := range n {
		ids = append(ids, int64(n+1-i))
	}
	return ids
}

// followed is a story in which ben follows ada, who posts "a" at 1 s.
func followed() *story {
	return (&story{}).op(0, "ben", history.Follow, other("ada")).op(1, "ada", history.Post, text("a"))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	risk := func(f *history.Fault) { f.Data, f.RiskFrom, f.RiskTo = true, time.Second, 2*time.Second }
	killed := func(f *history.Fault) { f.Killed = 1 }
	liked := func(op *history.Op) { op.Seen[0].Liked, op.Seen[0].Likes = true, 1 }
	for name, test := range map[string]struct {
		story  *story
		faults []history.Fault
		want   []string
	}{
		"no violation": {followed().op(2, "ada", history.Home, shows(1)).op(5, "ben", history.Home, shows(1)).
			op(90, "ben", history.Home, both(shows(1), final)), nil, nil},
		"own post missing on the home timeline":                   {followed().op(2, "ada", history.Home, shows()), nil, []string{OwnWrites}},
		"own post missing on the profile":                         {followed().op(2, "ada", history.Profile, both(shows(), other("ada"))).op(9, "ben", history.Home, shows(1)), nil, []string{OwnWrites}},
		"own post missing at another process, with the cookie":    {followed().op(2, "ada", history.Home, both(shows(), both(process(1), fresh))).op(9, "ben", history.Home, shows(1)), nil, []string{OwnWrites}},
		"own post missing at another process, without the cookie": {followed().op(2, "ada", history.Home, both(shows(), process(1))).op(9, "ben", history.Home, shows(1)), nil, nil},
		"post missing for a follower, briefly":                    {followed().op(3, "ben", history.Home, shows()).op(9, "ben", history.Home, shows(1)), nil, nil},
		"post missing for a follower, too long":                   {followed().op(4, "ben", history.Home, shows()).op(9, "ben", history.Home, shows(1)), nil, []string{Stale}},
		"post missing during a fault":                             {followed().op(4, "ben", history.Home, shows()).op(30, "ben", history.Home, shows(1)), []history.Fault{fault("stop web", 2, 5, nil)}, nil},
		"post missing after a fault":                              {followed().op(11, "ben", history.Home, shows()).op(30, "ben", history.Home, shows(1)), []history.Fault{fault("stop web", 2, 5, nil)}, []string{Stale}},
		"post missing too long, during a fault":                   {followed().op(40, "ben", history.Home, shows()).op(45, "ben", history.Home, shows(1)), []history.Fault{fault("stop web", 35, 50, nil)}, []string{Stale}},
		"post missing because its process was killed":             {followed().op(20, "ben", history.Home, shows()).op(40, "ben", history.Home, shows(1)), []history.Fault{fault("kill web", 2, 3, killed)}, nil},
		"post missing too long after its process was killed":      {followed().op(36, "ben", history.Home, shows()).op(40, "ben", history.Home, shows(1)), []history.Fault{fault("kill web", 2, 3, killed)}, []string{Stale}},
		"reply": {followed().op(2, "ada", history.Reply, func(op *history.Op) { op.Text, op.Parent = "b", "a" }).
			op(5, "ben", history.Home, shows(1)).op(90, "ada", history.Replies, both(both(other("ada"), shows(2)), final)), nil, nil},
		"reply lost": {followed().op(2, "ada", history.Reply, func(op *history.Op) { op.Text, op.Parent = "b", "a" }).op(3, "ada", history.Thread, both(text("a"), shows(1, 2))).
			op(90, "ada", history.Replies, both(both(other("ada"), shows()), final)), nil, []string{Lost}},
		"post pushed off the public timeline by newer ones":     {manyPosts(maxPerAuthor).op(90, "ben", history.Timeline, both(shows(newest(maxPerAuthor)...), final)), nil, nil},
		"post lost from the public timeline":                    {manyPosts(maxPerAuthor-1).op(90, "ben", history.Timeline, both(shows(newest(maxPerAuthor-1)...), final)), nil, []string{Lost}},
		"post lost after it was seen":                           {followed().op(5, "ben", history.Home, shows(1)).op(90, "ben", history.Home, both(shows(), final)), nil, []string{Lost}},
		"post never seen":                                       {followed().op(90, "ben", history.Home, both(shows(), final)), nil, []string{Lost}},
		"post never seen after its master died":                 {followed().op(90, "ben", history.Home, both(shows(), final)), []history.Fault{fault("kill master", 2, 8, risk)}, []string{Lost}},
		"post never seen after its master and its process died": {followed().op(90, "ben", history.Home, both(shows(), final)), []history.Fault{fault("kill master", 2, 8, risk), fault("kill web", 2, 3, killed)}, nil},
		"post with unknown outcome never seen":                  {(&story{}).op(1, "ada", history.Post, both(text("a"), outcome(history.Unknown))).op(90, "ada", history.Home, both(shows(), final)), nil, nil},
		"post with unknown outcome delayed after it was seen":   {(&story{}).op(1, "ada", history.Post, both(text("a"), outcome(history.Unknown))).op(2, "ben", history.Profile, both(shows(1), other("ada"))).op(3, "ada", history.Home, shows()).op(90, "ada", history.Home, both(shows(1), final)), nil, nil},
		"post with unknown outcome lost after it was seen":      {(&story{}).op(1, "ada", history.Post, both(text("a"), outcome(history.Unknown))).op(2, "ben", history.Profile, both(shows(1), other("ada"))).op(90, "ada", history.Home, both(shows(), final)), nil, []string{Lost}},
		"a refused post":                                        {(&story{}).op(1, "ada", history.Post, both(text("a"), outcome(history.Refused))).op(90, "ada", history.Home, both(shows(), final)), nil, nil},
		"a refused post is shown":                               {(&story{}).op(1, "ada", history.Post, both(text("a"), outcome(history.Refused))).op(90, "ada", history.Home, both(shows(1), final)), nil, []string{Foreign}},
		"post twice on a page":                                  {followed().op(5, "ben", history.Home, shows(1, 1)), nil, []string{Twice}},
		"posts in the wrong order":                              {followed().op(2, "ada", history.Post, text("b")).op(6, "ben", history.Home, shows(1, 2)), nil, []string{Order}},
		"a page that is not the last omits older posts":         {followed().op(2, "ada", history.Post, text("b")).op(6, "ben", history.Home, both(shows(2), func(op *history.Op) { op.Complete = false })).op(7, "ben", history.Home, shows(2, 1)), nil, nil},
		"a deleted post is shown":                               {followed().op(2, "ada", history.Delete, text("a")).op(6, "ben", history.Home, shows(1)), nil, []string{Deleted}},
		"a deleted post is shown briefly":                       {followed().op(2, "ada", history.Delete, text("a")).op(3, "ben", history.Home, shows(1)), nil, nil},
		"a deleted post is shown to its author":                 {followed().op(2, "ada", history.Delete, text("a")).op(3, "ada", history.Home, shows(1)), nil, []string{Deleted}},
		"a deleted post comes back":                             {followed().op(2, "ada", history.Delete, text("a")).op(90, "ben", history.Home, both(shows(1), final)), nil, []string{Deleted}},
		"a blocked author is shown":                             {followed().op(2, "ben", history.Block, other("ada")).op(2.5, "ben", history.Home, shows(1)), nil, []string{Blocked}},
		"a blocking author is shown":                            {followed().op(2, "ada", history.Block, other("ben")).op(6, "ben", history.Timeline, shows(1)), nil, []string{Blocked}},
		"a post is shown after an unblock":                      {followed().op(2, "ada", history.Block, other("ben")).op(6, "ada", history.Unblock, other("ben")).op(9, "ben", history.Timeline, shows(1)), nil, nil},
		"a post is missing after an unblock":                    {followed().op(2, "ada", history.Block, other("ben")).op(6, "ada", history.Unblock, other("ben")).op(9, "ben", history.Timeline, shows()).op(10, "ada", history.Home, shows(1)), nil, []string{Stale}},
		"an unfollowed person is shown":                         {followed().op(2, "ben", history.Unfollow, other("ada")).op(6, "ben", history.Home, shows(1)), nil, []string{Unfollowed}},
		"an unfollowed person is shown on the public timeline":  {followed().op(2, "ben", history.Unfollow, other("ada")).op(6, "ben", history.Timeline, shows(1)), nil, nil},
		"a follow does not add earlier posts":                   {(&story{}).op(1, "ada", history.Post, text("a")).op(2, "ben", history.Follow, other("ada")).op(6, "ben", history.Home, shows()).op(7, "ada", history.Home, shows(1)), nil, []string{Stale}},
		"an unfollow with unknown outcome":                      {followed().op(2, "ben", history.Unfollow, both(other("ada"), outcome(history.Unknown))).op(6, "ben", history.Home, shows()).op(7, "ben", history.Home, shows(1)), nil, nil},
		"the follow button is wrong":                            {followed().op(2, "ben", history.Profile, both(shows(1), other("ada"))), nil, []string{OwnWrites}},
		"a session is open after a log-out":                     {(&story{}).op(1, "ada", history.LogIn, sessionNumber(1)).op(2, "ada", history.LogOut, sessionNumber(1)).op(2.5, "ada", history.Session, sessionNumber(1)), nil, []string{SessionOpen}},
		"a session is open briefly at another process":          {(&story{}).op(1, "ada", history.LogIn, sessionNumber(1)).op(2, "ada", history.LogOut, sessionNumber(1)).op(2.5, "ada", history.Session, both(sessionNumber(1), process(1))), nil, nil},
		"a session is open too long at another process":         {(&story{}).op(1, "ada", history.LogIn, sessionNumber(1)).op(2, "ada", history.LogOut, sessionNumber(1)).op(6, "ada", history.Session, both(sessionNumber(1), process(1))), nil, []string{SessionOpen}},
		"a session is closed without a log-out":                 {(&story{}).op(1, "ada", history.LogIn, sessionNumber(1)).op(6, "ada", history.Session, both(sessionNumber(1), func(op *history.Op) { op.Signed = false })), nil, []string{SessionLost}},
		"a like":                                                {followed().op(2, "ben", history.Like, text("a")).op(3, "ben", history.Thread, both(text("a"), both(shows(1), liked))), nil, nil},
		"a like is not marked":                                  {followed().op(2, "ben", history.Like, text("a")).op(3, "ben", history.Thread, both(text("a"), shows(1))), nil, []string{OwnWrites}},
		"an impossible number of likes":                         {followed().op(2, "ben", history.Like, text("a")).op(90, "ada", history.Home, both(shows(1), final)), nil, []string{Likes}},
		"a post with two IDs":                                   {followed().op(2, "ben", history.Home, shows(1)).op(3, "ben", history.Home, func(op *history.Op) { op.Seen = []history.Seen{{ID: 2, Text: "a", Author: "ada"}} }), nil, []string{Twice}},
		"a post that nobody wrote":                              {followed().op(2, "ben", history.Home, shows(7, 1)), nil, []string{Foreign}},
		"a follow that Redis may have lost":                     {followed().op(30, "ben", history.Home, shows()).op(40, "ada", history.Home, shows(1)), []history.Fault{fault("kill master", 0, 1, func(f *history.Fault) { f.Data, f.RiskTo = true, 500*time.Millisecond })}, nil},
		"a follow before the risk of loss is missing":           {followed().op(30, "ben", history.Home, shows()).op(40, "ada", history.Home, shows(1)), []history.Fault{fault("kill master", 10, 11, func(f *history.Fault) { f.Data, f.RiskFrom, f.RiskTo = true, 9*time.Second, 10*time.Second })}, []string{Stale}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.story.h.Faults = test.faults
			// A round trip through a file must not change the verdict.
			path := filepath.Join(t.TempDir(), "history")
			if err := test.story.h.Write(path); err != nil {
				t.Fatal(err)
			}
			h, err := history.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range Check(h, bounds).Violations {
				got = append(got, v.Rule)
				t.Log(v.Rule, v.Text)
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, test.want) {
				t.Errorf("broken rules: %q, want %q", got, test.want)
			}
		})
	}
}
