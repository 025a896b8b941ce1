package store_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/store"
)

func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) != "" {
		own()
	}
	redistest.Main(m)
}

var quiet = store.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}

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
		t.Errorf("k = %q in the database that the URL names", got)
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
		"unix://:wrong@" + server.Socket():             "does not take this user and password",
		"unix://ada:hunter2@" + server.Socket():        "does not take this user and password",
		"unix://:hunter2@" + server.Socket():           "",
		"unix://ada:lovelace@" + server.Socket():       "",
		"unix://default:hunter2@" + server.Socket():    "",
		"unix://ada:lovelace@" + server.Socket() + "x": "no such file",
	} {
		db, err := store.Open(t.Context(), url, quiet)
		if want == "" && err != nil {
			t.Errorf("%s: %v", url, err)
		} else if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "lovelace")) {
			t.Errorf("the error tells the password: %v", err)
		}
		if err == nil {
			if strings.Contains(db.String(), "hunter2") {
				t.Errorf("String() tells the password: %s", db)
			}
			db.Close()
		}
	}
}

// A server that does not answer is an error within five seconds, with the
// address and the cause.
func TestOpenUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, scheme := range []string{"redis://%s", "redis+cluster://%s", "redis+sentinel://%s/main"} {
		for address, cause := range map[string]string{
			silent.Addr().String(): "no answer",
			closed.Addr().String(): "connection refused",
		} {
			url := fmt.Sprintf(scheme, address)
			t.Run(strings.ReplaceAll(url, "/", "_"), func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				db, err := store.Open(t.Context(), url, quiet)
				if err == nil {
					db.Close()
					t.Fatal("it opened")
				}
				if took := time.Since(began); took > 5500*time.Millisecond {
					t.Errorf("it took %s", took)
				}
				if !strings.Contains(err.Error(), address) || cause == "connection refused" && !strings.Contains(err.Error(), cause) {
					t.Errorf("%v, want %s and %q", err, address, cause)
				}
			})
		}
	}
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
		t.Errorf("one server of a Cluster: %v", err)
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
		t.Errorf("k = %q at the master", got)
	}
	if _, err := store.Open(t.Context(), fmt.Sprintf("redis+sentinel://127.0.0.1:%d/other", sentinel.Port()), quiet); err == nil {
		t.Error("a master that the sentinel does not know was found")
	}
}

// A certificate that nobody has vouched for is refused, which shows that TLS is
// spoken and checked.
func TestOpenTLS(t *testing.T) {
	t.Parallel()
	certificate, key := selfSigned(t)
	port := redistest.FreePort(t)
	redistest.Own(t, fmt.Sprintf("tls-port %d", port),
		"tls-cert-file "+certificate, "tls-key-file "+key, "tls-auth-clients no")
	_, err := store.Open(t.Context(), fmt.Sprintf("rediss://127.0.0.1:%d", port), quiet)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	plain := redistest.TCP(t)
	_, err = store.Open(t.Context(), fmt.Sprintf("rediss://127.0.0.1:%d", plain.Port()), quiet)
	if err == nil || !strings.Contains(err.Error(), "not speak TLS") {
		t.Errorf("TLS to a server without: %v", err)
	}
}

func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}

func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	if _, err := store.Open(context.Background(), "embedded:", store.Options{Fsync: "no"}); err == nil || !strings.Contains(err.Error(), "Fsync") {
		t.Errorf("Fsync no: %v", err)
	}
}
