package request

import (
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/web/view"
)

// Pages for reading have a sidebar; pages with forms do not.
func TestHasSidebar(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"GET /home": true, "POST /post": true, "GET /explore/people": true, "GET /u/{name}": true, "GET /u/{name}/{id}": true,
		"POST /u/{name}/{id}/reply": true, "GET /lists": true, "GET /lists/{id}": true, "GET /tag/{name}": true,
		"GET /{$}": false, "GET /login": false, "GET /settings/profile": false, "GET /moderation": false, "/": false,
		"GET /u/{name}/lists": false, "GET /u/{name}/report": false, "GET /u/{name}/{id}/edit": false, "GET /lists/{id}/edit": false,
		"GET /timeline.atom": false,
	} {
		if got := hasSidebar(pattern); got != want {
			t.Errorf("%s: %v, want %v", pattern, got, want)
		}
	}
}

// A page waits at most SidebarPatience for its sidebar.
func TestPendingSidebar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := &pendingSidebar{empty: view.Sidebar{Find: true}, ready: make(chan view.Sidebar, 1)}
		began := time.Now()
		if bar := late.Sidebar(); !bar.Find || time.Since(began) != SidebarPatience {
			t.Errorf("after %v: %+v", time.Since(began), bar)
		}
		late.ready <- view.Sidebar{People: make([]view.Person, 2)}
		if bar := late.Sidebar(); len(bar.People) != 2 {
			t.Errorf("when the sidebar is ready: %+v", bar)
		}
	})
}
