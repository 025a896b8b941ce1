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
	// requestTimeout is the timeout of each request.
	requestTimeout = 20 * time.Second
)

// crowd is the set of simulated people.
type crowd struct {
	rec       *history.Recorder
	webs      []*process
	seed      uint64
	transport *http.Transport
	all       []*person

	mu     sync.Mutex
	seen   map[string]bool // the texts of all posts that people have seen
	recent []postRef       // the last seen posts, as targets for replies and likes
}

// postRef identifies a post.
type postRef struct {
	author, text string
	id           int64
	reply        bool
}

func (p postRef) path() string { return fmt.Sprintf("/u/%s/%d", p.author, p.id) }

// person is a simulated person, who performs one operation at a time.
type person struct {
	*measure.Visitor
	name     string
	crowd    *crowd
	rng      *rand.Rand
	home     int // the web process that serves this person most of the time
	n        int // number of posts written
	session  int // number of the current session
	blocked  map[string]bool
	sessions []*http.Cookie // the cookie of each session, including closed sessions; nil if the log-in failed
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

// remember adds newly seen posts to the recent posts.
func (c *crowd) remember(seen []history.Seen) {
	const maxRecent = 200
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range seen {
		if !c.seen[s.Text] {
			c.seen[s.Text] = true
			recent := append([]postRef{{s.Author, s.Text, s.ID, s.Reply}}, c.recent...)
			c.recent = recent[:min(len(recent), maxRecent)]
		}
	}
}

// recentPosts returns the last seen posts. The caller must not modify the slice.
func (c *crowd) recentPosts() []postRef {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent
}

// process picks the web process for a request, which is the same most of the time.
func (p *person) process() int {
	if p.rng.Float64() < 0.6 {
		return p.home
	}
	return p.rng.IntN(len(p.crowd.webs))
}

// request submits a form, or requests a page if form is nil. It returns the operation to record.
func (p *person) request(ctx context.Context, browser *measure.Visitor, op history.Op, path string, form url.Values) (history.Op, answer) {
	client := *browser
	client.URL = p.crowd.webs[op.Process].url
	op.Person, op.Start, op.Fresh = p.name, p.crowd.rec.Now(), client.Cookie("fresh") != nil
	var a answer
	if form == nil {
		a.Answer, a.err = client.Get(ctx, path)
	} else {
		a.Answer, a.err = client.Form(ctx, path, form)
	}
	op.End = p.crowd.rec.Now()
	op.Outcome, op.Detail = a.outcome()
	return op, a
}

// change submits a form and records the operation.
func (p *person) change(ctx context.Context, op history.Op, path string, form url.Values) history.Op {
	op.Process = p.process()
	op, a := p.request(ctx, p.Visitor, op, path, form)
	p.crowd.rec.Op(op)
	if a.signedOut() {
		p.sessionLost(ctx, op)
	}
	return op
}

// look reads a page from a random process and records the operation.
func (p *person) look(ctx context.Context, op history.Op, path string) (history.Op, answer) {
	op.Process = p.process()
	return p.lookAt(ctx, op, path)
}

// lookAt is like look, with the process of op.
func (p *person) lookAt(ctx context.Context, op history.Op, path string) (history.Op, answer) {
	op, a := p.read(ctx, op, path)
	if a.signedOut() {
		p.sessionLost(ctx, op)
		return op, a
	}
	if !op.Final || op.Complete { // an incomplete page cannot be checked at the end
		p.crowd.rec.Op(op)
	}
	p.crowd.remember(op.Seen)
	return op, a
}

// read requests a page and adds its content to the operation.
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

// sessionLost records that the session was closed, and logs in again.
func (p *person) sessionLost(ctx context.Context, op history.Op) {
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
	op := p.startSession(ctx, p.home, "/register", form)
	if op.Outcome != history.OK {
		return fmt.Errorf("register %s: %s", p.name, op.Detail)
	}
	return nil
}

// startSession starts a session with the form for log-ins or sign-ups.
func (p *person) startSession(ctx context.Context, process int, path string, form url.Values) history.Op {
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
		op := p.startSession(ctx, p.process(), "/login", url.Values{"username": {p.name}, "password": {password}})
		if op.Outcome == history.OK {
			return
		}
		sleep.For(ctx, time.Second)
	}
}

