package web_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/web/httpserver"
)

// While a master of a Cluster is down, pages are served if they do not need its data or if the data
// is cached; all others fail. Once the other masters report that the Cluster is down, no page is
// served.
func TestPartOfACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	coverage := func(value string) {
		for _, m := range cluster.Masters {
			if m != cluster.Masters[1] || value == "no" {
				do(t, m, "CONFIG SET cluster-require-full-coverage "+value)
			}
		}
	}
	coverage("no")
	s := serving(t, reach(t, cluster.URL()))
	var people []*visitor
	for i := range 4 {
		v := s.signedUp(fmt.Sprint("person", i))
		v.send("/post", "status", fmt.Sprint("hello ", i)).want(303)
		people = append(people, v)
	}
	stranger := s.visitor()
	stranger.get("/timeline").want(200, "hello 3")
	stranger.get("/search?q=hello").want(200, "person3")
	cluster.Masters[1].Kill(t) // Masters[1] has none of the lists that all pages show
	// Every search needs a part of the index on that master.
	requests := []func() *response{func() *response { return stranger.get("/search?q=hello") }}
	for i, v := range people {
		requests = append(requests,
			func() *response { return v.get("/home") },
			func() *response { return v.get(fmt.Sprint("/u/person", i)) },
			func() *response { return v.send("/post", "status", "more") })
	}
	failed := 0
	for i, a := range stranger.atOnce(requests...) {
		if i == 0 {
			a.want(503)
		}
		if a.status != 503 {
			continue
		}
		if failed++; a.header.Get("Retry-After") == "" {
			t.Error("an error page has no Retry-After")
		}
		if line := s.log.line(t, a.header.Get("X-Request-Id")); !strings.Contains(line, httpserver.ErrSilent.Error()) {
			t.Errorf("log line %q, want %q", line, httpserver.ErrSilent)
		}
	}
	if failed < 2 {
		t.Errorf("%d requests failed, want at least 2", failed)
	}
	stranger.get("/home").want(303, "/login")
	stranger.get("/timeline").want(200, "hello 3")

	coverage("yes")
	until(t, "/readyz reports that the Cluster is down", func() bool { return stranger.get("/readyz").status == 503 })
	other := cluster.Masters[0].Client(t)
	until(t, "the other masters report that the Cluster is down", func() bool {
		info, err := other.Do(t.Context(), other.B().ClusterInfo().Build()).ToString()
		return err == nil && strings.Contains(info, "cluster_state:fail")
	})
	stranger.get("/timeline?before=7").want(503, "can&#39;t reach its database")
	people[0].send("/post", "status", "my text").want(503, ">my text</textarea>")
}
