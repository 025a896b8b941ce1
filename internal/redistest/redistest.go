// Package redistest provides real servers to tests.
//
// The package starts a server for the first test that needs one, and shares the server between tests
// where that is safe. The server ends with the test binary; on Linux, even if the binary is killed:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		client := redistest.DB(t).Client(t) // an empty database for this test
//	}
//
// If no server is installed, tests are skipped with a message, or fail if REDISTEST_REQUIRE=1 is
// set.
package redistest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"retwis/internal/redis/redisserver"
	"retwis/internal/redis/redisurl"
)

// deathSignal ends a server with its tests, even if the server is frozen.
const deathSignal = syscall.SIGKILL

// databases limits the tests that share one server at the same time.
const databases = 1024

// shared is the state shared by the tests of one binary.
var shared struct {
	mu     sync.Mutex
	server *Server
	free   []int        // unused databases
	ports  map[int]bool // ports that have been given out

	clusters []*ClusterServers // unused Clusters
}

// Parallel makes at least n tests of a package run in parallel, for tests that mostly wait. Call
// it from TestMain; -parallel on the command line overrides it.
func Parallel(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(max(n, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err) // not in a test binary
	}
}

// Main runs the tests of a package, stops all servers and exits. It fails a package whose tests
// pass but leak goroutines.
func Main(m *testing.M) {
	code := m.Run()
	shared.mu.Lock()
	shared.server.end()
	for _, c := range shared.clusters {
		c.stop()
	}
	shared.mu.Unlock()
	if code == 0 {
		if err := leaked(); err != nil {
			fmt.Fprintf(os.Stderr, "goroutines are still running after the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked returns an error that lists leaked goroutines. It checks several times, because some
// goroutines end only after the servers have ended.
func leaked() (err error) {
	for range 16 {
		if err = goleak.Find(closesLater...); err == nil {
			return nil
		}
	}
	return err
}

// closesLater matches goroutines of a Cluster client that sleep for five seconds before they
// close unused connections.
var closesLater = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
	goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"),
}

// Server is a server for tests.
type Server struct {
	*redisserver.Server
	dir    string
	port   int
	config []string
}

// Require returns the server program to test with. If there is none, it skips the test with a
// message, or fails the test if REDISTEST_REQUIRE=1 is set, as in make test and CI.
func Require(t testing.TB) string {
	t.Helper()
	binary, err := redisserver.Find(os.Getenv)
	if err == nil {
		return binary
	}
	if os.Getenv("REDISTEST_REQUIRE") == "1" {
		t.Fatalf("redistest: REDISTEST_REQUIRE=1, and no server: %v", err)
	}
	t.Skipf("SKIPPED, NOT PROVED: no server to test against: %v", err)
	return ""
}

// Version returns the version of the server under test, such as "7.0.15".
func Version(t testing.TB) string {
	t.Helper()
	version, err := redisserver.Version(context.Background(), Require(t))
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return version
}

// begin starts a server without persistence, unless config enables it.
func begin(port int, config []string) (*Server, error) {
	s, err := prepare(port, config)
	if err != nil {
		return nil, err
	}
	return s, s.start()
}

// prepare creates the directory of a server.
func prepare(port int, config []string) (*Server, error) {
	// Not t.TempDir(): the path of a socket must be short.
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	return &Server{dir: dir, port: port, config: append([]string{"save \"\"", "appendonly no"}, config...)}, nil
}

// start starts a server and waits until it answers, which may take any time on a busy machine.
func (s *Server) start() error {
	server, err := redisserver.Start(context.Background(), redisserver.Options{
		Dir:         s.dir,
		Port:        s.port,
		Config:      s.config,
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		DeathSignal: deathSignal,
	})
	if err != nil {
		return err
	}
	s.Server = server
	return nil
}

// end kills a server, if it is running, and removes its data.
func (s *Server) end() {
	if s == nil {
		return
	}
	if s.Server != nil {
		_ = s.Server.Kill()
		<-s.Done()
	}
	os.RemoveAll(s.dir)
}

// One returns the server that all tests of this binary share. Each test must use a different
// prefix for its keys.
func One(t testing.TB) *Server {
	t.Helper()
	Require(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		server, err := begin(0, []string{fmt.Sprintf("databases %d", databases)})
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
		shared.server = server
		for n := databases - 1; n > 0; n-- {
			shared.free = append(shared.free, n)
		}
	}
	return shared.server
}

// Database is an empty database of the shared server, for one test.
type Database struct {
	server *Server
	number int
}

// DB returns an empty database for this test only. The database is emptied when the test ends.
func DB(t testing.TB) *Database {
	t.Helper()
	server := One(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if len(shared.free) == 0 {
		t.Fatalf("redistest: %d tests use a database of the shared server at once", databases)
	}
	db := &Database{server: server, number: shared.free[len(shared.free)-1]}
	shared.free = shared.free[:len(shared.free)-1]
	t.Cleanup(func() {
		client, err := dial(db.URL())
		if err != nil {
			t.Errorf("redistest: %v", err)
			return
		}
		defer client.Close()
		if err := client.Do(context.Background(), client.B().Flushdb().Build()).Error(); err != nil {
			t.Errorf("redistest: empty the database: %v", err)
			return
		}
		shared.mu.Lock()
		shared.free = append(shared.free, db.number)
		shared.mu.Unlock()
	})
	return db
}

// URL returns the URL of the database for internal/redis/store.
func (db *Database) URL() string { return fmt.Sprintf("%s?db=%d", db.server.URL(), db.number) }

// Client returns a client of the database. It is closed when the test ends.
func (db *Database) Client(t testing.TB) rueidis.Client { return client(t, db.URL()) }

// Own returns a server for this test only, which the test may break. config are additional lines
// of redis.conf.
func Own(t testing.TB, config ...string) *Server {
	t.Helper()
	return Nodes(t, 1, config...)[0]
}

// Nodes returns n independent servers.
func Nodes(t testing.TB, n int, config ...string) []*Server {
	t.Helper()
	nodes := make([]*Server, n)
	errs := make([]error, n)
	Require(t)
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() { nodes[i], errs[i] = begin(0, config) })
	}
	wg.Wait()
	for _, node := range nodes {
		t.Cleanup(node.end)
	}
	for _, err := range errs {
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
	}
	return nodes
}

// Client returns a client of the server. It is closed when the test ends.
func (s *Server) Client(t testing.TB) rueidis.Client { return client(t, s.URL()) }

// Dir returns the data directory.
func (s *Server) Dir() string { return s.dir }

// Stop ends the server after it has saved its data, if it has persistence.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.Server.Stop(context.Background()); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

// Kill kills the server, and waits until it has ended.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.Server.Kill(); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	<-s.Done()
}

// WaitDisconnected waits until no client with a name is connected. A server executes the commands
// that a killed program has sent before it closes the connection.
func (s *Server) WaitDisconnected(t testing.TB, name string) {
	t.Helper()
	c := s.Client(t)
	err := poll(t.Context(), func() (bool, []string, error) {
		clients, err := c.Do(t.Context(), c.B().ClientList().Build()).ToString()
		return !strings.Contains(clients, " name="+name+" "), []string{clients}, err
	})
	if err != nil {
		t.Fatalf("redistest: wait until %s is disconnected: %v", name, err)
	}
}

// Freeze suspends the server process until Thaw.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	if err := s.Server.Freeze(); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

// Thaw resumes a frozen server.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	if err := s.Server.Thaw(); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

// Restart kills the server if it is running and starts it again with the same address, with its
// saved data or empty.
func (s *Server) Restart(t testing.TB, keepData bool) {
	t.Helper()
	s.Kill(t)
	if !keepData {
		entries, err := os.ReadDir(s.dir)
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
		for _, entry := range entries {
			if err := os.RemoveAll(filepath.Join(s.dir, entry.Name())); err != nil {
				t.Fatalf("redistest: %v", err)
			}
		}
	}
	if err := s.start(); err != nil {
		t.Fatalf("redistest: restart: %v", err)
	}
}

func client(t testing.TB, url string) rueidis.Client {
	t.Helper()
	c, err := dial(url)
	if err != nil {
		t.Fatalf("redistest: connect to %s: %v", url, err)
	}
	t.Cleanup(c.Close)
	return c
}

// dial connects like internal/redis/store: with one connection per server.
func dial(url string) (rueidis.Client, error) {
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(url, "unix://") {
		opt.ForceSingleClient = true
	}
	opt.PipelineMultiplex, opt.RetryDelay = -1, redisurl.RetryDelay
	opt.Dialer.Timeout = time.Minute // the other tests of a package keep the server busy
	return rueidis.NewClient(opt)
}

// Cases returns how many cases a test tries: some, or all in "make test-long".
func Cases[N any](some, all N) N {
	if Long {
		return all
	}
	return some
}
