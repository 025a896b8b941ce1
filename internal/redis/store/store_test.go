package store_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) != "" {
		runOwner()
	}
	redistest.Main(m)
}

var quiet = store.Options{Create: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}

// open opens a database that is closed when the test ends.
func open(t *testing.T, url string) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), url, quiet)
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

func set(t *testing.T, client rueidis.Client, key, value string) {
	t.Helper()
	if err := client.Do(t.Context(), client.B().Set().Key(key).Value(value).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, client rueidis.Client, key string) string {
	t.Helper()
	value, err := client.Do(t.Context(), client.B().Get().Key(key).Build()).ToString()
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return value
}

func TestOpenUnix(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	store := open(t, db.URL())
	set(t, store.Client(), "k", "v")
	if got := get(t, db.Client(t), "k"); got != "v" {
		t.Errorf("GET k = %q in the database of the URL, want %q", got, "v")
	}
	if store.String() != db.URL() {
		t.Errorf("String() = %q, want %q", store, db.URL())
	}
}

func TestOpenWithPassword(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "requirepass hunter2", "user ada on >lovelace ~* &* +@all")
	for url, want := range map[string]string{
		"unix://" + server.Socket():                    "asks for a password",
		"unix://:wrong@" + server.Socket():             "rejects this user and password",
		"unix://ada:hunter2@" + server.Socket():        "rejects this user and password",
		"unix://:hunter2@" + server.Socket():           "",
		"unix://ada:lovelace@" + server.Socket():       "",
		"unix://default:hunter2@" + server.Socket():    "",
		"unix://ada:lovelace@" + server.Socket() + "x": "no such file",
	} {
		db, err := store.Open(t.Context(), url, quiet)
		if want == "" && err != nil {
			t.Errorf("Open(%s): %v", url, err)
		} else if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "lovelace")) {
			t.Errorf("the error contains the password: %v", err)
		}
		if err == nil {
			if strings.Contains(db.String(), "hunter2") {
				t.Errorf("String() contains the password: %s", db)
			}
			db.Close()
		}
	}
}

// Open of an unreachable server returns an error with the address and the cause.
func TestOpenUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections but never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	var wg sync.WaitGroup
	for _, scheme := range []string{"redis://%s", "redis+cluster://%s", "redis+sentinel://%s/main"} {
		for address, cause := range map[string]string{
			silent.Addr().String(): "no answer",
			closed.Addr().String(): "connection refused",
		} {
			wg.Go(func() {
				url := fmt.Sprintf(scheme, address)
				db, err := store.Open(t.Context(), url, quiet)
				switch {
				case err == nil:
					db.Close()
					t.Errorf("%s was opened", url)
				case !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), cause):
					t.Errorf("Open(%s): %v, want %s and %q", url, err, address, cause)
				}
			})
		}
	}
	wg.Wait()
}

func TestOpenCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	db := open(t, cluster.URL())
	for i := range 20 {
		set(t, db.Client(), fmt.Sprint("key", i), "v")
	}
	address := fmt.Sprintf("127.0.0.1:%d", cluster.Masters[0].Port())
	if _, err := store.Open(t.Context(), "redis://"+address, quiet); err == nil || !strings.Contains(err.Error(), "redis+cluster://") {
		t.Errorf("redis:// URL of a Cluster: %v, want advice to use redis+cluster://", err)
	}
}

