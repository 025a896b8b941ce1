package web_test

import (
	"fmt"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// While a master of a Cluster is away, pages that need nothing of it are shown, those that
// this process has in memory too, and all others have an error soon.
func TestPartOfACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	for _, m := range cluster.Masters {
		c := m.Client(t)
		if err := c.Do(t.Context(), c.B().ConfigSet().ParameterValue().ParameterValue("cluster-require-full-coverage", "no").Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
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
	away := 0
	for i, v := range people {
		for _, ask := range []func() *response{
			func() *response { return v.get("/home") },
			func() *response { return v.get(fmt.Sprint("/u/person", i)) },
			func() *response { return v.send("/post", "status", "more") },
		} {
			began := time.Now()
			a := ask()
			if took := time.Since(began); took > 5*time.Second { // less than a second without other load
				t.Errorf("status %d after %v", a.status, took)
			}
			if a.status == 503 {
				if away++; a.header.Get("Retry-After") == "" {
					t.Error("an error does not say when to come again")
				}
			}
			stranger.get("/home").want(303, "/login")
			stranger.get("/timeline").want(200, "hello 3")
		}
	}
	if away == 0 {
		t.Error("no page and no post needed the master")
	}
	// Every search needs a part of the index that the master had.
	quickest := time.Hour
	for range 3 {
		began := time.Now()
		stranger.get("/search?q=hello").want(503)
		quickest = min(quickest, time.Since(began))
	}
	if quickest > time.Second {
		t.Errorf("a search took %v at the least", quickest)
	}
	stranger.get("/timeline").want(200, "hello 3")
}
