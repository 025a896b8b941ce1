package web_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

// promise is how long pages of other processes may be outdated after an action was answered. A
// process compares its own clock before it uses its caches, so a page requested later is never
// older, however busy the machine is.
const promise = time.Second

// troubles are faults between a process and its database.
var troubles = map[string]func(*redistest.Proxy){
	"none":   func(*redistest.Proxy) {},
	"slow":   func(p *redistest.Proxy) { p.Delay(300 * time.Millisecond) },
	"frozen": (*redistest.Proxy).Freeze,
	"cut":    func(p *redistest.Proxy) { p.Cut(true) },
	"reconnected": func(p *redistest.Proxy) {
		p.Cut(true)
		p.Cut(false)
	},
}

// If one process hides a post from a reader, no other process shows the post for more than a
// second, even if its link to the database is slow or broken. In the end all processes show what
// was made visible again, and nothing else.
func TestTakenAway(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	near := serving(t, reach(t, db.URL()))
	eve, mona := near.signedUp("eve"), near.signedUp("mona")
	if err := near.social.Moderation.SetRole(t.Context(), social.Operator, 2, social.Moderator, ""); err != nil {
		t.Fatal(err)
	}
	all := takings(t, near, mona, eve)
	var processes []*process
	for name, trouble := range troubles {
		p := &process{name: name, trouble: trouble, proxy: db.Proxy(t)}
		far := serving(t, reach(t, p.proxy.URL()))
		p.readers = map[string]*visitor{"eve": {site: far, http: eve.http, list: eve.list}, "a stranger": far.visitor()}
		processes = append(processes, p)
	}
	eve.forgetFresh()
	for _, r := range readAll(processes, all) { // now everything is cached
		for _, tk := range all {
			if r.path == tk.path || slices.Contains(publicLists, r.path) || r.path == eve.list {
				r.page.want(200, tk.text)
			}
			if hasAll(r) {
				r.page.want(200, tk.name)
			}
		}
	}
	for _, p := range processes {
		p.trouble(p.proxy)
	}
	for _, tk := range all {
		if tk.take != nil {
			tk.take().want(303)
		}
	}
	answered := time.Now()
	eve.forgetFresh()       // or else her pages bypass the caches
	readAll(processes, all) // may fill the caches
	time.Sleep(time.Until(answered.Add(promise + time.Millisecond)))
	for _, r := range readAll(processes, all) {
		for _, tk := range all {
			if late := r.asked.Sub(answered); late > promise && tk.isGone(r) && strings.Contains(r.page.body, tk.text) {
				t.Errorf("process %q: %v after the response %s sees %q on %s: status %d", r.process, late, r.who, tk.text, r.path, r.page.status)
			}
			if late := r.asked.Sub(answered); late > promise && isPeople(r) && tk.isGone(r) && tk.isOfPerson() && strings.Contains(r.page.body, tk.name) {
				t.Errorf("process %q: %v after the response %s sees %q on %s: status %d", r.process, late, r.who, tk.name, r.path, r.page.status)
			}
			if late := r.asked.Sub(answered); late > promise && tk.isGone(r) && r.path == "/post/"+tk.id && r.page.status < 400 {
				t.Errorf("process %q: %v after the response %s is redirected to the post of %q: status %d", r.process, late, r.who, tk.what, r.page.status)
			}
		}
	}

	for _, tk := range all {
		if tk.giveBack != nil {
			tk.giveBack().want(303)
		}
	}
	answered = time.Now()
	for _, p := range processes {
		p.proxy.Thaw()
		p.proxy.Delay(0)
		p.proxy.Cut(false)
		until(t, "process "+p.name+" is back", func() bool { return p.readers["a stranger"].get("/search").status == 200 })
	}
	time.Sleep(time.Until(answered.Add(promise + time.Millisecond)))
	for _, r := range readAll(processes, all) {
		for _, tk := range all {
			switch {
			case r.path != tk.path:
			case tk.take == nil || tk.giveBack != nil:
				r.page.want(200, tk.text)
			case tk.what == "edit":
				r.page.want(200, "harmless").wantNot(tk.text)
			default:
				r.page.want(404)
			}
		}
	}
}

// process is a process with its own link to the database and its own readers.
type process struct {
	name    string
	trouble func(*redistest.Proxy)
	proxy   *redistest.Proxy
	readers map[string]*visitor
}

// taking is an action that hides a post from somebody, and the action that shows the post again, or
// nil if there is none.
type taking struct {
	what, name, text, path, id string
	take, giveBack             func() *response
}