func TestOpenSentinel(t *testing.T) {
	t.Parallel()
	master := redistest.TCP(t)
	sentinel := redistest.Sentinel(t, "main", master)
	db := open(t, fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main/2", sentinel.Port()))
	set(t, db.Client(), "k", "v")
	direct := open(t, fmt.Sprintf("redis://127.0.0.1:%d/2", master.Port()))
	if got := get(t, direct.Client(), "k"); got != "v" {
		t.Errorf("GET k = %q on the master, want %q", got, "v")
	}
	if _, err := store.Open(t.Context(), fmt.Sprintf("redis+sentinel://127.0.0.1:%d/other", sentinel.Port()), quiet); err == nil {
		t.Error("Open succeeded for a master that the sentinel does not monitor")
	}
}

// After a failover the client continues with the new master.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	master := redistest.TCP(t)
	replica := redistest.TCP(t, fmt.Sprintf("replicaof 127.0.0.1 %d", master.Port()))
	sentinel := redistest.Sentinel(t, "main", master, "sentinel down-after-milliseconds main 500")
	db := open(t, fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", sentinel.Port()))
	set(t, db.Client(), "k", "v")
	watcher := sentinel.Client(t)
	eventually(t, "the failover", func() bool { // fails until the sentinel has found the replica
		return watcher.Do(t.Context(), watcher.B().Arbitrary("SENTINEL", "FAILOVER", "main").Build()).Error() == nil
	})
	direct := replica.Client(t)
	eventually(t, "a write on the new master", func() bool {
		c := db.Client()
		if c.Do(t.Context(), c.B().Set().Key("k").Value("new").Build()).Error() != nil {
			return false
		}
		role, err := direct.Do(t.Context(), direct.B().Role().Build()).ToArray()
		if err != nil || len(role) == 0 {
			return false
		}
		name, _ := role[0].ToString()
		value, _ := direct.Do(t.Context(), direct.B().Get().Key("k").Build()).ToString()
		return name == "master" && value == "new"
	})
}

// Open rejects a server without RESP3, and the error names the required version.
func TestOpenOldProtocol(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, `rename-command HELLO ""`)
	if _, err := store.Open(t.Context(), server.URL(), quiet); err == nil || !strings.Contains(err.Error(), "6.2") {
		t.Errorf("server without HELLO: %v, want an error with 6.2", err)
	}
}

// Open waits for a server that is loading its data.
func TestOpenLoading(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "rdbcompression no", "key-load-delay 400")
	c := server.Client(t)
	for _, command := range [][]string{
		{"EVAL", "for i = 1, 1000 do redis.call('SET', i, string.rep('x', 10000)) end return 0", "0"}, {"SAVE"},
	} {
		if err := c.Do(t.Context(), c.B().Arbitrary(command...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	server.Kill(t)
	opened := make(chan string)
	go func() {
		for {
			db, err := store.Open(t.Context(), server.URL(), quiet)
			if err != nil && strings.Contains(err.Error(), "connect") && t.Context().Err() == nil {
				continue // the server is not listening yet
			}
			if err != nil {
				opened <- err.Error()
				return
			}
			n, err := db.Client().Do(t.Context(), db.Client().B().Dbsize().Build()).AsInt64()
			db.Close()
			opened <- fmt.Sprint(n, err)
			return
		}
	}()
	server.Restart(t, true)
	if got := <-opened; got != "1000 <nil>" {
		t.Errorf("Open during loading: %s, want 1000 keys", got)
	}
}

func TestOpenTLS(t *testing.T) {
	t.Parallel()
	server := redistest.TLS(t)
	certificate, key := server.Certificate, server.Key
	plain := redistest.TCP(t)
	address := server.Address
	credentials := "?ca=" + certificate + "&cert=" + certificate + "&key=" + key
	for url, want := range map[string]string{
		"rediss://" + address:                                                           "certificate", // unknown authority
		"rediss://" + address + "?ca=" + certificate:                                    "127.0.0.1",   // the server requires a client certificate
		"rediss://" + address + credentials:                                             "",
		"rediss://" + address + credentials + "&servername=elsewhere":                   "elsewhere",
		"rediss://" + address + "?skip_verify=true&cert=" + certificate + "&key=" + key: "",
		"rediss://" + address + "?ca=/no/such/file":                                     "parameter ca",
		"rediss://" + address + "?ca=" + key:                                            "no certificate",
		"rediss://" + address + "?cert=/none&key=/none":                                 "cert and key",
		"redis://" + address:                                                            "127.0.0.1",     // no TLS to a TLS server
		fmt.Sprintf("rediss://127.0.0.1:%d", plain.Port()):                              "not speak TLS", // TLS to a plain server
		fmt.Sprintf("rediss://127.0.0.1:%d%s", plain.Port(), credentials):               "not speak TLS",
	} {
		t.Run(strings.ReplaceAll(url, "/", "_"), func(t *testing.T) {
			t.Parallel()
			db, err := store.Open(t.Context(), url, quiet)
			if err == nil {
				set(t, db.Client(), "k", "v")
				db.Close()
			}
			if want == "" && err != nil {
				t.Error(err)
			} else if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	if _, err := store.Open(context.Background(), "embedded:", store.Options{Fsync: "no"}); err == nil || !strings.Contains(err.Error(), "Fsync") {
		t.Errorf("Open with Fsync no: %v, want an error about Fsync", err)
	}
}
