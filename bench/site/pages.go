package site

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

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

// Pages measures pages beside a handler that answers the same bytes from memory.
func Pages(ctx context.Context, opt measure.Options) (string, error) {
	binary, err := measure.Build(ctx, opt.Dir)
	if err != nil {
		return "", err
	}
	server, err := measure.StartServer(ctx, filepath.Join(opt.Dir, "data"), 0, appendOnly...)
	if err != nil {
		return "", err
	}
	defer measure.StopServers(server)
	s := &site{}
	defer s.stop()
	s.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Socket()}, DialCtxFn: measure.DialUnix, ForceSingleClient: true, PipelineMultiplex: -1})
	if err != nil {
		return "", err
	}
	// Decisions about limits are made, and all allowed.
	if err := s.start(ctx, binary, server.URL(), 1, opt, "--limit", "post=1000000/10m post-address=1000000/10m"); err != nil {
		return "", err
	}
	sides, end, err := s.sides(ctx, opt)
	defer end()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, `## Pages

The server writes an append-only file with fsync every second.
%d users, %d follows and %d posts. %d keep-alive connections, each
requesting a page when it has received the one before; who is logged in is a different
user on each. For comparison, a net/http handler that serves the same bytes from
memory. Medians of %d rounds of %v for each.

`, opt.Users, 20*opt.Users, 10*opt.Users, connections, opt.Rounds, opt.Length)
	if _, err := measure.InTurn(1, sides); err != nil { // warms up
		return "", err
	}
	err = measure.Table{
		Rounds: opt.Rounds, Sides: sides, Head: []string{"", "requests/s", "ratio", "p50", "p99", "CPU a request"},
		Formats: []string{"", measure.Milliseconds, measure.Milliseconds, "%.0f µs"},
	}.Write(&text)
	return text.String(), err
}

// sides starts the program that answers from memory. end stops it.
func (s *site) sides(ctx context.Context, opt measure.Options) (sides []measure.Side, end func(), err error) {
	end = func() {}
	files := filepath.Join(opt.Dir, "pages")
	if err := s.save(ctx, files); err != nil {
		return nil, end, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, end, err
	}
	memory, err := measure.Serve(self, memoryMode, files)
	end = memory.Stop
	if err != nil {
		return nil, end, err
	}
	add := func(name string, base int, program *measure.Program, status int, requests []request) {
		l := load{addr: program.Addr, status: status, requests: requests}
		sides = append(sides, measure.Side{Name: name, Base: base, Measure: func() ([]float64, error) {
			before := program.Micros()
			r, err := l.during(ctx, opt.Length)
			return []float64{r.PerSecond, r.P50, r.P99, (program.Micros() - before) / float64(max(1, r.Count))}, err
		}})
	}
	for i, page := range viewed {
		var ours, theirs []request
		for _, cookie := range s.visitors(page.signedIn) {
			ours, theirs = append(ours, get(page.path, cookie)), append(theirs, get("/"+strconv.Itoa(i), cookie))
		}
		base := len(sides) + 1
		add(page.name, base, s.web[0], http.StatusOK, ours)
		add("the same bytes from memory", base, memory, http.StatusOK, theirs)
	}
	var posts []request
	for _, cookie := range s.cookies {
		posts = append(posts, post("/post", cookie, "status=Something+short+to+say,+as+people+do."))
	}
	add("POST /post", -1, s.web[0], http.StatusSeeOther, posts)
	return sides, end, nil
}

// save writes each page to a file.
func (s *site) save(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i, page := range viewed {
		v := measure.NewVisitor("http://"+s.web[0].Addr, "")
		if page.signedIn {
			if _, err := v.LogIn(ctx, s.names[0], password); err != nil {
				return err
			}
		}
		status, body, err := v.Do(ctx, http.MethodGet, page.path, nil)
		if err == nil && (status != http.StatusOK || !strings.Contains(body, "data-id")) {
			err = fmt.Errorf("%s: status %d, and no posts", page.path, status)
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte(body), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// visitors returns a session for each connection, or empty ones.
func (s *site) visitors(signedIn bool) []string {
	if signedIn {
		return s.cookies
	}
	return make([]string, connections)
}

// memoryMode is the first argument of the process that serves from memory.
const memoryMode = "answer-from-memory"

// Child serves from memory if args say so: it is the process that Pages starts.
func Child(ctx context.Context, args []string) (isChild bool, err error) {
	if len(args) != 2 || args[0] != memoryMode {
		return false, nil
	}
	mux := http.NewServeMux()
	for i := range viewed {
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
