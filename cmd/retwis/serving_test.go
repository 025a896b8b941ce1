package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// serveOn starts a site on the database at url.
func serveOn(t *testing.T, url string, args ...string) *site {
	t.Helper()
	s, err := startSite(t.TempDir(), append(os.Environ(), "RETWIS_REDIS="+url), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.stop(syscall.SIGKILL) })
	return s
}

// writePair writes a certificate for localhost and its key, and returns a pool that trusts it.
func writePair(t *testing.T, cert, key string, serial int64) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(certPEM)
	for path, content := range map[string][]byte{cert: certPEM, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

func clientOver(t *testing.T, config *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// A site with certificate files serves HTTP/2, adds its headers to every response, redirects plain
// HTTP, and uses a new certificate without a restart.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "site.crt"), filepath.Join(dir, "site.key")
	pool := writePair(t, cert, key, 1)
	s := serveOn(t, redistest.DB(t).URL(), "--tls-cert", cert, "--tls-key", key, "--redirect-addr", "127.0.0.1:0", "--hsts-subdomains")
	client := clientOver(t, &tls.Config{RootCAs: pool})
	get := func(client *http.Client, url string) *http.Response {
		t.Helper()
		response, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response
	}
	for path, status := range map[string]int{
		"/": 200, "/timeline": 200, "/static/none.css": 404, "/robots.txt": 200, "/healthz": 200, "/readyz": 200,
		"/nothing": 404, "/home": 303, "//timeline": 0, "/timeline.atom": 200, "/live": 0,
	} {
		response, err := client.Head(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		h := response.Header
		if response.ProtoMajor != 2 || status != 0 && response.StatusCode != status ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Strict-Transport-Security") != "max-age=31536000; includeSubDomains" {
			t.Errorf("%s: protocol %s, status %d, header %v", path, response.Proto, response.StatusCode, h)
		}
	}

	// A session cookie is sent only over HTTPS.
	response, err := client.Post(s.url+"/register", "application/x-www-form-urlencoded", strings.NewReader("username=ada&password=engine-engine&password2=engine-engine"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	for _, cookie := range response.Cookies() {
		if !cookie.Secure {
			t.Errorf("the cookie %s is not Secure", cookie.Name)
		}
	}

	addr := strings.TrimPrefix(s.url, "https://")
	if _, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	if response := get(client, "http://"+addr+"/"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP on the port for TLS: %d", response.StatusCode)
	}

	s.waitForLog(t, "redirecting plain HTTP to HTTPS")
	found := regexp.MustCompile(`redirecting plain HTTP to HTTPS" url=(http://\S+)`).FindStringSubmatch(s.err.String())
	response = get(client, found[1]+"/u/ada?before=1")
	if want := strings.Replace(s.url, "localhost", "127.0.0.1", 1) + "/u/ada?before=1"; response.StatusCode != 301 || response.Header.Get("Location") != want {
		t.Errorf("redirect: %d %q, want %q", response.StatusCode, response.Header.Get("Location"), want)
	}

	// A new certificate is used without a restart.
	newPool := writePair(t, cert, key, 2)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: newPool})
		if err == nil {
			conn.Close()
			break
		}
		select {
		case <-tick.C:
		case <-hung():
			t.Fatalf("the new certificate is not used: %v\n%s", err, s.err.String())
		}
	}
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// Contradictory flags are usage errors.
func TestServingFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--tls-cert x":                               "--tls-cert and --tls-key must be given together",
		"--acme a.example.com --tls-cert x":          "--acme and --tls-cert cannot be combined",
		"--acme-email a@example.com":                 "need --acme",
		"--redirect-addr :0":                         "--redirect-addr needs",
		"--acme localhost --addr :0 --acme-cache /x": "is not the name of a site",
		"--addr 8080":                                "use host:port",
		"--addr unix:":                               "use unix:PATH",
		"--socket-mode rw":                           "use permissions such as 0660",
		"--socket-mode 1777":                         "use permissions such as 0660",
		"--wait -1s":                                 "--wait: -1s is negative",
		"--drain -1s":                                "--drain: -1s is negative",
	} {
		out, err := exec.Command("retwis", append([]string{"serve"}, strings.Fields(args)...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s; want %q", args, err, out, want)
		}
	}
}

