package main

import (
	"flag"
	"fmt"
	"math"
)

// Site describes how a site is used.
type Site struct {
	Users, Follows, Active, Posts, Pages, Likes, Pushes, Peak, Crowded, Timelines, Years, Star float64
}

// input is a flag for a field of a Site.
type input struct {
	value       *float64
	name        string
	assumed     float64 // the default
	max         float64
	description string
}

// inputs adds the flags of a site, with the assumptions of docs/scaling.md as defaults. Unlike the
// costs, the assumptions are guesses.
func (s *Site) inputs(flags *flag.FlagSet) []input {
	all := []input{
		{&s.Follows, "follows", 200, 1e6, "follows per user"},
		{&s.Active, "active", 0.3, 1, "share of users who are active on a day"},
		{&s.Posts, "posts", 2, 1e6, "posts per active user and day"},
		{&s.Pages, "pages", 20, 1e6, "pages per active user and day"},
		{&s.Likes, "likes", 2, 1e6, "likes per active user and day"},
		{&s.Pushes, "pushes", 300, 1e9, "timelines to which a post is written"},
		{&s.Peak, "peak", 3, 24, "load of the busiest hour, relative to the average"},
		{&s.Crowded, "crowded", 0.6, 1, "share of follows whose target has more than 512 followers"},
		{&s.Timelines, "timelines", 0.5, 1, "share of users whose home timeline is in memory"},
		{&s.Years, "years", 1, 100, "years of posts in memory"},
		{&s.Star, "star", 0.2, 1, "share of users who follow the most followed user"},
	}
	for _, in := range all {
		flags.Float64Var(in.value, in.name, in.assumed, in.description)
	}
	return all
}

// The measured costs, in µs of CPU time and in bytes of Redis memory. Costs lists the sources.
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

// Cost is a measured cost. If Source is empty, the value is from docs/benchmarks.md: the cell in
// column Column of the row whose name starts with Row. Otherwise, Source says how the cost was
// measured.
type Cost struct {
	What        string
	Value       float64
	Unit        string
	Row, Column string
	Source      string
}

const micros, bytes = "µs", "bytes"

// Sources of the costs that no benchmark measures.
const (
	byCPU    = "once, with the server's `used_cpu`"
	byMemory = "once, with the server's `used_memory`"
)

// Costs lists the costs in the order of docs/scaling.md.
var Costs = []Cost{
	{"post with about 20 followers, masters", postMasters, micros, "Retwis", "all masters, per post", ""},
	{"post on one more timeline, masters", pushMasters, micros, "Retwis", "masters, per follower", ""},
	{"page, masters", pageMasters, micros, "", "", byCPU + ", with cold caches"},
	{"post with about 20 followers, web process", postWeb, micros, "Retwis", "processes, per post", ""},
	{"post on one more timeline, process that writes it", pushWeb, micros, "Retwis", "processes, per follower", ""},
	{"page, web process", pageWeb, micros, "GET /home", "CPU per request", ""},
	{"post, master with `timeline`", onTimeline, micros, "", "", byCPU},
	{"post, master with `next_post_id`", onCounter, micros, "", "", byCPU},
	{"post, master with `tasks`", onTasks, micros, "", "", byCPU},
	{"user, with 1.5 sessions and the entries in the name directory and the list of new users", userBytes, bytes, "", "", byMemory},
	{"post of 105 characters, with its profile entry", postBytes, bytes, "", "", byMemory},
	{"like, in both directions", likeBytes, bytes, "", "", byMemory + "; 121 to 210"},
	{"entry of a set with up to 512 members", smallFollow, bytes, "", "", byMemory},
	{"entry of a larger set", largeFollow, bytes, "", "", byMemory + "; 103 to 124"},
	{"home timeline of 1,000 posts", timelineBytes, bytes, "", "", byMemory},
	{"first notification of a user", inboxBytes, bytes, "", "", byMemory},
	{"each of the next 1,000 notifications", noticeBytes, bytes, "", "", byMemory},
}

// The maximum planned load of a master or a web process.
const (
	masterBytes = 24e9
	masterCores = 0.5 // of the core that executes commands
	webCores    = 1.0 // half of two cores
)