// logOut ends the session, checks that it is closed at every process, and logs in again.
func (p *person) logOut(ctx context.Context) {
	cookie, session := p.Cookie("auth"), p.session
	op := history.Op{Kind: history.LogOut, Process: p.process(), Session: session}
	op, _ = p.request(ctx, p.Visitor, op, "/logout", url.Values{})
	p.crowd.rec.Op(op)
	if op.Outcome == history.OK && cookie != nil {
		for range 2 {
			for i := range p.crowd.webs {
				p.probe(ctx, i, session, cookie, false)
			}
			sleep.For(ctx, time.Second)
		}
	}
	p.logIn(ctx)
}

// probe checks and records whether a session is open at a process.
func (p *person) probe(ctx context.Context, process, session int, cookie *http.Cookie, final bool) {
	browser := p.crowd.newBrowser()
	browser.SetCookie(cookie)
	op, a := p.request(ctx, browser, history.Op{Kind: history.Session, Process: process, Session: session, Final: final}, "/home", nil)
	if a.signedOut() {
		op.Outcome, op.Detail = history.OK, ""
	}
	op.Signed = a.Status == http.StatusOK
	if op.Outcome == history.OK {
		p.crowd.rec.Op(op)
	}
}

// action is an action of a person, with its relative frequency.
type action struct {
	weight float64
	do     func(context.Context)
}

func (p *person) actions() []action {
	return []action{
		{28, p.readHome},
		{14, func(ctx context.Context) { p.readProfile(ctx, p.other()) }},
		{5, func(ctx context.Context) { p.readProfile(ctx, p.name) }},
		{7, func(ctx context.Context) { p.look(ctx, history.Op{Kind: history.Timeline}, "/timeline") }},
		{8, p.onRecentPost(p.readThread)},
		{13, p.post},
		{6, p.onRecentPost(p.reply)},
		{6, p.onRecentPost(func(ctx context.Context, target postRef) { p.react(ctx, target, history.Like) })},
		{2, p.onRecentPost(func(ctx context.Context, target postRef) { p.react(ctx, target, history.Unlike) })},
		{4, func(ctx context.Context) { p.relate(ctx, history.Follow, p.other()) }},
		{2, func(ctx context.Context) { p.relate(ctx, history.Unfollow, p.other()) }},
		{3, p.deletePost},
		{1.2, p.unblock},
		{0.6, p.block},
		{0.6, p.logOut},
	}
}

