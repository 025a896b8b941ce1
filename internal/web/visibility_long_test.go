//go:build long

package web_test

import (
	"fmt"
	"image/color"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/web"
)

// crowd is the number of people who act at random; the last is a moderator.
const crowd = 8

// guest is the author number of people who sign up, write a post and delete their account.
const guest = crowd

// modelPost is a post of the model. The times are when an action was answered, or zero.
type modelPost struct {
	author          int
	path, id        string
	tag             bool   // has #tag
	picture         string // path of its picture, empty for none
	deleted, hidden time.Time
}

// shownText is a text of a post until it was replaced.
type shownText struct {
	post     *modelPost
	replaced time.Time
	alt      bool // description of the picture, which an edit keeps
}

// alternate runs the steps in turn, with a pause of up to two seconds after each.
func alternate(stop <-chan struct{}, steps ...func()) {
	for i := 0; ; i++ {
		steps[i%len(steps)]()
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(300+rand.IntN(1700)) * time.Millisecond):
		}
	}
}

// network is two processes, random people, and a model of who may see what.
type network struct {
	t        *testing.T
	rng      *rand.Rand
	sites    [2]*site // the second one has a slow link to the database
	actors   [2][]*visitor
	readers  [2][]*visitor // the last one is a stranger
	readable *regexp.Regexp

	mu        sync.Mutex
	posts     []*modelPost
	texts     map[string]*shownText
	blocked   [crowd][crowd]time.Time
	muted     [crowd][crowd]time.Time
	suspended [crowd]time.Time
	out       [crowd]bool // the reader's session has ended
	appeals   int
	pages     int
	errors    int
}

// Random people act on two processes, one of which has a slow or broken link to the database. No
// page shows for more than a second what its reader must not see. In the end all pages match the
// model and the check finds nothing. Posts have pictures with descriptions and are also read in
// lists, feeds and searches, in two languages; people are searched by name. The week's liked posts
// are merged continuously. Trends are left out, because package search tests them.
func TestVisibilityModel(t *testing.T) {
	t.Parallel()
	const actions, reading = 5_000, 6
	for i, way := range []struct {
		name  string
		fault func(p *redistest.Proxy, stop <-chan struct{})
	}{
		{"healthy", func(*redistest.Proxy, <-chan struct{}) {}},
		{"slow", func(p *redistest.Proxy, _ <-chan struct{}) { p.Delay(280 * time.Millisecond) }},
		{"freezing", func(p *redistest.Proxy, stop <-chan struct{}) { alternate(stop, p.Freeze, p.Thaw) }},
		{"cutting", func(p *redistest.Proxy, stop <-chan struct{}) {
			alternate(stop, func() { p.Cut(true) }, func() { p.Cut(false) })
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t)
			proxy := db.Proxy(t)
			place := files.Directory(t.TempDir())
			process := func(url string) *site {
				db := reach(t, url)
				return start(t, db.Client(), web.Options{}, app.Options{Invalidations: db.Invalidations(), Media: place})
			}
			n := newNetwork(t, [2]*site{process(db.URL()), process(proxy.URL())}, uint64(i))
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				way.fault(proxy, stop)
			}()
			readers := reading
			if way.name == "slow" {
				readers = 40 // slow readers mostly wait
			}
			n.run(actions, readers)
			close(stop)
			<-done
			proxy.Thaw()
			proxy.Cut(false)
			proxy.Delay(0)
			n.compareAll()
			t.Logf("%d actions, %d appeals, %d pages read meanwhile, %d of them errors, %d posts", actions, n.appeals, n.pages, n.errors, len(n.posts))
		})
	}
}

