package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// pageResult is one page, served by Retwis and from memory.
type pageResult struct {
	name    string
	bytes   int
	retwis  result
	memory  result // zero where there is nothing to compare with
	ratio   float64
	compare bool
}

// measurement is a load that is measured in every round.
type measurement struct {
	addr     string
	requests []request
	status   int
	results  []result
}

// comparePages measures each page on both sides in turn, round after round, so
// that changes in the machine's speed affect both.
func comparePages(ctx context.Context, s *site, dir string, opt options) ([]pageResult, error) {
	pages := []pageResult{
		{name: "GET /timeline, 50 posts", compare: true},
		{name: "GET /home, logged in, 10 posts", compare: true},
		{name: "POST /post"},
	}
	for i, path := range []string{"timeline", "home"} {
		cookie := ""
		if path == "home" {
			cookie = s.cookies[0]
		}
		body, err := s.page(ctx, "/"+path, cookie)
		if err != nil {
			return nil, err
		}
		pages[i].bytes = len(body)
		if err := os.MkdirAll(filepath.Join(dir, "pages"), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "pages", path), body, 0o600); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	memory, addr, err := startServing(self, memoryMode, filepath.Join(dir, "pages"))
	defer func() {
		if memory != nil {
			_ = memory.Process.Kill()
			_ = memory.Wait()
		}
	}()
	if err != nil {
		return nil, err
	}
	all := measurements(s, addr)
	for round := range opt.rounds + 1 {
		for i, m := range all {
			r, err := load(ctx, m.addr, m.requests, m.status, opt.length, 0)
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first warms up
				all[i].results = append(all[i].results, r)
			}
		}
		fmt.Printf("round %d of %d\n", round, opt.rounds)
	}
	for i := range pages {
		pages[i].retwis = median(all[2*i].results)
		if pages[i].compare {
			pages[i].memory = median(all[2*i+1].results)
			pages[i].ratio = medianRatio(all[2*i].results, all[2*i+1].results)
		}
		fmt.Printf("%-32s %7.0f/s  mean %v  p50 %v  p99 %v  ratio %.2f\n", pages[i].name,
			pages[i].retwis.perSecond, pages[i].retwis.mean, pages[i].retwis.p50, pages[i].retwis.p99, pages[i].ratio)
	}
	return pages, nil
}

func measurements(s *site, memory string) []measurement {
	var timeline, home, posts []request
	for _, cookie := range s.cookies {
		timeline = append(timeline, get("/timeline", ""))
		home = append(home, get("/home", cookie))
		posts = append(posts, post("/post", cookie, "status=Something+short+to+say,+as+people+do."))
	}
	return []measurement{
		{addr: s.addr, requests: timeline, status: 200},
		{addr: memory, requests: timeline, status: 200},
		{addr: s.addr, requests: home, status: 200},
		{addr: memory, requests: home, status: 200},
		{addr: s.addr, requests: posts, status: 303},
	}
}

// median returns the result with the median throughput.
func median(results []result) result {
	sorted := slices.SortedFunc(slices.Values(results), func(a, b result) int { return cmp.Compare(a.perSecond, b.perSecond) })
	return sorted[len(sorted)/2]
}

// medianRatio returns the median of the rounds' ratios.
func medianRatio(a, b []result) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i].perSecond / b[i].perSecond
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}
