package main

import (
	"flag"
	"fmt"
	"math"
)

// Site is how a site is used.
type Site struct {
	Users, Follows, Active, Posts, Pages, Likes, Pushes, Peak, Crowded, Timelines, Years, Star float64
}

// input is a flag for a field of a Site.
type input struct {
	value         *float64
	name          string
	assumed, most float64
	use           string
}

// inputs adds the flags of a site, and gives it the assumptions of the table in docs/scaling.md. They
// are guesses, but for what was measured of each cost: see there.
func (s *Site) inputs(flags *flag.FlagSet) []input {
	all := []input{
		{&s.Follows, "follows", 200, 1e6, "follows of a user"},
		{&s.Active, "active", 0.3, 1, "share of the users who come on a day"},
		{&s.Posts, "posts", 2, 1e6, "posts of an active user on a day"},
		{&s.Pages, "pages", 20, 1e6, "pages of an active user on a day"},
		{&s.Likes, "likes", 2, 1e6, "likes of an active user on a day"},
		{&s.Pushes, "pushes", 300, 1e9, "timelines on which a post is written"},
		{&s.Peak, "peak", 3, 24, "the busiest hour, to the average"},
		{&s.Crowded, "crowded", 0.6, 1, "share of the follows that lead to people with more than 512 followers"},
		{&s.Timelines, "timelines", 0.5, 1, "share of the users whose home timeline is in memory"},
		{&s.Years, "years", 1, 100, "years of posts in memory"},
		{&s.Star, "star", 0.2, 1, "share of the users who follow the one with the most followers"},
	}
	for _, in := range all {
		flags.Float64Var(in.value, in.name, in.assumed, in.use)
	}
	return all
}

// What was measured: µs of CPU, and bytes of a server's memory. Costs says where.
const (
	postMasters = 353.0
	pushMasters = 4.18
	pageMasters = 11.0
	postWeb     = 419.0
	pushWeb     = 2.03
	pageWeb     = 67.0

	onTimeline = 19.0
	onCounter  = 1.9
	onTasks    = 7.4

	userBytes     = 860.0
	postBytes     = 430.0
	likeBytes     = 165.0
	smallFollow   = 13.0
	largeFollow   = 115.0
	timelineBytes = 6300.0
	inboxBytes    = 250.0
	noticeBytes   = 34.0
	maxNotices    = 1000
)

// Cost is a measured cost. Its source is a column of a table of docs/benchmarks.md, and the row
// that begins so; or how it was measured otherwise.
type Cost struct {
	What        string
	Value       float64
	Unit        string
	Row, Column string
	Otherwise   string
}

const micros, bytes = "µs", "bytes"

// No benchmark measures these again.
const (
	byCPU    = "once, by `used_cpu` of the server"
	byMemory = "once, by `used_memory` of the server"
)

// Costs are all of them, as docs/scaling.md lists them.
var Costs = []Cost{
	{"a post with about twenty followers, for the masters", postMasters, micros, "this version", "all masters, each post", ""},
	{"a post on one more timeline, for the masters", pushMasters, micros, "this version", "masters, each follower", ""},
	{"a page, for the masters", pageMasters, micros, "", "", byCPU + ", with caches that are not yet warm"},
	{"a post with about twenty followers, for a web process", postWeb, micros, "this version", "programs, each post", ""},
	{"a post on one more timeline, for the process that writes it", pushWeb, micros, "this version", "programs, each follower", ""},
	{"a page, for a web process", pageWeb, micros, "GET /home", "CPU a request", ""},
	{"a post, for the master that has `timeline`", onTimeline, micros, "", "", byCPU},
	{"a post, for the one that has `next_post_id`", onCounter, micros, "", "", byCPU},
	{"a post, for the one that has `tasks`", onTasks, micros, "", "", byCPU},
	{"a user, with 1.5 sessions, the name and the entry among the latest", userBytes, bytes, "", "", byMemory},
	{"a post of 105 characters, with its entry on the profile", postBytes, bytes, "", "", byMemory},
	{"a like, in both directions", likeBytes, bytes, "", "", byMemory + "; 121 to 210"},
	{"an entry of a set of up to 512", smallFollow, bytes, "", "", byMemory},
	{"an entry of a larger set", largeFollow, bytes, "", "", byMemory + "; 103 to 124"},
	{"a home timeline of 1,000", timelineBytes, bytes, "", "", byMemory},
	{"the first notification of a user", inboxBytes, bytes, "", "", byMemory},
	{"each of the next 1,000", noticeBytes, bytes, "", "", byMemory},
}

// What a server and a process are loaded with.
const (
	masterBytes = 24e9
	masterCores = 0.5 // of the one that executes commands
	webCores    = 1.0 // half of two
)

