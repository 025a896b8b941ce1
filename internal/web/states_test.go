package web_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"
	"retwis/internal/web"
	"retwis/internal/web/httpserver"
)

// reach opens a database as the program does.
func reach(t testing.TB, url string) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// do sends commands, given as words separated by blanks, which must succeed.
func do(t *testing.T, server *redistest.Server, commands ...string) {
	t.Helper()
	client := server.Client(t)
	for _, command := range commands {
		if err := client.Do(t.Context(), client.B().Arbitrary(strings.Fields(command)...).Build()).Error(); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
}

// until polls ready until it returns true. what completes the message "timed out waiting until".
func until(t *testing.T, what string, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// state is a temporary state of a server in use.
type state struct {
	config []string
	begin  func(*testing.T, *redistest.Server)
	end    func(*testing.T, *redistest.Server)
}

// readOnly are states in which a server can be read and refuses writes.
var readOnly = map[string]state{
	"OOM": {
		begin: func(t *testing.T, s *redistest.Server) { do(t, s, "CONFIG SET maxmemory 1") },
		end:   func(t *testing.T, s *redistest.Server) { do(t, s, "CONFIG SET maxmemory 0") },
	},
	"READONLY": { // its master is unreachable
		begin: func(t *testing.T, s *redistest.Server) { do(t, s, "REPLICAOF 127.0.0.1 1") },
		end:   func(t *testing.T, s *redistest.Server) { do(t, s, "REPLICAOF NO ONE") },
	},
	"NOREPLICAS": {
		begin: func(t *testing.T, s *redistest.Server) { do(t, s, "CONFIG SET min-replicas-to-write 1") },
		end:   func(t *testing.T, s *redistest.Server) { do(t, s, "CONFIG SET min-replicas-to-write 0") },
	},
	"MISCONF": { // a directory has the name of the snapshot
		config: []string{"save 3600 1000000", "dbfilename taken"},
		begin: func(t *testing.T, s *redistest.Server) {
			if err := os.MkdirAll(filepath.Join(s.Dir(), "taken", "by"), 0o700); err != nil {
				t.Fatal(err)
			}
			do(t, s, "BGSAVE")
			c := s.Client(t)
			until(t, "the snapshot fails", func() bool {
				info, err := c.Do(t.Context(), c.B().Info().Section("persistence").Build()).ToString()
				return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
			})
		},
		end: func(t *testing.T, s *redistest.Server) {
			if err := os.RemoveAll(filepath.Join(s.Dir(), "taken")); err != nil {
				t.Fatal(err)
			}
			do(t, s, "CONFIG SET stop-writes-on-bgsave-error no")
		},
	},
}

// While a server refuses writes, every page is served, and a post fails with a page that contains
// its text.
func TestWritesRefused(t *testing.T) {
	t.Parallel()
	for name, state := range readOnly {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Own(t, state.config...)
			db := reach(t, server.URL())
			s := on(t, db.Client())
			v := s.signedUp("ada")
			s.signedUp("ben").send("/u/ada/follow").want(303)
			for n := range 12 {
				v.send("/post", "status", fmt.Sprint("before ", n)).want(303)
			}
			v.send("/lists", "name", "Friends").want(303)
			state.begin(t, server)

			// Another process has an empty cache: it reads everything from the server.
			cold := on(t, reach(t, server.URL()).Client())
			for _, site := range []*site{s, cold} {
				in, out := &visitor{site: site, http: v.http}, site.visitor()
				for _, path := range []string{"/", "/timeline", "/u/ada", "/u/ada/followers", "/u/ben/following", "/u/ada?before=9"} {
					out.get(path).want(200)
				}
				in.get("/home").want(200, "before 11", "Log out")
				in.get("/home?before=9").want(200, "before 1")
				in.get("/lists").want(200, "Friends")
				a := in.send("/post", "status", "my <text>").want(503, "can&#39;t save anything right now", ">my &lt;text&gt;</textarea>", "been published", "Log out")
				if a.header.Get("Retry-After") == "" {
					t.Error("the page has no Retry-After")
				}
				in.send("/u/ben/follow").want(503, "can&#39;t save")
				if login := site.visitor().send("/login", "username", "ada", "password", password); name == "OOM" {
					login.want(303) // a session is small
				} else {
					login.want(503, "can&#39;t save")
				}
				out.send("/register", "username", "new", "password", password, "password2", password).want(503, "can&#39;t save")
				out.send("/register", "username", "new", "password", password, "password2", password, "invite", "secret", "back", "/invite/secret").want(503, `href="/invite/secret">Try again`)
				out.get("/readyz").want(200, "ok, but read-only")
			}
			state.end(t, server)
			v.send("/post", "status", "after").want(303)
			v.get("/home").want(200, "after", "before 11")
			v.get("/readyz").want(200).wantNot("read-only")
		})
	}
}

// A site can be stopped even if the server refuses PING, which rueidis sends when it takes back a
// connection.
func TestStopWherePingIsRefused(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]state{"MISCONF": readOnly["MISCONF"], "MASTERDOWN": unavailable["MASTERDOWN"]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Own(t, state.config...)
			t.Cleanup(func() { server.Kill(t) }) // the server does not stop without a snapshot
			v := on(t, reach(t, server.URL()).Client()).signedUp("ada")
			v.send("/post", "status", "before").want(303)
			state.begin(t, server)
		})
	}
}