// socketDir returns a directory whose path is short enough for sockets.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "retwis")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func unixClient(t *testing.T, path string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestServeUnix checks the permissions of a Unix socket, the logged addresses of clients, and the
// handling of existing files at the path of the socket.
func TestServeUnix(t *testing.T) {
	t.Parallel()
	db, path := redistest.DB(t).URL(), filepath.Join(socketDir(t), "retwis.sock")
	flags := []string{"--addr", "unix:" + path, "--socket-mode", "0600", "--trusted-proxies", "127.0.0.0/8", "--access-log", "json", "--drain", "1ms"}
	s := serveOn(t, db, flags...)
	if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode of the socket: %v, %v; want 0600", info.Mode(), err)
	}
	request, err := http.NewRequest(http.MethodGet, "http://retwis.example.com/timeline", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Forwarded-For", "192.0.2.7")
	status, page, err := read(unixClient(t, path).Do(request))
	if err != nil || status != 200 || !strings.Contains(page, "Retwis") {
		t.Fatalf("GET /timeline: %d, %v", status, err)
	}
	if err := s.waitFor(func() bool { return strings.Contains(s.out.String(), `"address":"192.0.2.7"`) }); err != nil {
		t.Error(err)
	}
	// Another process does not take over the socket.
	out, err := exec.Command("retwis", "serve", "--redis", db, "--addr", "unix:"+path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Another process serves this socket") {
		t.Errorf("retwis serve: %v, want another error: %s", err, out)
	}
	// A killed process leaves its socket behind.
	_ = s.stop(syscall.SIGKILL)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	s = serveOn(t, db, flags...)
	if status, _, err := read(unixClient(t, path).Get("http://x/healthz")); err != nil || status != 200 {
		t.Errorf("GET /healthz: %d, %v", status, err)
	}
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there")
	}
	// A regular file is never removed.
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = exec.Command("retwis", "serve", "--redis", db, "--addr", "unix:"+path).CombinedOutput()
	if content, _ := os.ReadFile(path); err == nil || !strings.Contains(string(out), "is not a socket") || string(content) != "precious" {
		t.Errorf("retwis serve: %v, want another error: %s", err, out)
	}
}

// systemd passes the socket, and is notified when the service starts, is alive and stops.
func TestServeSystemd(t *testing.T) {
	t.Parallel()
	db, dir := redistest.DB(t).URL(), socketDir(t)
	notifications, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notifications.Close()
	file, addr := listeningSocket(t)
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, "retwis", "serve", "--addr", "systemd:web", "--redis", db)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "notify"), "WATCHDOG_USEC=20000", "LISTEN_FDS=1", "LISTEN_FDNAMES=web", "INVOCATION_ID=1")
	cmd.ExtraFiles = []*os.File{file}
	s, err := startCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.stop(syscall.SIGKILL) })
	if s.url != "http://"+addr {
		t.Errorf("the site listens on %s, want http://%s", s.url, addr)
	}
	if status, _, err := s.get("/healthz"); err != nil || status != 200 {
		t.Errorf("GET /healthz: %d, %v", status, err)
	}
	expect := func(want string) {
		t.Helper()
		for {
			b := make([]byte, 100)
			n, err := notifications.Read(b)
			if err != nil {
				t.Fatalf("waiting for %q: %v", want, err)
			}
			if string(b[:n]) == want {
				return
			}
		}
	}
	expect("READY=1")
	expect("WATCHDOG=1")
	expect("WATCHDOG=1")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil { // "systemctl reload" does not stop the service
		t.Fatal(err)
	}
	expect("WATCHDOG=1")
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	expect("STOPPING=1")

	out, err := exec.Command("retwis", "serve", "--redis", db, "--addr", "systemd:").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "systemd passed no socket") {
		t.Errorf("retwis serve: %v, want another error: %s", err, out)
	}
}