// Need is what a site needs at its peak.
type Need struct {
	Masters, Web, Workers int
	RAM                   float64     // bytes
	First                 string      // what limits first
	Rows                  [][2]string // of the table: a name and a value
}

func (n *Need) row(name, format string, value any) {
	n.Rows = append(n.Rows, [2]string{name, fmt.Sprintf(format, value)})
}

// need computes what a site needs.
func need(s Site) Need {
	const day = 86400
	var n Need
	n.row("users", "%g million", s.Users/1e6)

	posts := s.Users * s.Active * s.Posts / day * s.Peak // a second, as pages and pushes
	pages := s.Users * s.Active * s.Pages / day * s.Peak
	pushes := posts * s.Pushes
	n.row("posts a second, at the peak", "%s", number(posts))
	n.row("pages a second", "%s", number(pages))
	n.row("timelines written a second", "%s", number(pushes))

	mastersCPU := (posts*postMasters + pushes*pushMasters + pages*pageMasters) / 1e6 // cores, as the next ones
	webCPU := (posts*postWeb + pages*pageWeb) / 1e6
	workersCPU := pushes * pushWeb / 1e6
	n.row("CPU of all masters, cores", "%s", number(mastersCPU))
	n.row("CPU of all web processes, cores", "%s", number(webCPU))
	n.row("CPU of the fan-out in workers, cores", "%s", number(workersCPU))

	likes := s.Active * s.Likes * 365 * s.Years // of each user
	parts := []part{
		{"memory for users, GB", "users", s.Users * userBytes},
		{"… for follows", "follows", s.Users * s.Follows * (smallFollow + s.Crowded*largeFollow + (1-s.Crowded)*smallFollow)},
		{"… for home timelines", "timelines", s.Users * s.Timelines * timelineBytes},
		// At the most: each follow and each like notifies, and all people get as many.
		{"… for notifications", "notifications", s.Users * (inboxBytes + noticeBytes*min(maxNotices, s.Follows+likes))},
		{"… for likes", "likes", s.Users * likes * likeBytes},
		{"… for the posts of " + years(s.Years), "posts", s.Users * s.Active * s.Posts * 365 * s.Years * postBytes},
	}
	largest := parts[0]
	for _, p := range parts {
		n.row(p.row, "%s", number(p.bytes/1e9))
		n.RAM += p.bytes
		if p.bytes > largest.bytes {
			largest = p
		}
	}

	byMemory, byCPU := n.RAM/masterBytes, mastersCPU/masterCores
	n.Masters = int(math.Ceil(max(byMemory, byCPU)))
	if n.Masters == 2 { // a majority needs three
		n.Masters = 3
	}
	n.Web = max(2, int(math.Ceil(webCPU/webCores))) // one can fail
	n.Workers = int(math.Ceil(workersCPU / webCores))
	n.row("**masters**, each with as many replicas", "**%d**", n.Masters)
	n.row("**web processes**", "**%d**", n.Web)
	if workersCPU < webCores/2 { // the web processes do it
		n.Workers = 0
		n.row("**workers**", "none: %s", "web processes")
	} else {
		n.row("**workers**", "**%d**", n.Workers)
	}
	n.row("**memory, GB**", "**%s**", number(n.RAM/1e9))

	timeline := posts*onTimeline/1e6 + float64(n.Web)*5.2/1e6 // the shares of a core that keys take
	tasks := posts * onTasks / 1e6
	star := s.Users * s.Star * largeFollow // the largest set of followers
	n.row("`timeline`, share of a core", "%s %%", number(100*timeline))
	n.row("`tasks`, share of a core", "%s %%", number(100*tasks))
	n.row("largest set of followers, GB", "%s", number(star/1e9))

	// What limits first is a key that cannot be divided, or what decides how many masters there are.
	const key = "the key `%s`: more than half a core of one master"
	switch {
	case timeline > masterCores:
		n.First = fmt.Sprintf(key, "timeline")
	case tasks > masterCores:
		n.First = fmt.Sprintf(key, "tasks")
	case posts*onCounter/1e6 > masterCores:
		n.First = fmt.Sprintf(key, "next_post_id")
	case star > masterBytes/2:
		n.First = "the followers of one author: more than half of one master"
	case byCPU > byMemory:
		n.First = "CPU of the masters"
	default:
		n.First = fmt.Sprintf("memory: %.0f %% of it for %s", 100*largest.bytes/n.RAM, largest.name)
	}
	n.row("limited first by", "%s", n.First)
	return n
}

// part is a part of the memory.
type part struct {
	row, name string
	bytes     float64
}