// isGone reports whether the post must not be on a page.
func (tk *taking) isGone(r reading) bool {
	switch tk.what {
	case "nothing":
		return false
	case "block":
		return r.who == "eve"
	case "mute": // a mute applies to lists
		return r.who == "eve" && (r.path == "/home" || r.path == "/explore" || slices.Contains(publicLists, r.path) || strings.HasPrefix(r.path, "/lists/"))
	case "edit":
		return !strings.HasSuffix(r.path, "/history") && r.path != "/post/"+tk.id
	}
	return true
}

// isOfPerson reports whether the author is hidden along with the post.
func (tk *taking) isOfPerson() bool {
	return tk.what == "block" || tk.what == "suspend" || tk.what == "leave"
}

// publicLists are the lists with posts of everybody. A search highlights its matches; the search
// for the tag leaves the text unchanged.
var publicLists = []string{"/timeline", "/timeline.atom", "/timeline.json", "/tag/tag", "/tag/tag.atom", "/tag/tag.json", "/search?q=%23tag"}

// peopleLists are the lists of all people, for logged-in users.
var peopleLists = []string{"/search?in=people&q=author", "/suggest?q=%40author", "/explore/people", "/search?q=author"}

func isPeople(r reading) bool { return slices.Contains(peopleLists, r.path) }

// hasAll reports whether a page lists all people. Other pages list suggestions or the first
// matches.
func hasAll(r reading) bool {
	return isPeople(r) && !strings.HasPrefix(r.path, "/explore") && r.path != "/search?q=author"
}

// takings returns one taking of each kind, each with a separate author that eve follows.
func takings(t *testing.T, s *site, mona, eve *visitor) []*taking {
	t.Helper()
	var all []*taking
	eve.send("/lists", "name", "Authors").want(303)
	eve.list = listLink.FindString(eve.get("/lists").want(200).body)
	for i, what := range []string{"nothing", "block", "mute", "delete", "edit", "hide", "suspend", "leave"} {
		name := fmt.Sprint("author", i)
		author := s.signedUp(name)
		s.longAgo(name)
		eve.send("/u/" + name + "/follow").want(303)
		tk := &taking{what: what, name: name, text: "the secret of " + name}
		path, id := author.published(name, tk.text+" for @eve #tag")
		tk.id = id
		eve.send(eve.list+"/add", "member", name).want(303)
		for _, act := range []string{"/like", "/repost", "/bookmark"} {
			eve.send(path + act).want(303)
		}
		decide := func(of, action string) func() *response {
			return func() *response {
				return mona.send("/moderation/decide", "of", of, "action", action, "message", "Because.")
			}
		}
		send := func(v *visitor, path string, fields ...string) func() *response {
			return func() *response { return v.send(path, fields...) }
		}
		tk.path = path
		switch what {
		case "block":
			tk.take, tk.giveBack = send(author, "/u/eve/block", "for", ""), send(author, "/u/eve/unblock")
		case "mute":
			tk.take, tk.giveBack = send(eve, "/u/"+name+"/mute", "for", ""), send(eve, "/u/"+name+"/unmute")
		case "delete":
			tk.take = send(author, path+"/delete")
		case "edit":
			tk.take = send(author, path+"/edit", "status", "harmless")
		case "hide":
			tk.take, tk.giveBack = decide("post:"+id, "hide"), decide("post:"+id, "unhide")
		case "suspend":
			user := fmt.Sprint("user:", s.user(name).ID)
			tk.take, tk.giveBack = decide(user, "suspend"), decide(user, "restore")
		case "leave":
			tk.take = func() *response {
				author.send("/settings/delete", "password", password).want(200)
				return author.get("/home")
			}
		}
		all = append(all, tk)
	}
	return all
}

// reading is a page read by somebody in a process.
type reading struct {
	process, who, path string
	asked              time.Time
	page               *response
}

// readAll reads all pages as all readers in all processes concurrently.
func readAll(processes []*process, all []*taking) (readings []reading) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	read := func(p *process, who string, paths ...string) {
		wg.Go(func() {
			for _, path := range paths {
				asked := time.Now()
				page := p.readers[who].get(path)
				mu.Lock()
				readings = append(readings, reading{p.name, who, path, asked, page})
				mu.Unlock()
			}
		})
	}
	for _, p := range processes {
		for who := range p.readers {
			read(p, who, publicLists[:4]...)
			read(p, who, publicLists[4:]...)
			read(p, who, "/explore", "/u/eve/likes")
			for _, tk := range all {
				read(p, who, tk.path, "/u/"+tk.name)
				read(p, who, tk.path+"/history", "/post/"+tk.id)
				read(p, who, "/u/"+tk.name+".atom", "/u/"+tk.name+".json")
			}
		}
		read(p, "eve", "/home", "/bookmarks")
		read(p, "eve", "/notifications", "/u/eve")
		read(p, "eve", append([]string{p.readers["eve"].list}, peopleLists...)...)
	}
	wg.Wait()
	return readings
}
