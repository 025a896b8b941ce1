package web_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social/live"
	"retwis/internal/web"
)

// events is the event stream of an open page.
type events struct {
	t    testing.TB
	got  chan event
	kept []event // events of other kinds, which next has skipped
	stop func()
}

type event struct{ id, kind, data string }

// follow opens a page's event stream; since is empty or the ID of the last event.
func (v *visitor) follow(query, since string) *events {
	v.site.t.Helper()
	request, err := http.NewRequestWithContext(v.site.t.Context(), http.MethodGet, v.site.http.URL+"/live?"+query, http.NoBody)
	if err != nil {
		v.site.t.Fatal(err)
	}
	if since != "" {
		request.Header.Set("Last-Event-ID", since)
	}
	response, err := v.http.Do(request)
	if err != nil {
		v.site.t.Fatal(err)
	}
	if kind := response.Header.Get("Content-Type"); response.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		v.site.t.Fatalf("/live?%s: %s, %s", query, response.Status, kind)
	}
	e := &events{t: v.site.t, got: make(chan event, 1000), stop: func() { response.Body.Close() }}
	v.site.t.Cleanup(e.stop)
	go func() {
		defer close(e.got)
		var current event
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				current.id = value
			case "event":
				current.kind = value
			case "data":
				current.data = value
			case "":
				if current != (event{}) {
					e.got <- current
				}
				current = event{}
			}
		}
	}()
	return e
}

// next returns the next event of a kind.
func (e *events) next(kind string) event {
	e.t.Helper()
	for i, ev := range e.kept {
		if ev.kind == kind {
			e.kept = append(e.kept[:i], e.kept[i+1:]...)
			return ev
		}
	}
	for ev := range e.got {
		if ev.kind == kind {
			return ev
		}
		e.kept = append(e.kept, ev)
	}
	e.t.Fatalf("the stream ended before an event of the kind %q", kind)
	return event{}
}

// until waits for an event of a kind with the given data.
func (e *events) until(kind, data string) {
	e.t.Helper()
	for e.next(kind).data != data {
		e.t.Logf("waiting for %s %s", kind, data)
	}
}

// A client with too many open pages is refused, which is not logged as an error.
func TestTooManyPages(t *testing.T) {
	t.Parallel()
	db := reach(t, redistest.DB(t).URL())
	s := start(t, db.Client(), web.Options{Live: live.Options{MaxPerUser: 1}}, app.Options{Invalidations: db.Invalidations()})
	ada := s.signedUp("ada")
	ada.follow("on=home", "").next("unread")
	ada.get("/live?on=home").want(429, "too many pages of this site open")
	if strings.Contains(s.log.String(), "level=ERROR") {
		t.Error(s.log)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, bob, stranger := s.signedUp("ada"), s.signedUp("bob"), s.visitor()
	bob.send("/u/ada/follow").want(303)
	ada.send("/post", "status", "the first #Redis").want(303)
	first := ada.get("/u/ada").posts()[0]

	home, timeline := bob.follow("on=home", ""), stranger.follow("on=timeline&ids="+first, "")
	if counts := timeline.next("counts"); counts.data != first+":0:0:0" {
		t.Errorf("counts %q", counts.data)
	}
	if unread := home.next("unread"); unread.data != "0" {
		t.Errorf("unread %q", unread.data)
	}
	tag, profile := stranger.follow("on=tag:"+url.QueryEscape("REDIS")+"&ids="+first, ""), stranger.follow("on=profile:1&ids="+first, "")
	for _, e := range []*events{tag, profile} {
		e.next("counts") // the connection is registered before its first event
	}
	ada.send("/post", "status", "the second #redis").want(303)
	second := ada.get("/u/ada").posts()[0]
	last := ""
	for name, e := range map[string]*events{"home": home, "timeline": timeline, "tag": tag, "profile": profile} {
		got := e.next("posts")
		if got.data != second {
			t.Errorf("%s: new posts %q, want %q", name, got.data, second)
		}
		last = got.id
	}

	// Events that occurred while the page was disconnected are sent to the next connection.
	home.stop()
	ada.send("/post", "status", "the third").want(303)
	ada.send("/post", "status", "the fourth").want(303)
	posts := ada.get("/u/ada").posts()
	if got := bob.follow("on=home", last).next("posts"); got.data != posts[1]+","+posts[0] {
		t.Errorf("missed events %q, want %s,%s", got.data, posts[1], posts[0])
	}

	bob.send("/u/ada/" + second + "/like").want(303)
	badge := ada.follow("ids="+second, "")
	if got := badge.next("counts"); got.data != second+":0:0:1" {
		t.Errorf("counts %q", got.data)
	}
	if got := badge.next("unread"); got.data != "2" { // including the follow
		t.Errorf("unread %q", got.data)
	}
	stranger.follow("ids="+second, "")
	bob.send("/u/ada/" + second + "/unlike").want(303)
	badge.until("counts", second+":0:0:0")
	badge.until("unread", "1")
	for _, bad := range []string{"on=other", "on=tag:", "on=thread:x", "on=profile:0", "ids=x", "ids=" + strings.Repeat("1,", 101)} {
		stranger.get("/live?" + bad).want(400)
	}
}
