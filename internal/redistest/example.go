package redistest

import "fmt"

// Example returns where n servers listen that know nothing of each other, for an
// example, which has no test to end them: call stop. Without a server on the
// machine it panics.
func Example(n int) (urls []string, stop func()) {
	var servers []*Server
	stop = func() {
		for _, s := range servers {
			s.stop()
			removeAll(s)
		}
	}
	for range n {
		s, err := begin(0, nil)
		if err != nil {
			removeAll(s)
			stop()
			panic(fmt.Sprintf("redistest: %v", err))
		}
		servers = append(servers, s)
		urls = append(urls, s.URL())
	}
	return urls, stop
}
