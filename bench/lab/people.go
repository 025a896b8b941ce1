package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"retwis/bench/lab/history"
	"retwis/bench/measure"
	"retwis/internal/sleep"
)

const (
	password = "engine-and-loom-1843"
	// requestTimeout is how long a person waits for a page.
	requestTimeout = 20 * time.Second
)

// crowd are the simulated people.
type crowd struct {
	rec       *history.Recorder
	webs      []*process
	seed      uint64
	transport *http.Transport
	all       []*person

	mu     sync.Mutex
	seen   map[string]bool // the texts of posts that people have seen
	recent []place         // the latest of them, to reply to and to like
}

// place is where a post is.
type place struct {
	author, text string
	id           int64
	reply        bool
}

func (p place) path() string { return fmt.Sprintf("/u/%s/%d", p.author, p.id) }

// person does one thing after the other.
type person struct {
	*measure.Visitor
	name     string
	crowd    *crowd
	rng      *rand.Rand
	home     int // the process that serves this person most of the time
	n        int // posts written
	session  int
	blocked  map[string]bool
	sessions []*http.Cookie // of all sessions, the closed ones too
}

func newCrowd(rec *history.Recorder, webs []*process, n int, seed uint64) *crowd {
	c := &crowd{rec: rec, webs: webs, seed: seed, seen: map[string]bool{}, transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
	for i := range n {
		c.all = append(c.all, c.newPerson(fmt.Sprintf("p%02d", i), i))
	}
	return c
}

func (c *crowd) newPerson(name string, i int) *person {
	return &person{
		Visitor: c.newBrowser(), name: name, crowd: c, home: i % len(c.webs),
		rng: rand.New(rand.NewPCG(c.seed, uint64(i))), blocked: map[string]bool{},
	}
}

// newBrowser returns a browser without cookies.
func (c *crowd) newBrowser() *measure.Visitor {
	v := measure.NewVisitor(c.webs[0].url, "")
	v.HTTP.Timeout, v.HTTP.Transport = requestTimeout, c.transport
	return v
}

// note keeps where the latest posts are.
func (c *crowd) note(seen []history.Seen) {
	const keep = 200
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range seen {
		if !c.seen[s.Text] {
			c.seen[s.Text] = true
			recent := append([]place{{s.Author, s.Text, s.ID, s.Reply}}, c.recent...)
			c.recent = recent[:min(len(recent), keep)]
		}
	}
}

// latest returns the posts that people have seen last. The caller must not change them.
func (c *crowd) latest() []place {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent
}

// process picks the one to ask: mostly the same.
func (p *person) process() int {
	if p.rng.Float64() < 0.6 {
		return p.home
	}
	return p.rng.IntN(len(p.crowd.webs))
}

// request sends a form, or asks for a page, by a browser. It returns what to record.
func (p *person) request(ctx context.Context, browser *measure.Visitor, op history.Op, path string, form url.Values) (history.Op, answer) {
	at := *browser
	at.URL = p.crowd.webs[op.Process].url
	op.Person, op.Start, op.Fresh = p.name, p.crowd.rec.Now(), at.Cookie("fresh") != nil
	var a answer
	if form == nil {
		a.Answer, a.err = at.Get(ctx, path)
	} else {
		a.Answer, a.err = at.Form(ctx, path, form)
	}
	op.End = p.crowd.rec.Now()
	op.Outcome, op.Detail = a.outcome()
	return op, a
}

// change sends a form and records it.
func (p *person) change(ctx context.Context, op history.Op, path string, form url.Values) history.Op {
	op.Process = p.process()
	op, a := p.request(ctx, p.Visitor, op, path, form)
	p.crowd.rec.Op(op)
	if a.signedOut() {
		p.lostSession(ctx, op)
	}
	return op
}

// look reads a page and records it.
func (p *person) look(ctx context.Context, op history.Op, path string) (history.Op, answer) {
	op.Process = p.process()
	return p.lookAt(ctx, op, path)
}

func (p *person) lookAt(ctx context.Context, op history.Op, path string) (history.Op, answer) {
	op, a := p.read(ctx, op, path)
	if a.signedOut() {
		p.lostSession(ctx, op)
		return op, a
	}
	if !op.Final || op.Complete { // a part says nothing in the end
		p.crowd.rec.Op(op)
	}
	p.crowd.note(op.Seen)
	return op, a
}

// read asks for a page, and adds to the operation what it shows.
func (p *person) read(ctx context.Context, op history.Op, path string) (history.Op, answer) {
	op, a := p.request(ctx, p.Visitor, op, path, nil)
	if op.Outcome == history.OK && a.Status != http.StatusOK {
		op.Outcome, op.Detail = history.Refused, strconv.Itoa(a.Status)+" "+a.Location
	}
	op.Seen, op.Complete, op.Folded = a.posts(), a.next() == "", strings.Contains(a.Body, `class="folded"`)
	op.Signed = strings.Contains(a.Body, `data-viewer="`+p.name+`"`)
	op.Following = strings.Contains(a.Body, `action="/u/`+op.Other+`/unfollow"`)
	return op, a
}

// lostSession records that a session was not open, and logs in again.
func (p *person) lostSession(ctx context.Context, op history.Op) {
	p.crowd.rec.Op(history.Op{
		Person: p.name, Kind: history.Session, Process: op.Process, Start: op.Start, End: op.End,
		Outcome: history.OK, Fresh: op.Fresh, Session: p.session, Final: op.Final,
	})
	if !op.Final {
		p.logIn(ctx)
	}
}

func (p *person) register(ctx context.Context) error {
	form := url.Values{"username": {p.name}, "password": {password}, "password2": {password}}
	op := p.enter(ctx, p.home, "/register", form)
	if op.Outcome != history.OK {
		return fmt.Errorf("register %s: %s", p.name, op.Detail)
	}
	return nil
}

// enter begins a session.
func (p *person) enter(ctx context.Context, process int, path string, form url.Values) history.Op {
	p.session++
	op, _ := p.request(ctx, p.Visitor, history.Op{Kind: history.LogIn, Process: process, Session: p.session}, path, form)
	p.crowd.rec.Op(op)
	var cookie *http.Cookie
	if op.Outcome == history.OK {
		cookie = p.Cookie("auth")
	}
	p.sessions = append(p.sessions, cookie)
	return op
}

func (p *person) logIn(ctx context.Context) {
	for ctx.Err() == nil {
		op := p.enter(ctx, p.process(), "/login", url.Values{"username": {p.name}, "password": {password}})
		if op.Outcome == history.OK {
			return
		}
		sleep.For(ctx, time.Second)
	}
}

// logOut ends the session, asks for it at every process, and logs in again.
func (p *person) logOut(ctx context.Context) {
	old, n := p.Cookie("auth"), p.session
	op := history.Op{Kind: history.LogOut, Process: p.process(), Session: n}
	op, _ = p.request(ctx, p.Visitor, op, "/logout", url.Values{})
	p.crowd.rec.Op(op)
	if op.Outcome == history.OK && old != nil {
		for range 2 {
			for i := range p.crowd.webs {
				p.probe(ctx, i, n, old, false)
			}
			sleep.For(ctx, time.Second)
		}
	}
	p.logIn(ctx)
}

// probe asks a process whether a session is open.
func (p *person) probe(ctx context.Context, process, n int, cookie *http.Cookie, final bool) {
	other := p.crowd.newBrowser()
	other.SetCookie(cookie)
	op, a := p.request(ctx, other, history.Op{Kind: history.Session, Process: process, Session: n, Final: final}, "/home", nil)
	if a.signedOut() {
		op.Outcome, op.Detail = history.OK, ""
	}
	op.Signed = a.Status == http.StatusOK
	if op.Outcome == history.OK {
		p.crowd.rec.Op(op)
	}
}

// act is one thing that people do, and how often.
type act struct {
	weight float64
	do     func(context.Context)
}

func (p *person) acts() []act {
	return []act{
		{28, p.readHome},
		{14, func(ctx context.Context) { p.readProfile(ctx, p.other()) }},
		{5, func(ctx context.Context) { p.readProfile(ctx, p.name) }},
		{7, func(ctx context.Context) { p.look(ctx, history.Op{Kind: history.Timeline}, "/timeline") }},
		{8, p.toPost(p.readThread)},
		{13, p.post},
		{6, p.toPost(p.reply)},
		{6, p.toPost(func(ctx context.Context, at place) { p.mark(ctx, at, history.Like) })},
		{2, p.toPost(func(ctx context.Context, at place) { p.mark(ctx, at, history.Unlike) })},
		{4, func(ctx context.Context) { p.relate(ctx, history.Follow, p.other()) }},
		{2, func(ctx context.Context) { p.relate(ctx, history.Unfollow, p.other()) }},
		{3, p.deletePost},
		{1.2, p.unblock},
		{0.6, p.block},
		{0.6, p.logOut},
	}
}

// act does one thing at random.
func (p *person) act(ctx context.Context) {
	acts, sum := p.acts(), 0.0
	for _, a := range acts {
		sum += a.weight
	}
	at := p.rng.Float64() * sum
	for _, a := range acts {
		if at -= a.weight; at < 0 {
			a.do(ctx)
			return
		}
	}
}

func (p *person) other() string {
	for {
		if name := p.crowd.all[p.rng.IntN(len(p.crowd.all))].name; name != p.name {
			return name
		}
	}
}

// known picks a recent post that somebody has seen.
func (p *person) known(fits func(place) bool) (place, bool) {
	recent := p.crowd.latest()
	for _, i := range p.rng.Perm(len(recent)) {
		if fits(recent[i]) {
			return recent[i], true
		}
	}
	return place{}, false
}

func (p *person) readHome(ctx context.Context) { p.look(ctx, history.Op{Kind: history.Home}, "/home") }

func (p *person) readProfile(ctx context.Context, name string) {
	p.look(ctx, history.Op{Kind: history.Profile, Other: name}, "/u/"+name)
}

func (p *person) readThread(ctx context.Context, at place) {
	p.look(ctx, history.Op{Kind: history.Thread, Text: at.text}, at.path())
}

func isRoot(at place) bool { return !at.reply }

// toPost returns what does something to a recent post, if there is one.
func (p *person) toPost(do func(context.Context, place)) func(context.Context) {
	return func(ctx context.Context) {
		if at, ok := p.known(isRoot); ok {
			do(ctx, at)
		}
	}
}

// afterwards looks at what was changed, half of the time, in one of several places.
func (p *person) afterwards(ctx context.Context, op history.Op, looks ...func(context.Context)) {
	if op.Outcome == history.OK && p.rng.Float64() < 0.5 {
		looks[p.rng.IntN(len(looks))](ctx)
	}
}

func (p *person) text() string {
	p.n++
	return p.name + " writes " + strconv.Itoa(p.n)
}

func (p *person) post(ctx context.Context) {
	text := p.text()
	op := p.change(ctx, history.Op{Kind: history.Post, Text: text}, "/post", url.Values{"status": {text}})
	p.afterwards(ctx, op, p.readHome, func(ctx context.Context) { p.readProfile(ctx, p.name) })
}

func (p *person) reply(ctx context.Context, at place) {
	text := p.text()
	op := p.change(ctx, history.Op{Kind: history.Reply, Text: text, Parent: at.text}, at.path()+"/reply", url.Values{"status": {text}})
	p.afterwards(ctx, op, func(ctx context.Context) { p.readThread(ctx, at) })
}

func (p *person) mark(ctx context.Context, at place, kind history.Kind) {
	op := p.change(ctx, history.Op{Kind: kind, Text: at.text}, at.path()+"/"+string(kind), url.Values{"back": {at.path()}})
	p.afterwards(ctx, op, func(ctx context.Context) { p.readThread(ctx, at) })
}

func (p *person) block(ctx context.Context) {
	other := p.other()
	p.blocked[other] = true
	p.relate(ctx, history.Block, other)
}

func (p *person) unblock(ctx context.Context) {
	for other := range p.blocked {
		delete(p.blocked, other)
		p.relate(ctx, history.Unblock, other)
		return
	}
}

func (p *person) relate(ctx context.Context, kind history.Kind, other string) {
	op := p.change(ctx, history.Op{Kind: kind, Other: other}, "/u/"+other+"/"+string(kind), url.Values{})
	p.afterwards(ctx, op, p.readHome, func(ctx context.Context) { p.readProfile(ctx, other) })
}

func (p *person) deletePost(ctx context.Context) {
	at, ok := p.known(func(at place) bool { return at.author == p.name })
	if !ok {
		return
	}
	op := p.change(ctx, history.Op{Kind: history.Delete, Text: at.text}, at.path()+"/delete", url.Values{"back": {"/home"}})
	p.afterwards(ctx, op, p.readHome)
}

// begin signs everybody up. All follow the first two, as their audience does, and some of
// the others; then each thing that people can do is done once at least, unless nobody has
// anything to do it to.
func (c *crowd) begin(ctx context.Context, a *audience) error {
	for _, p := range c.all {
		if err := p.register(ctx); err != nil {
			return err
		}
	}
	if err := a.follow(ctx, c); err != nil {
		return err
	}
	for i, p := range c.all {
		for j, other := range c.all {
			if i != j && (j <= 1 || p.rng.Float64() < 0.3) {
				p.change(ctx, history.Op{Kind: history.Follow, Other: other.name}, "/u/"+other.name+"/follow", url.Values{})
			}
		}
	}
	for _, p := range c.all {
		p.post(ctx)
		p.readProfile(ctx, p.name)
	}
	for i := range c.all[0].acts() {
		for j := range c.all { // some have nothing to delete, say
			before := c.rec.Len()
			c.all[(i+j)%len(c.all)].acts()[i].do(ctx)
			if c.rec.Len() > before {
				break
			}
		}
	}
	return ctx.Err()
}

// live lets everybody act until ctx ends, so many times a second in all.
func (c *crowd) live(ctx context.Context, rate float64) {
	var wg sync.WaitGroup
	mean := time.Duration(float64(len(c.all)) / rate * float64(time.Second))
	for _, p := range c.all {
		wg.Go(func() {
			for ctx.Err() == nil {
				sleep.For(ctx, time.Duration(p.rng.ExpFloat64()*float64(mean)))
				// What has begun ends: its outcome counts.
				if ctx.Err() == nil {
					p.act(context.WithoutCancel(ctx))
				}
			}
		})
	}
	wg.Wait()
}

// final reads everything, when the site has been quiet.
func (c *crowd) final(ctx context.Context) {
	for i, p := range c.all {
		process := i % len(c.webs)
		p.whole(ctx, history.Op{Kind: history.Home, Process: process}, "/home")
		p.whole(ctx, history.Op{Kind: history.Replies, Other: p.name, Process: process}, "/u/"+p.name+"/replies")
		for _, other := range c.all {
			if other == p || (i+int(other.name[len(other.name)-1]))%3 == 0 {
				p.whole(ctx, history.Op{Kind: history.Profile, Other: other.name, Process: process}, "/u/"+other.name)
			}
		}
		for n, cookie := range p.sessions {
			if cookie != nil {
				p.probe(ctx, (process+n)%len(c.webs), n+1, cookie, true)
			}
		}
	}
	for i, at := range c.latest() {
		if isRoot(at) {
			p := c.all[i%len(c.all)]
			p.lookAt(ctx, history.Op{Kind: history.Thread, Text: at.text, Process: i % len(c.webs), Final: true}, at.path())
		}
	}
	c.all[0].whole(ctx, history.Op{Kind: history.Timeline}, "/timeline")
}

// whole reads all pages of a list, and records them as one.
func (p *person) whole(ctx context.Context, op history.Op, path string) {
	op.Final = true
	total, a := p.read(ctx, op, path)
	for next := a.next(); next != "" && total.Outcome == history.OK; next = a.next() {
		var more history.Op
		more, a = p.read(ctx, op, next)
		total.End, total.Outcome, total.Detail, total.Complete = more.End, more.Outcome, more.Detail, more.Complete
		total.Seen = append(total.Seen, more.Seen...)
	}
	p.crowd.rec.Op(total)
	p.crowd.note(total.Seen)
}