// listeningSocket returns a socket as passed by systemd, and its address.
func listeningSocket(t *testing.T) (file *os.File, addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err = listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file, listener.Addr().String()
}

// While systemd holds the socket, a restart refuses no connection: clients wait for the next
// process. The process uses the socket of retwis.socket without --addr.
func TestRestartRefusesNobody(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t).URL()
	file, addr := listeningSocket(t)
	start := func() *site {
		cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, "retwis", "serve", "--redis", db)
		cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=web")
		cmd.ExtraFiles = []*os.File{file}
		s, err := startCommand(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.stop(syscall.SIGKILL) })
		return s
	}
	s := start()
	stop, answered, during := make(chan struct{}), make(chan int), new(atomic.Bool)
	go func() {
		n, overlapping := 0, 0
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		for {
			select {
			case <-stop:
				answered <- overlapping
				return
			default:
			}
			began := during.Load()
			status, _, err := read(client.Get("http://" + addr + "/login"))
			if err != nil || status != http.StatusOK {
				t.Errorf("request %d: %d, %v", n, status, err)
			}
			n++
			if began || during.Load() {
				overlapping++
			}
		}
	}()
	for range 3 {
		during.Store(true)
		if err := s.stop(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		s = start()
		if status, _, err := s.get("/healthz"); err != nil || status != http.StatusOK {
			t.Errorf("GET /healthz: %d, %v", status, err)
		}
		during.Store(false)
	}
	close(stop)
	if n := <-answered; n < 3 {
		t.Errorf("%d requests during three restarts, want at least 3", n)
	}
}

// Clients that switch to another process when their process is no longer ready see no errors while
// it stops.
func TestStopWithoutErrors(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t).URL()
	// Clients have plenty of time to switch to the other process.
	old, next := serveOn(t, db, "--drain", "1h"), serveOn(t, db)
	if status, page, err := old.post("/register", "username=ada&password=engine-engine&password2=engine-engine"); err != nil || status != 200 {
		t.Fatalf("sign up: %d, %v: %s", status, err, page)
	}
	var ready atomic.Pointer[site] // the process that the load balancer uses
	ready.Store(old)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { // a health check, like a load balancer's
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			status, _, err := read(client.Get(old.url + "/readyz"))
			if err != nil || status != 200 {
				ready.Store(next)
				return
			}
		}
	})
	var before, after atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport, Jar: old.client.Jar}
			for n := 0; ctx.Err() == nil; n++ {
				to, count := ready.Load(), &before
				if to == next {
					count = &after
				}
				var status int
				var err error
				if n%4 == 0 && i == 0 {
					var body io.Reader = bytes.NewReader([]byte(fmt.Sprintf("status=post+%d", n)))
					request, _ := http.NewRequest(http.MethodPost, to.url+"/post", io.NopCloser(body)) // without GetBody, so that the client does not retry
					request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					status, _, err = read(client.Do(request))
				} else {
					status, _, err = read(client.Get(to.url + "/timeline"))
				}
				if err != nil || status != 200 && status != http.StatusTooManyRequests {
					t.Errorf("request %d: %d, %v", n, status, err)
					return
				}
				count.Add(1)
			}
		})
	}
	until := func(count *atomic.Int64, n int64) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if count.Load() >= n || t.Failed() {
				return
			}
		}
	}
	until(&before, 200)
	if err := old.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(&after, 200)
	stop()
	wg.Wait()
	// Clients that have not switched are served until the end.
	if status, _, err := old.get("/timeline"); err != nil || status != http.StatusOK {
		t.Errorf("a process that is no longer ready: %d, %v", status, err)
	}
	t.Logf("%d requests before, %d after", before.Load(), after.Load())
}