func newNetwork(t *testing.T, sites [2]*site, seed uint64) *network {
	t.Helper()
	n := &network{t: t, rng: rand.New(rand.NewPCG(seed, 28)), sites: sites, texts: map[string]*shownText{}, readable: regexp.MustCompile(`zq\d+y`)}
	for i := range crowd {
		v := sites[0].signedUp(fmt.Sprint("person", i))
		sites[0].longAgo(fmt.Sprint("person", i))
		reader := sites[0].visitor()
		for at, s := range sites {
			n.actors[at] = append(n.actors[at], &visitor{site: s, http: v.http})
			n.readers[at] = append(n.readers[at], &visitor{site: s, http: reader.http, language: []string{"en", "de"}[i%2]})
		}
		if i < crowd-1 {
			n.logIn(n.readers[0][i], i)
		}
	}
	for i, v := range n.readers[0][:crowd-1] {
		v.send("/lists", "name", "Everybody").want(303)
		list := listLink.FindString(v.get("/lists").want(200).body)
		for other := range crowd - 1 {
			v.send(list+"/add", "member", fmt.Sprint("person", other))
		}
		n.readers[0][i].list, n.readers[1][i].list = list, list
	}
	if err := sites[0].social.Moderation.SetRole(t.Context(), social.Operator, crowd, social.Moderator, ""); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *network) logIn(v *visitor, i int) {
	n.t.Helper()
	v.send("/login", "username", fmt.Sprint("person", i), "password", password).want(303)
}

// run lets people act, one after the other, while others read.
func (n *network) run(actions, readers int) {
	n.t.Helper()
	stop := make(chan struct{})
	var reading sync.WaitGroup
	defer reading.Wait()
	defer close(stop)
	for seed := range uint64(readers) {
		reading.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 29))
			for {
				select {
				case <-stop:
					return
				default:
					n.readOne(rng)
				}
			}
		})
	}
	for i := range actions {
		if n.act(i); n.t.Failed() {
			return
		}
		if i%10 == 0 {
			n.sites[0].merge()
		}
	}
	time.Sleep(2 * promise) // so that the last changes are read, too
}

// send performs an action on the near process. Occasionally it tries the far process first.
func (n *network) send(who int, path string, fields ...string) *response {
	n.t.Helper()
	if n.rng.IntN(60) == 0 {
		if a := n.actors[1][who].send(path, fields...); a.status < 500 {
			return a
		}
	}
	a := n.actors[0][who].send(path, fields...)
	if a.status >= 500 {
		n.t.Errorf("%s: status %d", path, a.status)
	}
	return a
}

// change performs an action that hides something from somebody, or shows it again. It keeps the
// time of the response in since.
func (n *network) change(since *time.Time, takes bool, who int, path string, fields ...string) {
	n.t.Helper()
	n.mu.Lock()
	was := *since
	if !takes {
		*since = time.Time{} // it may take effect before the response arrives
	}
	n.mu.Unlock()
	a := n.send(who, path, fields...)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case a.status != 303 && !takes:
		*since = was
	case a.status == 303 && takes && since.IsZero():
		*since = time.Now()
	}
}

func (n *network) act(i int) {
	n.t.Helper()
	who, other := n.rng.IntN(crowd-1), n.rng.IntN(crowd-1)
	if !n.suspended[who].IsZero() {
		who = crowd - 1
	}
	var p, own *modelPost
	if len(n.posts) > 0 {
		p = n.posts[max(0, len(n.posts)-1-n.rng.IntN(60))]
	}
	for _, post := range n.posts[max(0, len(n.posts)-60):] {
		if post.author == who && post.deleted.IsZero() {
			own = post
		}
	}
	text := fmt.Sprintf("zq%dy #tag @person%d", i, other)
	name, mod := fmt.Sprint("/u/person", other), crowd-1
	switch kind := n.rng.IntN(100); {
	case kind < 25 || p == nil:
		n.write(who, text, "/post")
	case kind < 40:
		n.write(who, text, p.path+"/reply")
	case kind < 55:
		n.send(who, p.path+"/"+[]string{"like", "repost", "bookmark", "unlike", "unrepost"}[n.rng.IntN(5)])
	case kind < 66 && who != other:
		n.send(who, name+"/"+[]string{"follow", "follow", "follow", "unfollow"}[n.rng.IntN(4)])
	case kind < 68:
		n.send(who, "/tag/tag/"+[]string{"follow", "unfollow"}[n.rng.IntN(2)])
	case kind < 71 && who != other && who != mod:
		n.change(&n.muted[who][other], true, who, name+"/mute", "for", "")
	case kind < 74 && who != other && who != mod:
		n.change(&n.muted[who][other], false, who, name+"/unmute")
	case kind < 78 && who != other && who != mod:
		n.change(&n.blocked[who][other], true, who, name+"/block", "for", "")
	case kind < 84 && who != other && who != mod:
		n.change(&n.blocked[who][other], false, who, name+"/unblock")
	case kind < 88 && own != nil:
		n.edit(who, own, text)
	case kind < 92 && own != nil:
		n.change(&own.deleted, true, who, own.path+"/delete")
	case kind < 93:
		n.change(&p.hidden, true, mod, "/moderation/decide", "of", "post:"+p.id, "action", "hide", "message", "No.")
	case kind < 94 && n.rng.IntN(2) == 0:
		n.appeal(text)
	case kind < 94:
		n.change(&p.hidden, false, mod, "/moderation/decide", "of", "post:"+p.id, "action", "unhide")
	case kind < 95:
		n.passBy(i)
	case kind < 98 && other < 2:
		n.setOut(other, true)
		n.change(&n.suspended[other], true, mod, "/moderation/decide", "of", fmt.Sprint("user:", other+1), "action", "suspend", "message", "No.")
	case !n.suspended[other].IsZero():
		n.change(&n.suspended[other], false, mod, "/moderation/decide", "of", fmt.Sprint("user:", other+1), "action", "restore", "message", "Yes.")
		n.logIn(n.actors[0][other], other)
		n.logIn(n.readers[0][other], other)
		n.setOut(other, false)
	}
}

