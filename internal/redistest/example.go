package redistest

import "fmt"

// Example returns the URLs of n independent servers for an example. The caller must call stop to end
// the servers. Example panics if no server is installed.
func Example(n int) (urls []string, stop func()) {
	var servers []*Server
	stop = func() {
		for _, s := range servers {
			s.end()
		}
	}
	for range n {
		s, err := begin(0, nil)
		if err != nil {
			s.end()
			stop()
			panic(fmt.Sprintf("redistest: %v", err))
		}
		servers = append(servers, s)
		urls = append(urls, s.URL())
	}
	return urls, stop
}
