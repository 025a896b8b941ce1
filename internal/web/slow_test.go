package web_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

// promise is how long after an action was answered pages of other processes may still be
// as they were before.
const promise = time.Second

// ways are what can be wrong between one process and its database.
var ways = map[string]func(p *redistest.Proxy, stop <-chan struct{}){
	"slow":     func(p *redistest.Proxy, _ <-chan struct{}) { p.Delay(300 * time.Millisecond) },
	"freezing": func(p *redistest.Proxy, stop <-chan struct{}) { alternate(stop, p.Freeze, p.Thaw) },
	"cutting": func(p *redistest.Proxy, stop <-chan struct{}) {
		alternate(stop, func() { p.Cut(true) }, func() { p.Cut(false) })
	},
	"frozen": func(p *redistest.Proxy, _ <-chan struct{}) { p.Freeze() },
	"cut":    func(p *redistest.Proxy, _ <-chan struct{}) { p.Cut(true) },
	"reconnected": func(p *redistest.Proxy, _ <-chan struct{}) {
		p.Cut(true)
		p.Cut(false)
	},
}

// alternate takes one step and the other, for up to two seconds each.
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

// A process that is slow to reach its database, or cannot reach it, does not show for more
// than a second what another process has taken away.
func TestTakenAwayFarFromTheDatabase(t *testing.T) {
	t.Parallel()
	for name, befalls := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t)
			proxy := db.Proxy(t)
			near, far := serving(t, reach(t, db.URL())), serving(t, reach(t, proxy.URL()))
			eve, mona := near.signedUp("eve"), near.signedUp("mona")
			if err := near.social.Moderation.SetRole(t.Context(), social.Operator, 2, social.Moderator, ""); err != nil {
				t.Fatal(err)
			}
			all := takings(t, near, mona, eve)
			readers := map[string]*visitor{"eve": {site: far, http: eve.http}, "a stranger": far.visitor()}
			read(t, all, readers, func(tk *taking, _ string, a *response, _ time.Time) { // all is in memory then
				if !strings.Contains(a.body, tk.text) {
					t.Errorf("%s is not shown", tk.text)
				}
			})
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				befalls(proxy, stop)
			}()
			defer func() {
				close(stop)
				<-done
				proxy.Thaw()
				proxy.Cut(false)
			}()
			if name != "freezing" && name != "cutting" {
				<-done
			}
			for _, tk := range all {
				tk.do().want(303)
				tk.answered = time.Now()
			}
			for end := time.Now().Add(3 * promise); time.Now().Before(end); {
				read(t, all, readers, func(tk *taking, who string, a *response, asked time.Time) {
					late := asked.Sub(tk.answered)
					if strings.Contains(a.body, tk.text) && late > promise && (who == "eve" || tk.what != "block") {
						t.Errorf("%v after the answer %s reads %q: status %d", late, who, tk.text, a.status)
					}
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// taking is an action that takes a post away from somebody.
type taking struct {
	what, text string
	pages      []string
	do         func() *response
	answered   time.Time
}

// takings are all kinds of them, each with a separate author that eve follows.
func takings(t *testing.T, s *site, mona, eve *visitor) []*taking {
	t.Helper()
	var all []*taking
	for i, what := range []string{"block", "delete", "edit", "hide", "suspend"} {
		name := fmt.Sprint("author", i)
		author := s.signedUp(name)
		eve.send("/u/" + name + "/follow").want(303)
		tk := &taking{what: what, text: "the secret of " + name}
		path, id := author.published(name, tk.text)
		tk.pages = []string{path, "/u/" + name, "/timeline"}
		tk.do = func() *response {
			switch what {
			case "block":
				return author.send("/u/eve/block", "for", "")
			case "delete":
				return author.send(path + "/delete")
			case "edit":
				return author.send(path+"/edit", "status", "harmless")
			case "hide":
				return mona.send("/moderation/decide", "of", "post:"+id, "action", "hide", "message", "No.")
			}
			return mona.send("/moderation/decide", "of", fmt.Sprint("user:", i+3), "action", "suspend", "message", "No.")
		}
		all = append(all, tk)
	}
	return all
}

// read lets all readers read all pages at once.
func read(t *testing.T, all []*taking, readers map[string]*visitor, check func(*taking, string, *response, time.Time)) {
	t.Helper()
	var each sync.WaitGroup
	for who, v := range readers {
		for _, tk := range all {
			each.Go(func() {
				for _, page := range tk.pages {
					asked := time.Now()
					check(tk, who, v.get(page), asked)
				}
			})
		}
	}
	each.Wait()
}
