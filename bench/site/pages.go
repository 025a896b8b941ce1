package site

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"retwis/bench/measure"
)

// viewed are the pages that are measured.
var viewed = []struct {
	name, path string
	signedIn   bool
}{
	{"GET /timeline, 50 posts, signed out", "/timeline", false},
	{"GET /timeline, 50 posts, logged in", "/timeline", true},
	{"GET /home, 10 posts, logged in", "/home", true},
}

// side is requests, and the program that answers them.
type side struct {
	name    string
	bytes   int
	program *exec.Cmd
	load    load
	base    int // the side to compare with
}

// pageCost is what a program did in one round.
type pageCost struct {
	measure.Result
	cpu float64 // µs of the program for each request
}

// Pages measures pages, and a post to very many followers.
func Pages(ctx context.Context, opt measure.Options) (string, error) {
	s, err := startSite(ctx, opt, connections)
	if err != nil {
		return "", err
	}
	defer s.stop()
	var text strings.Builder
	fmt.Fprintf(&text, `## Pages

The server writes an append-only file with fsync every second.
%d users, %d follows and %d posts. %d keep-alive connections, each
requesting a page when it has received the one before; who is logged in is a different
user on each. For comparison, a net/http handler that serves the same bytes from
memory. Medians of %d rounds of %v for each.

`, opt.Users, 20*opt.Users, 10*opt.Users, connections, opt.Rounds, opt.Length)
	if err := s.comparePages(ctx, &text, opt); err != nil {
		return "", err
	}
	text.WriteString("\n![Requests per second, by Retwis and from memory](benchmarks.svg)\n\n")
	err = s.postToMany(ctx, &text, opt)
	return text.String(), err
}

// comparePages measures every page on all sides in turn.
func (s *site) comparePages(ctx context.Context, out io.Writer, opt measure.Options) error {
	sides, stop, err := s.sides(ctx, opt)
	defer stop()
	if err != nil {
		return err
	}
	rounds, err := measure.InTurn(opt.Rounds+1, sides, func(s side, _ int) (c pageCost, err error) {
		before := measure.ProcessSeconds(s.program.Process.Pid)
		c.Result, err = s.load.during(ctx, opt.Length)
		c.cpu = (measure.ProcessSeconds(s.program.Process.Pid) - before) * 1e6 / float64(c.Count)
		return c, err
	})
	if err != nil {
		return err
	}
	measure.Head(out, "", "bytes", "requests/s", "p50", "p99", "CPU a request", "requests/s, ratio")
	var chart chart
	for i := range rounds {
		rounds[i] = rounds[i][1:] // the first warms up
	}
	for i, s := range sides {
		rates := func(i int) []float64 { return measure.Each(rounds[i], func(c pageCost) float64 { return c.PerSecond }) }
		bytes, ratio := "", ""
		if s.bytes > 0 {
			bytes = measure.Thousands(s.bytes)
			name, _, _ := strings.Cut(s.name, " posts")
			chart.add(name, measure.Median(rates(i)), measure.Median(rates(s.base)))
		}
		if s.base != i {
			ratio = fmt.Sprintf("**%.2f**", measure.MedianRatio(rates(i), rates(s.base)))
		}
		var results []measure.Result
		for _, c := range rounds[i] {
			results = append(results, c.Result)
		}
		r := measure.MedianResult(results)
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %.0f µs | %s |\n", s.name, bytes, measure.Thousands(int(r.PerSecond)), measure.Milliseconds(r.P50),
			measure.Milliseconds(r.P99), measure.Median(measure.Each(rounds[i], func(c pageCost) float64 { return c.cpu })), ratio)
	}
	return chart.draw(filepath.Join(opt.Out, "benchmarks.svg"))
}

// sides starts the programs to compare with. stop ends them.
func (s *site) sides(ctx context.Context, opt measure.Options) (sides []side, stop func(), err error) {
	var programs []*exec.Cmd
	stop = func() {
		for _, program := range programs {
			stopServing(program)
		}
	}
	start := func(name string, args ...string) (*exec.Cmd, string, error) {
		program, addr, err := startServing(name, args...)
		programs = append(programs, program)
		return program, addr, err
	}
	files := filepath.Join(opt.Dir, "pages")
	sizes, err := s.save(ctx, files)
	if err != nil {
		return nil, stop, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, stop, err
	}
	memory, memoryAddr, err := start(self, memoryMode, files)
	if err != nil {
		return nil, stop, err
	}
	var before *exec.Cmd
	var beforeAddr string
	if opt.Before != "" {
		if before, beforeAddr, err = start(opt.Before, "serve", "--addr", "127.0.0.1:0", "--redis", s.server.URL()); err != nil {
			return nil, stop, err
		}
	}
	for i, page := range viewed {
		of := func(addr, path string) load {
			l := load{addr: addr, status: 200}
			for _, cookie := range s.visitors(page.signedIn) {
				l.requests = append(l.requests, get(path, cookie))
			}
			return l
		}
		base := len(sides) + 1
		sides = append(sides,
			side{page.name, sizes[i], s.program, of(s.addr, page.path), base},
			side{"the same bytes from memory", 0, memory, of(memoryAddr, "/"+strconv.Itoa(i)), base})
		if before != nil {
			sides = append(sides, side{"the version before", 0, before, of(beforeAddr, page.path), base})
		}
	}
	posts := side{name: "POST /post", program: s.program, load: load{addr: s.addr, status: 303}, base: len(sides)}
	for _, cookie := range s.cookies {
		posts.load.requests = append(posts.load.requests, post("/post", cookie, "status=Something+short+to+say,+as+people+do."))
	}
	return append(sides, posts), stop, nil
}

// save writes each page to a file, and returns their sizes.
func (s *site) save(ctx context.Context, dir string) (sizes []int, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for i, page := range viewed {
		body, err := s.page(ctx, page.path, s.visitors(page.signedIn)[0])
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), body, 0o600); err != nil {
			return nil, err
		}
		sizes = append(sizes, len(body))
	}
	return sizes, nil
}

// visitors returns a session for each connection, or empty ones.
func (s *site) visitors(signedIn bool) []string {
	if signedIn {
		return s.cookies
	}
	return make([]string, connections)
}