// act performs a random action.
func (p *person) act(ctx context.Context) {
	actions, sum := p.actions(), 0.0
	for _, a := range actions {
		sum += a.weight
	}
	x := p.rng.Float64() * sum
	for _, a := range actions {
		if x -= a.weight; x < 0 {
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

// pickRecent picks a random recent post that match accepts.
func (p *person) pickRecent(match func(postRef) bool) (postRef, bool) {
	recent := p.crowd.recentPosts()
	for _, i := range p.rng.Perm(len(recent)) {
		if match(recent[i]) {
			return recent[i], true
		}
	}
	return postRef{}, false
}

func (p *person) readHome(ctx context.Context) { p.look(ctx, history.Op{Kind: history.Home}, "/home") }

func (p *person) readProfile(ctx context.Context, name string) {
	p.look(ctx, history.Op{Kind: history.Profile, Other: name}, "/u/"+name)
}

func (p *person) readThread(ctx context.Context, target postRef) {
	p.look(ctx, history.Op{Kind: history.Thread, Text: target.text}, target.path())
}

func isRoot(target postRef) bool { return !target.reply }

// onRecentPost returns an action on a random recent post that is not a reply. The action does
// nothing if there is no such post.
func (p *person) onRecentPost(do func(context.Context, postRef)) func(context.Context) {
	return func(ctx context.Context) {
		if target, ok := p.pickRecent(isRoot); ok {
			do(ctx, target)
		}
	}
}

// maybeLook reads a random page that shows the change, after half of the successful changes.
func (p *person) maybeLook(ctx context.Context, op history.Op, looks ...func(context.Context)) {
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
	p.maybeLook(ctx, op, p.readHome, func(ctx context.Context) { p.readProfile(ctx, p.name) })
}

func (p *person) reply(ctx context.Context, target postRef) {
	text := p.text()
	op := p.change(ctx, history.Op{Kind: history.Reply, Text: text, Parent: target.text}, target.path()+"/reply", url.Values{"status": {text}})
	p.maybeLook(ctx, op, func(ctx context.Context) { p.readThread(ctx, target) })
}

// react likes or unlikes a post.
func (p *person) react(ctx context.Context, target postRef, kind history.Kind) {
	op := p.change(ctx, history.Op{Kind: kind, Text: target.text}, target.path()+"/"+string(kind), url.Values{"back": {target.path()}})
	p.maybeLook(ctx, op, func(ctx context.Context) { p.readThread(ctx, target) })
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
	p.maybeLook(ctx, op, p.readHome, func(ctx context.Context) { p.readProfile(ctx, other) })
}

func (p *person) deletePost(ctx context.Context) {
	target, ok := p.pickRecent(func(target postRef) bool { return target.author == p.name })
	if !ok {
		return
	}
	op := p.change(ctx, history.Op{Kind: history.Delete, Text: target.text}, target.path()+"/delete", url.Values{"back": {"/home"}})
	p.maybeLook(ctx, op, p.readHome)
}

// setUp registers all people. All of them follow the first two people, like the audience, and some
// of the other people. Then each action is performed at least once, unless it has no possible target.
func (c *crowd) setUp(ctx context.Context, a *audience) error {
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
	for i := range c.all[0].actions() {
		for j := range c.all { // a person may have nothing to delete, for example
			before := c.rec.Len()
			c.all[(i+j)%len(c.all)].actions()[i].do(ctx)
			if c.rec.Len() > before {
				break
			}
		}
	}
	return ctx.Err()
}

// live lets all people act until ctx ends, at the given total rate per second.
func (c *crowd) live(ctx context.Context, rate float64) {
	var wg sync.WaitGroup
	mean := time.Duration(float64(len(c.all)) / rate * float64(time.Second))
	for _, p := range c.all {
		wg.Go(func() {
			for ctx.Err() == nil {
				sleep.For(ctx, time.Duration(p.rng.ExpFloat64()*float64(mean)))
				// An action that has started is completed, because its outcome counts.
				if ctx.Err() == nil {
					p.act(context.WithoutCancel(ctx))
				}
			}
		})
	}
	wg.Wait()
}

// readEverything reads all pages for the final check.
func (c *crowd) readEverything(ctx context.Context) {
	for i, p := range c.all {
		process := i % len(c.webs)
		p.readAll(ctx, history.Op{Kind: history.Home, Process: process}, "/home")
		p.readAll(ctx, history.Op{Kind: history.Replies, Other: p.name, Process: process}, "/u/"+p.name+"/replies")
		for _, other := range c.all {
			if other == p || (i+int(other.name[len(other.name)-1]))%3 == 0 {
				p.readAll(ctx, history.Op{Kind: history.Profile, Other: other.name, Process: process}, "/u/"+other.name)
			}
		}
		for n, cookie := range p.sessions {
			if cookie != nil {
				p.probe(ctx, (process+n)%len(c.webs), n+1, cookie, true)
			}
		}
	}
	for i, post := range c.recentPosts() {
		if isRoot(post) {
			p := c.all[i%len(c.all)]
			p.lookAt(ctx, history.Op{Kind: history.Thread, Text: post.text, Process: i % len(c.webs), Final: true}, post.path())
		}
	}
	c.all[0].readAll(ctx, history.Op{Kind: history.Timeline}, "/timeline")
}

// readAll reads all pages of a list and records them as one operation.
func (p *person) readAll(ctx context.Context, op history.Op, path string) {
	op.Final = true
	total, a := p.read(ctx, op, path)
	for next := a.next(); next != "" && total.Outcome == history.OK; next = a.next() {
		var more history.Op
		more, a = p.read(ctx, op, next)
		total.End, total.Outcome, total.Detail, total.Complete = more.End, more.Outcome, more.Detail, more.Complete
		total.Seen = append(total.Seen, more.Seen...)
	}
	p.crowd.rec.Op(total)
	p.crowd.remember(total.Seen)
}
