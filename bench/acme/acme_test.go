// Package acme tests that the site obtains certificates from Pebble, Let's Encrypt's ACME test
// server. It is in the bench module so that retwis does not require Pebble.
package acme

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

const domain = "retwis.example.test"

// authority is a local Pebble server.
type authority struct {
	server   *httptest.Server
	roots    *x509.CertPool
	certFile string // PEM file with the certificate of the HTTPS endpoint
}

// newAuthority returns an authority that validates challenges on the given ports and resolves
// every name to 127.0.0.1. It delays each certificate by the given time.
func newAuthority(t *testing.T, httpPort, tlsPort int, delay time.Duration) *authority {
	t.Helper()
	logger := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	issuer := ca.New(logger, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "default"}})
	checker := va.New(logger, httpPort, tlsPort, true, nameServer(t), store)
	front := wfe.New(logger, store, checker, issuer, []string{"pebble.letsencrypt.org"}, true, false, 0, 0)
	handler := front.Handler()
	delayed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/finalize-order/") {
			time.Sleep(delay)
		}
		handler.ServeHTTP(w, r)
	})
	a := &authority{server: httptest.NewTLSServer(delayed), roots: x509.NewCertPool(), certFile: filepath.Join(t.TempDir(), "authority.pem")}
	t.Cleanup(a.server.Close)
	a.roots.AddCert(issuer.GetRootCert(0).Cert)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	if err := os.WriteFile(a.certFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// nameServer starts a DNS server that resolves every name to 127.0.0.1.
func nameServer(t *testing.T) (address string) {
	t.Helper()
	overTCP, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	overUDP, err := net.ListenPacket("udp", overTCP.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		answer := new(dns.Msg).SetReply(query)
		for _, q := range query.Question {
			if q.Qtype == dns.TypeA {
				answer.Answer = append(answer.Answer, &dns.A{
					Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.IPv4(127, 0, 0, 1),
				})
			}
		}
		_ = w.WriteMsg(answer)
	})
	for _, server := range []*dns.Server{{Listener: overTCP, Handler: handler}, {PacketConn: overUDP, Handler: handler}} {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go func() { _ = server.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { _ = server.Shutdown() })
	}
	return overTCP.Addr().String()
}

// freePort returns a port that is not in use.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// serve runs "retwis serve --acme" until the returned function is called or the test ends.
func serve(t *testing.T, program, cache string, a *authority, args ...string) (stop func()) {
	t.Helper()
	cmd := exec.Command(program, append([]string{
		"serve", "--redis", "embedded:" + t.TempDir(), "--acme", domain, "--acme-email", "operator@example.test",
		"--acme-directory", a.server.URL + "/dir", "--acme-cache", cache,
	}, args...)...)
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+a.certFile)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("retwis serve: %v\n%s", err, stderr.String())
		}
	}
	t.Cleanup(stop)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "listening on https://") {
		t.Fatalf("retwis serve printed %q, %v; want \"listening on https://\"", line, err)
	}
	return stop
}

// TestACME obtains a certificate with each challenge type, shuts the authority down and restarts
// the site: the site must serve the stored certificate. The site orders the certificate when it
// starts; an early handshake waits for the certificate, even if the authority is slow.
func TestACME(t *testing.T) {
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	program := filepath.Join(t.TempDir(), "retwis")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/retwis")
	build.Dir = filepath.Join("..", "..")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for challenge, usesHTTP := range map[string]bool{"tls-alpn-01": false, "http-01": true} {
		t.Run(challenge, func(t *testing.T) {
			httpsPort, httpPort := freePort(t), freePort(t)
			// The authority reaches the site on one of the two ports only.
			ports, delay := [2]int{freePort(t), httpsPort}, 6*time.Second // longer than the handshake timeout of 5 s
			args := []string{"--addr", "127.0.0.1:" + strconv.Itoa(httpsPort), "--redirect-addr", ""}
			if usesHTTP {
				ports, delay = [2]int{httpPort, freePort(t)}, 0
				args[3] = "127.0.0.1:" + strconv.Itoa(httpPort)
			}
			a, cache := newAuthority(t, ports[0], ports[1], delay), t.TempDir()
			admin := "127.0.0.1:" + strconv.Itoa(freePort(t))
			args = append(args, "--admin-addr", admin)
			stop := serve(t, program, cache, a, args...)
			if usesHTTP {
				waitForCertificate(t, admin)
			}
			get := func() {
				t.Helper()
				transport := &http.Transport{
					ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: a.roots},
					DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
						return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+strconv.Itoa(httpsPort))
					},
				}
				defer transport.CloseIdleConnections()
				client := http.Client{Transport: transport}
				response, err := client.Get("https://" + domain + "/login")
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				leaf := response.TLS.PeerCertificates[0]
				if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 || !strings.Contains(leaf.Issuer.CommonName, "Pebble") {
					t.Errorf("GET /login: %s %d with a certificate of %q, want HTTP/2 200 with a certificate of Pebble", response.Proto, response.StatusCode, leaf.Issuer.CommonName)
				}
			}
			get()
			if usesHTTP {
				client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
				response, err := client.Get("http://127.0.0.1:" + strconv.Itoa(httpPort) + "/timeline")
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if response.StatusCode != http.StatusMovedPermanently {
					t.Errorf("GET over plain HTTP: status %d, want %d", response.StatusCode, http.StatusMovedPermanently)
				}
			}
			stop()
			a.server.Close()
			serve(t, program, cache, a, args...)
			get()
		})
	}
}

// waitForCertificate polls the metrics until the site has a certificate. It requests no page,
// because the site must order the certificate without a request.
func waitForCertificate(t *testing.T, admin string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		response, err := http.Get("http://" + admin + "/metrics")
		if err == nil {
			text, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if strings.Contains(string(text), `retwis_tls_certificate_expires_seconds{domain="`+domain+`"}`) {
				return
			}
		}
	}
}