// unavailable are states in which a server does not serve commands.
var unavailable = map[string]state{
	"MASTERDOWN": {
		begin: func(t *testing.T, s *redistest.Server) {
			do(t, s, "CONFIG SET replica-serve-stale-data no", "REPLICAOF 127.0.0.1 1")
		},
		end: func(t *testing.T, s *redistest.Server) { do(t, s, "REPLICAOF NO ONE") },
	},
	"BUSY": {
		config: []string{"lua-time-limit 10"},
		begin: func(t *testing.T, s *redistest.Server) {
			c, busy := s.Client(t), s.Client(t)
			go busy.Do(t.Context(), busy.B().Eval().Script("while true do end").Numkeys(0).Build())
			until(t, "the script runs", func() bool {
				err := c.Do(t.Context(), c.B().Ping().Build()).Error()
				return err != nil && strings.HasPrefix(err.Error(), "BUSY")
			})
		},
		end: func(t *testing.T, s *redistest.Server) { // a busy server accepts no other command
			conn, err := net.Dial("unix", s.Socket())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("SCRIPT KILL\r\n")); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, "+OK") {
				t.Fatalf("SCRIPT KILL: %q (%v)", line, err)
			}
		},
	},
	"frozen": {
		begin: func(t *testing.T, s *redistest.Server) { s.Freeze(t) },
		end:   func(t *testing.T, s *redistest.Server) { s.Thaw(t) },
	},
	"stopped": {
		config: []string{"appendonly yes"},
		begin:  func(t *testing.T, s *redistest.Server) { s.Stop(t) },
		end:    func(t *testing.T, s *redistest.Server) { s.Restart(t, true) },
	},
}

// Without a database, a request fails once a probe fails, rather than after its timeout. The page
// keeps the text of a post and does not show the user as logged out. The site recovers with the
// database.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	for name, state := range unavailable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Own(t, state.config...)
			s := with(t, reach(t, server.URL()).Client(), web.Options{Timeout: time.Hour})
			v := s.signedUp("ada")
			v.get("/home").want(200)
			state.begin(t, server)
			wantUnavailable(t, s, v, name)
			state.end(t, server)
			until(t, "the site is back", func() bool { return v.get("/home").status == 200 })
			v.send("/post", "status", "after").want(303)
			v.get("/readyz").want(200)
		})
	}
}

// wantUnavailable checks the responses while the database answers with the error reply, or not at
// all.
func wantUnavailable(t *testing.T, s *site, v *visitor, reply string) {
	t.Helper()
	v.get("/healthz").want(200)
	responses := v.atOnce(
		func() *response { return v.get("/readyz") },
		func() *response { return v.get("/u/somebody") },
		func() *response { return v.get("/home?before=7") },
		func() *response { return v.send("/post", "status", "my <text>") },
	)
	responses[0].want(503, "does not answer")
	for _, a := range responses[1:] {
		id := a.header.Get("X-Request-Id")
		a.want(503, "can&#39;t reach its database", id).wantNot("redis.sock", "refused", "social:", "context", "Log in", "Sign up", "Log out")
		if a.header.Get("Retry-After") == "" {
			t.Error("the page has no Retry-After")
		}
		if got := a.header.Get("Content-Length"); got != strconv.Itoa(len(a.body)) {
			t.Errorf("Content-Length: %s of a page of %d bytes", got, len(a.body))
		}
		line := s.log.line(t, id)
		if !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "status=503") ||
			!strings.Contains(line, httpserver.ErrSilent.Error()) && !strings.Contains(line, ": "+reply+" ") {
			t.Errorf("log line %q", line)
		}
	}
	v.send("/post", "status", "my <text>").want(503, ">my &lt;text&gt;</textarea>", "may already have been published")
	for _, want := range []string{`{route="GET /u/{name}",status="5xx"} 1`, `{route="POST /post",status="5xx"} 2`} {
		until(t, "the metrics have "+want, func() bool { return strings.Contains(s.metrics(), want) })
	}
}

// atOnce sends requests concurrently.
func (v *visitor) atOnce(requests ...func() *response) []*response {
	responses := make([]*response, len(requests))
	var wg sync.WaitGroup
	for i, send := range requests {
		wg.Go(func() { responses[i] = send() })
	}
	wg.Wait()
	return responses
}

// If many requests fail at once, only some of them are logged.
func TestManyFailAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	s := on(t, reach(t, server.URL()).Client())
	v := s.signedUp("ada")
	v.get("/home").want(200)
	server.Freeze(t)
	answers := make(chan *response)
	const many = 150
	for range many {
		go func() { answers <- v.get("/home?before=7") }()
	}
	for range many {
		if a := <-answers; a.status != 503 {
			t.Errorf("status %d: %s", a.status, s.log.line(t, a.header.Get("X-Request-Id")))
		}
	}
	if lines := strings.Count(s.log.String(), "status=503"); lines == 0 || lines >= many {
		t.Errorf("%d failures are logged, want 1 to %d", lines, many-1)
	}
	server.Thaw(t)
	until(t, "the site is back", func() bool { return v.get("/home").status == 200 })
}

// The site waits for a server that is loading, unlike for a server that is down.
func TestLoading(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "rdbcompression no", "key-load-delay 1500", "save 3600 1000000")
	s := on(t, reach(t, server.URL()).Client())
	v := s.signedUp("ada")
	c := server.Client(t)
	for _, command := range [][]string{
		{"EVAL", "for i = 1, 1000 do redis.call('SET', i, string.rep('x', 10000)) end return 0", "0"}, {"SAVE"},
	} {
		if err := c.Do(t.Context(), c.B().Arbitrary(command...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	server.Kill(t)
	back := make(chan struct{})
	go func() { server.Restart(t, true); close(back) }()
	until(t, "the site is back", func() bool { return v.get("/home?before=7").status == 200 })
	<-back
	if !strings.Contains(s.log.String(), "LOADING") {
		t.Log("no request reached the server while it was loading")
	}
}