// Need is what a site needs at its peak.
type Need struct {
	Masters, Web, Workers int
	RAM                   float64     // bytes
	Bottleneck            string      // the first bottleneck
	Rows                  [][2]string // the rows of the table: name and value
}

func (n *Need) row(name, format string, value any) {
	n.Rows = append(n.Rows, [2]string{name, fmt.Sprintf(format, value)})
}

// need computes what a site needs.
func need(s Site) Need {
	const day = 86400
	var n Need
	n.row("users", "%g million", s.Users/1e6)

	posts := s.Users * s.Active * s.Posts / day * s.Peak // per second, like pages and pushes
	pages := s.Users * s.Active * s.Pages / day * s.Peak
	pushes := posts * s.Pushes
	n.row("posts per second, at peak", "%s", number(posts))
	n.row("pages per second", "%s", number(pages))
	n.row("timeline writes per second", "%s", number(pushes))

	mastersCPU := (posts*postMasters + pushes*pushMasters + pages*pageMasters) / 1e6 // in cores, like webCPU and workersCPU
	webCPU := (posts*postWeb + pages*pageWeb) / 1e6
	workersCPU := pushes * pushWeb / 1e6
	n.row("CPU of all masters, cores", "%s", number(mastersCPU))
	n.row("CPU of all web processes, cores", "%s", number(webCPU))
	n.row("CPU of the fan-out in workers, cores", "%s", number(workersCPU))

	likes := s.Active * s.Likes * 365 * s.Years // per user
	parts := []part{
		{"memory for users, GB", "users", s.Users * userBytes},
		{"… for follows", "follows", s.Users * s.Follows * (smallFollow + s.Crowded*largeFollow + (1-s.Crowded)*smallFollow)},
		{"… for home timelines", "timelines", s.Users * s.Timelines * timelineBytes},
		// An upper bound: each follow and each like sends a notification, and all users get the same number.
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
	if n.Masters == 2 { // a majority after a failure needs three
		n.Masters = 3
	}
	n.Web = max(2, int(math.Ceil(webCPU/webCores))) // one process may fail
	n.Workers = int(math.Ceil(workersCPU / webCores))
	n.row("**masters**, plus as many replicas", "**%d**", n.Masters)
	n.row("**web processes**", "**%d**", n.Web)
	if workersCPU < webCores/2 { // the web processes do the background work
		n.Workers = 0
		n.row("**workers**", "none: %s", "the web processes suffice")
	} else {
		n.row("**workers**", "**%d**", n.Workers)
	}
	n.row("**memory, GB**", "**%s**", number(n.RAM/1e9))

	timeline := posts*onTimeline/1e6 + float64(n.Web)*5.2/1e6 // share of a core, like tasks
	tasks := posts * onTasks / 1e6
	star := s.Users * s.Star * largeFollow // bytes of the largest set of followers
	n.row("`timeline`, share of a core", "%s %%", number(100*timeline))
	n.row("`tasks`, share of a core", "%s %%", number(100*tasks))
	n.row("largest set of followers, GB", "%s", number(star/1e9))

	// The first bottleneck is a key that cannot be split, or the resource that determines the number of masters.
	const key = "the key `%s`: more than half a core of one master"
	switch {
	case timeline > masterCores:
		n.Bottleneck = fmt.Sprintf(key, "timeline")
	case tasks > masterCores:
		n.Bottleneck = fmt.Sprintf(key, "tasks")
	case posts*onCounter/1e6 > masterCores:
		n.Bottleneck = fmt.Sprintf(key, "next_post_id")
	case star > masterBytes/2:
		n.Bottleneck = "the followers of one author: more than half the memory of one master"
	case byCPU > byMemory:
		n.Bottleneck = "CPU of the masters"
	default:
		n.Bottleneck = fmt.Sprintf("memory, %.0f %% of it for %s", 100*largest.bytes/n.RAM, largest.name)
	}
	n.row("first bottleneck", "%s", n.Bottleneck)
	return n
}

// part is the memory used for one purpose.
type part struct {
	row, name string
	bytes     float64
}