func (n *network) setOut(who int, out bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out[who] = out
}

// write publishes a post or a reply.
func (n *network) write(who int, text, path string) {
	n.t.Helper()
	fields, alt, picture := []string{"status", text}, "", ""
	if n.rng.IntN(6) == 0 {
		alt = fmt.Sprintf("zq9%dy", n.rng.IntN(1_000_000_000))
		id := n.upload(who)
		fields, picture = append(fields, "media", id, "alt-"+id, alt), "/media/"+id+"/400."
	}
	a := n.actors[0][who].send(path, fields...)
	if a.status != 303 {
		return // the person cannot see the parent
	}
	_, id, isReply := strings.Cut(a.header.Get("Location"), "#p")
	if !isReply {
		id = n.actors[0][who].get(fmt.Sprint("/u/person", who)).want(200).posts()[0]
	}
	p := &modelPost{author: who, id: id, path: fmt.Sprintf("/u/person%d/%s", who, id)}
	if alt != "" {
		page := n.actors[0][who].get(p.path).want(200, alt).body
		for _, address := range mediaAddress.FindAllString(page, -1) { // the page of a reply shows its parent, too
			if strings.HasPrefix(address, picture) {
				p.picture = address
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(text, p)
	if alt != "" {
		n.texts[alt] = &shownText{post: p, alt: true}
	}
}

func (n *network) add(text string, p *modelPost) {
	p.tag = strings.Contains(text, "#tag")
	n.posts = append(n.posts, p)
	n.texts[n.readable.FindString(text)] = &shownText{post: p}
}

// passBy signs up a guest who writes a post and then deletes the account.
func (n *network) passBy(i int) {
	n.t.Helper()
	name := fmt.Sprint("guest", i)
	v := n.sites[0].signedUp(name)
	path, id := v.published(name, fmt.Sprintf("zq%dy #tag @person%d", i, i%crowd))
	p := &modelPost{author: guest, path: path, id: id}
	n.mu.Lock()
	n.add(fmt.Sprintf("zq%dy #tag", i), p)
	n.mu.Unlock()
	v.send(fmt.Sprint("/u/person", i%(crowd-1), "/follow"))
	n.actors[0][i%(crowd-1)].send(path + "/like")
	v.send("/settings/delete", "password", password).want(200)
	n.mu.Lock()
	defer n.mu.Unlock()
	p.deleted = time.Now()
}

// appeal lets the author of the latest hidden post appeal, which only moderators may read. A
// moderator answers.
func (n *network) appeal(text string) {
	n.t.Helper()
	var p *modelPost
	for _, post := range n.posts {
		if post.author != guest && !post.hidden.IsZero() && post.deleted.IsZero() && n.suspended[post.author].IsZero() {
			p = post
		}
	}
	if p == nil {
		return
	}
	n.mu.Lock()
	n.texts[n.readable.FindString(text)] = &shownText{post: p, replaced: time.Now()}
	n.mu.Unlock()
	if n.send(p.author, "/appeal", "of", "post:"+p.id, "text", text).status != 303 {
		return // the limit of reports is reached
	}
	n.appeals++
	n.send(crowd-1, "/moderation/take", "of", "post:"+p.id)
	n.send(crowd-1, "/moderation/decide", "of", "post:"+p.id, "report", "1", "heard", "1", "action", "dismiss", "message", "No.")
}

func (n *network) edit(who int, p *modelPost, text string) {
	n.t.Helper()
	token := n.readable.FindString(text)
	n.mu.Lock()
	n.texts[token] = &shownText{post: p} // it may take effect before the response arrives
	n.mu.Unlock()
	if n.send(who, p.path+"/edit", "status", text).status != 303 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for other, old := range n.texts {
		if old.post == p && other != token && !old.alt && old.replaced.IsZero() {
			old.replaced = time.Now()
		}
	}
}

// hiddenSince returns the time since which a person must not see a post, or the zero time if the
// person may see it. If list is true, posts of muted people are hidden, too.
func (n *network) hiddenSince(who int, p *modelPost, list bool) (since time.Time) {
	causes := []time.Time{p.deleted}
	if who != p.author {
		causes = append(causes, p.hidden)
		if p.author != guest {
			causes = append(causes, n.suspended[p.author])
		}
		if p.author != guest && who < crowd-1 { // not a stranger
			causes = append(causes, n.blocked[who][p.author], n.blocked[p.author][who])
			if list {
				causes = append(causes, n.muted[who][p.author])
			}
		}
	}
	for _, cause := range causes {
		if !cause.IsZero() && (since.IsZero() || cause.Before(since)) {
			since = cause
		}
	}
	return since
}

// everywhereListed are the pages with posts of everybody who is not muted. A search highlights its
// matches; the search for the tag leaves the rest of a text unchanged.
var everywhereListed = []string{"/home", "/timeline", "/timeline.atom", "/timeline.json", "/tag/tag", "/tag/tag.atom", "/tag/tag.json", "/search?q=%23tag", "/search?q=%23tag&in=posts", "/explore"}

// withPeople are pages that list people. The sitemap shows what strangers may see, for every
// reader.
var withPeople = []string{"/search?in=people&q=person", "/search?q=person", "/suggest?q=%40person", "/explore/people", "/explore", "/sitemap/1.xml"}

// personName matches a person on such a page. toFollow matches a person suggested next to posts,
// which mention others.
var (
	personName = regexp.MustCompile(`person(\d)`)
	toFollow   = regexp.MustCompile(`/u/person(\d)/(?:un)?follow"`)
)

// readOne reads a random page and checks that it shows nothing hidden.
func (n *network) readOne(rng *rand.Rand) {
	n.mu.Lock()
	who, pages := rng.IntN(crowd), append([]string{"/notifications", "/bookmarks"}, everywhereListed...)
	author := fmt.Sprint("/u/person", rng.IntN(crowd-1))
	pages = append(pages, author, author+"/replies", author+"/likes", author+".atom", author+".json")
	pages = append(pages, withPeople...)
	list := n.readers[0][who].list
	if list != "" {
		pages = append(pages, list)
	}
	var about *modelPost
	if len(n.posts) > 0 {
		about = n.posts[max(0, len(n.posts)-1-rng.IntN(40))]
		pages = append(pages, about.path, about.path, about.path+"/history", about.path+"/more", "/post/"+about.id)
		if about.picture != "" {
			pages = append(pages, about.picture, about.picture, about.picture)
		}
	}
	out := n.out[who]
	n.mu.Unlock()
	page, asked := pages[rng.IntN(len(pages))], time.Now()
	a := n.readers[min(1, rng.IntN(4))][who].get(page)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pages++
	if a.status >= 500 {
		n.errors++
	}
	if out || n.out[who] {
		return // the reader is a stranger now, or not yet logged in
	}
	if about != nil && a.status < 400 {
		reader := who
		if page == about.picture && who != about.author {
			reader = crowd - 1 // what strangers may see is public
		}
		since := n.hiddenSince(reader, about, false)
		if late := asked.Sub(since); (page == about.picture || page == "/post/"+about.id) && !since.IsZero() && late > promise {
			n.t.Errorf("person %d gets %s of person %d, hidden for %v: status %d", who, page, about.author, late, a.status)
		}
	}
	if slices.Contains(withPeople, page) {
		reader := who
		if strings.HasPrefix(page, "/sitemap/") {
			reader = crowd - 1
		}
		names := personName
		if page == "/explore" {
			names = toFollow
		}
		for _, name := range names.FindAllStringSubmatch(a.body, -1) {
			other, _ := strconv.Atoi(name[1])
			if other >= crowd-1 || other == who {
				continue
			}
			since := n.hiddenSince(reader, &modelPost{author: other}, false)
			if late := asked.Sub(since); !since.IsZero() && late > promise {
				n.t.Errorf("person %d gets %s with person %d, hidden for %v", who, page, other, late)
			}
		}
	}
	for _, token := range n.readable.FindAllString(a.body, -1) {
		text := n.texts[token]
		if text == nil {
			continue // the post is being written
		}
		since := n.hiddenSince(who, text.post, slices.Contains(everywhereListed, page) || page == list)
		if since.IsZero() && !strings.HasSuffix(page, "/history") {
			since = text.replaced
		}
		if late := asked.Sub(since); !since.IsZero() && late > promise {
			n.t.Errorf("person %d gets %s with %q of person %d, hidden for %v", who, page, token, text.post.author, late)
		}
	}
}

// upload uploads a picture and returns its ID.
func (n *network) upload(who int) string {
	n.t.Helper()
	_, answer := n.actors[0][who].sendFiles("/media", nil, map[string][]byte{"file": photoOf(n.t, color.Gray{Y: uint8(n.rng.IntN(256))})})
	id := mediaID.FindString(answer)
	if id == "" {
		n.t.Errorf("response to an upload: %q, want an ID", answer)
	}
	return id
}

var mediaID = regexp.MustCompile(`[0-9a-f]{32}`)

// compareAll compares the page of each post with the model, in both processes, and checks the
// database.
func (n *network) compareAll() {
	n.t.Helper()
	until(n.t, "the far process is back", func() bool { return n.readers[1][crowd-1].get("/timeline").status == 200 })
	time.Sleep(promise)
	for at := range n.sites {
		for who, v := range n.readers[at] {
			if who < crowd-1 && !n.suspended[who].IsZero() {
				continue
			}
			for _, p := range n.posts[max(0, len(n.posts)-100):] {
				want := 200
				if !n.hiddenSince(who, p, false).IsZero() {
					want = 404
				}
				if a := v.get(p.path); a.status != want {
					n.t.Errorf("process %d, person %d: %s: status %d, want %d", at, who, p.path, a.status, want)
				}
			}
		}
	}
	n.compareTag()
	s := n.sites[0]
	until(n.t, "the background tasks have ended", func() bool {
		waiting, err := s.client.Do(n.t.Context(), s.client.B().Exists().Key("tasks").Build()).AsInt64()
		return err == nil && waiting == 0
	})
	result, err := check.Verify(n.t.Context(), s.social, check.Options{Report: func(p check.Problem) { n.t.Error(p) }})
	if err != nil || result.Problems != 0 || result.Leftovers != 0 {
		n.t.Errorf("the check found %d problems and %d leftovers: %v", result.Problems, result.Leftovers, err)
	}
}

// compareTag compares the page of the tag with the model, in both processes.
func (n *network) compareTag() {
	n.t.Helper()
	for at := range n.sites {
		for who, v := range n.readers[at] {
			if who < crowd-1 && !n.suspended[who].IsZero() {
				continue
			}
			var want []string
			for _, p := range slices.Backward(n.posts) {
				if p.tag && n.hiddenSince(who, p, true).IsZero() {
					want = append(want, p.id)
				}
			}
			got := v.get("/tag/tag").want(200).posts()
			// A page has fewer posts if many of the posts that it examines are hidden.
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				n.t.Errorf("process %d, person %d: the page of the tag has %v, want %v", at, who, got, want[:min(20, len(want))])
			}
		}
	}
}
