package web_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/web/httpserver"
)

// While a master of a Cluster is down, pages that do not need it, or for which this process has
// cached its data, are served; all others fail. Once the other masters report that the Cluster is
// down, no page is served.
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
	cluster.Masters[1].Kill(t) // which has none of the lists that all pages show
	// Every search needs a part of the index on that master.
	requests := []func() *response{func() *response { return stranger.get("/search?q=hello") }}
	for i, v := range people {
		requests = append(requests,
			func() *response { return v.get("/home") },
			func() *response { return v.get(fmt.Sprint("/u/person", i)) },
			func() *response { return v.send("/post", "status", "more") })
	}
	away := 0
	for i, a := range stranger.atOnce(requests...) {
		if i == 0 {
			a.want(503)
		}
		if a.status != 503 {
			continue
		}
		if away++; a.header.Get("Retry-After") == "" {
			t.Error("an error does not say when to come again")
		}
		if line := s.log.line(t, a.header.Get("X-Request-Id")); !strings.Contains(line, httpserver.ErrSilent.Error()) {
			t.Errorf("the log says %q", line)
		}
	}
	if away < 2 {
		t.Error("no page and no post needed the master")
	}
	stranger.get("/home").want(303, "/login")
	stranger.get("/timeline").want(200, "hello 3")

	coverage("yes")
	until(t, "readiness says it", func() bool { return stranger.get("/readyz").status == 503 })
	other := cluster.Masters[0].Client(t)
	until(t, "the others say that the Cluster is down", func() bool {
		info, err := other.Do(t.Context(), other.B().ClusterInfo().Build()).ToString()
		return err == nil && strings.Contains(info, "cluster_state:fail")
	})
	stranger.get("/timeline?before=7").want(503, "can&#39;t reach its database")
	people[0].send("/post", "status", "my text").want(503, ">my text</textarea>")
}
