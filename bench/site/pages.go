package site

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"retwis/bench/measure"
)

// pages lists the measured pages.
var pages = []struct {
	name, path string
	signedIn   bool
}{
	{"GET /timeline, 50 posts, signed out", "/timeline", false},
	{"GET /timeline, 50 posts, logged in", "/timeline", true},
	{"GET /home, 10 posts, logged in", "/home", true},
}

// Pages compares pages with a handler that serves the same bytes from memory.
func Pages(ctx context.Context, opt measure.Options) (string, error) {
	binary, err := measure.Build(ctx, opt.Dir)
	if err != nil {
		return "", err
	}
	run := func(text io.Writer, server *measure.Server) error {
		client := server.Client
		s := &site{client: client}
		defer s.stop()
		// Rate limits are checked, but are high enough to allow all posts.
		if err := s.start(ctx, binary, server.URL(), 1, opt, "--limit", "post=1000000/10m post-address=1000000/10m"); err != nil {
			return err
		}
		memory, err := s.fromMemory(ctx, filepath.Join(opt.Dir, "pages"))
		if err != nil {
			return err
		}
		defer memory.Stop()
		fmt.Fprintf(text, `## Pages

The server writes an append-only file with fsync every second. The site has %d users,
%d follows and %d posts. Each of %d keep-alive connections requests the next page when
it has received the previous one; each logged-in connection is a different user. For
comparison, a net/http handler serves the same bytes from memory. Medians of %d rounds of
%v per row.

`, opt.Users, 20*opt.Users, 10*opt.Users, connections, opt.Rounds, opt.Length)
		sides := s.sides(ctx, opt.Length, memory)
		if _, err := measure.InTurn(1, sides); err != nil { // warm-up
			return err
		}
		return measure.Table{
			Rounds: opt.Rounds, Sides: sides, Head: []string{"", "requests/s", "ratio", "p50", "p99", "CPU per request"},
			Formats: []string{"", measure.Milliseconds, measure.Milliseconds, "%.0f µs"},
		}.Write(text)
	}
	return measure.OnServer(ctx, opt.Dir, run, appendOnly...)
}

// sides returns a side for each page, for the same bytes from memory, and for posting.
func (s *site) sides(ctx context.Context, length time.Duration, memory *measure.Program) (sides []measure.Side) {
	add := func(name string, base int, program *measure.Program, status int, requests []request) {
		l := load{addr: program.Addr, status: status, requests: requests}
		sides = append(sides, measure.Side{Name: name, Base: base, Measure: func() ([]float64, error) {
			var r measure.Result
			costs, err := measure.PerOp(1, func() (err error) { r, err = l.run(ctx, length); return err }, program.CPU)()
			if err != nil {
				return nil, err
			}
			return []float64{r.PerSecond, r.P50, r.P99, costs[0] / float64(r.Count)}, nil
		}})
	}
	for i, page := range pages {
		base := len(sides) + 1
		add(page.name, base, s.web[0], http.StatusOK, s.from(page.signedIn, page.path, ""))
		add("the same bytes from memory", base, memory, http.StatusOK, s.from(page.signedIn, "/"+strconv.Itoa(i), ""))
	}
	add("POST /post", -1, s.web[0], http.StatusSeeOther, s.from(true, "/post", "status=Something+short+to+say,+as+people+do."))
	return sides
}

// fromMemory saves the pages to files in dir and starts the program that serves them from memory.
func (s *site) fromMemory(ctx context.Context, dir string) (*measure.Program, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for i, page := range pages {
		v := s.visitors[0]
		if !page.signedIn {
			v = measure.NewVisitor(v.URL, "")
		}
		a, err := v.Get(ctx, page.path)
		if err == nil && (a.Status != http.StatusOK || !strings.Contains(a.Body, "data-id")) {
			err = fmt.Errorf("%s: status %d, want a page with posts", page.path, a.Status)
		}
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte(a.Body), 0o600); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return measure.Serve(self, memoryMode, dir)
}

// memoryMode is the first argument of the process that serves from memory.
const memoryMode = "answer-from-memory"

// Child serves pages from memory if args start with memoryMode. Pages starts a process with these
// arguments.
func Child(ctx context.Context, args []string) (isChild bool, err error) {
	if len(args) != 2 || args[0] != memoryMode {
		return false, nil
	}
	mux := http.NewServeMux()
	for i := range pages {
		body, err := os.ReadFile(filepath.Join(args[1], strconv.Itoa(i)))
		if err != nil {
			return true, err
		}
		mux.HandleFunc("GET /"+strconv.Itoa(i), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		})
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return true, err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	return true, server.Serve(listener)
}
