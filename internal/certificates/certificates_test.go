package certificates_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"retwis/internal/certificates"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPair returns a self-signed certificate for name with a new ECDSA key, both PEM-encoded.
func newPair(t *testing.T, name string, notAfter time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pairWithKey(t, private, name, notAfter)
}

// pairWithKey is like newPair but uses the given private key.
func pairWithKey(t *testing.T, private crypto.Signer, name string, notAfter time.Time) (cert, key []byte) {
	t.Helper()
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: notAfter.Add(-90 * 24 * time.Hour), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Changed files are used within a second. A mismatched or incomplete pair is logged once, and the
// previous certificate stays in use.
func TestFilesChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certPath, keyPath := filepath.Join(dir, "site.crt"), filepath.Join(dir, "site.key")
	synctest.Test(t, func(t *testing.T) {
		notAfter := time.Now().Add(time.Hour).Truncate(time.Second)
		cert1, key1 := newPair(t, "one.example.com", notAfter)
		cert2, key2 := newPair(t, "two.example.com", notAfter)
		write(t, certPath, cert1)
		write(t, keyPath, key1)
		var out bytes.Buffer
		files, err := certificates.NewFiles(certPath, keyPath, slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil {
			t.Fatal(err)
		}
		want := func(name string) {
			t.Helper()
			got, err := files.Config().GetCertificate(&tls.ClientHelloInfo{})
			if err != nil || got.Leaf.DNSNames[0] != name {
				t.Errorf("GetCertificate: %v, %v; want a certificate for %s", got.Leaf.DNSNames, err, name)
			}
			if at := files.Expires()[name]; !at.Equal(notAfter.UTC()) {
				t.Errorf("%s expires at %v, want %v", name, at, notAfter)
			}
		}
		logged := func(n int) {
			t.Helper()
			if got := strings.Count(out.String(), "\n"); got != n {
				t.Errorf("log has %d lines, want %d: %s", got, n, out.String())
			}
		}
		want("one.example.com")
		write(t, certPath, cert2) // keyPath still has the old key
		want("one.example.com")
		logged(0)
		time.Sleep(time.Second)
		want("one.example.com")
		time.Sleep(time.Second)
		want("one.example.com")
		logged(1)
		write(t, keyPath, key2)
		time.Sleep(time.Second)
		want("two.example.com")
		logged(2)
		os.Remove(certPath)
		for range 3 {
			time.Sleep(time.Second)
			want("two.example.com")
		}
		logged(3)
		write(t, certPath, []byte("nothing"))
		time.Sleep(time.Second)
		want("two.example.com")
		logged(4)
		write(t, certPath, cert1)
		write(t, keyPath, key1)
		time.Sleep(time.Second)
		want("one.example.com")
	})
	if _, err := certificates.NewFiles(filepath.Join(dir, "none"), keyPath, slog.Default()); err == nil {
		t.Error("NewFiles accepted a missing certificate file")
	}
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, target, host, port, location string }{
		{"GET", "/u/ada?before=3", "retwis.example.com", "443", "https://retwis.example.com/u/ada?before=3"},
		{"GET", "/", "retwis.example.com:80", "443", "https://retwis.example.com/"},
		{"HEAD", "/", "retwis.example.com:8080", "8443", "https://retwis.example.com:8443/"},
		{"GET", "/", "[::1]:80", "443", "https://[::1]/"},
		{"GET", "/", "[::1]", "8443", "https://[::1]:8443/"},
		{"GET", "//evil.example.com/x", "retwis.example.com", "443", "https://retwis.example.com//evil.example.com/x"},
		{"GET", "http://evil.example.com/x", "retwis.example.com", "443", "https://retwis.example.com/x"},
		{"POST", "/login", "retwis.example.com", "443", ""},
		{"GET", "/", "evil.example.com/@x", "443", ""},
		{"GET", "/", "", "443", ""},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(test.method, test.target, http.NoBody)
		r.Host = test.host
		certificates.Redirect(test.port).ServeHTTP(w, r)
		want := http.StatusMovedPermanently
		if test.location == "" {
			want = http.StatusBadRequest
		}
		if got := w.Header().Get("Location"); got != test.location || w.Code != want || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%+v: status %d, location %q; want status %d", test, w.Code, got, want)
		}
	}
}

func TestACMEDomains(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"", "localhost", "*.example.com", "https://example.com", "example.com:443", "a_b.example.com", "127.0.0.1", "10.1", "192.0.2.1."} {
		_, err := certificates.NewACME(certificates.ACMEOptions{Domains: []string{domain}, Cache: t.TempDir(), Logger: slog.Default()})
		if err == nil {
			t.Errorf("NewACME accepted the domain %q", domain)
		}
	}
	if _, err := certificates.NewACME(certificates.ACMEOptions{Cache: t.TempDir()}); err == nil {
		t.Error("NewACME accepted an empty list of domains")
	}
}

// A certificate that the authority does not renew stays in use, and the failed renewal is logged
// once an hour. A client that supports only RSA gets the RSA certificate, and switching between the
// two certificates logs neither of them as new again.
func TestACMENotRenewed(t *testing.T) {
	t.Parallel()
	const domain, day = "retwis.example.com", 24 * time.Hour
	asked := make(chan struct{}, 1)
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not here", http.StatusNotFound)
		asked <- struct{}{}
	}))
	defer authority.Close()
	dir, now := t.TempDir(), time.Now().Truncate(time.Second)
	cert, key := newPair(t, domain, now.Add(5*day))
	write(t, filepath.Join(dir, domain), append(key, cert...))
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = pairWithKey(t, private, domain, now.Add(80*day))
	write(t, filepath.Join(dir, domain+"+rsa"), append(key, cert...))
	var out bytes.Buffer
	source, err := certificates.NewACME(certificates.ACMEOptions{
		Domains: []string{domain}, Directory: authority.URL, Cache: dir, Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	for range 3 {
		for _, suites := range [][]uint16{{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, {tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}} {
			hello := &tls.ClientHelloInfo{ServerName: domain, CipherSuites: suites, Conn: far}
			if _, err := source.Config().GetCertificate(hello); err != nil {
				t.Fatal(err)
			}
		}
	}
	<-asked // autocert writes its account key to dir before the first request
	for line, want := range map[string]int{"level=ERROR": 1, "has not been renewed": 1, "a new certificate is used": 2} {
		if n := strings.Count(out.String(), line); n != want {
			t.Errorf("log contains %q %d times, want %d: %s", line, n, want, out.String())
		}
	}
	if got, want := source.Expires(), map[string]time.Time{domain: now.Add(5 * day)}; !maps.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("Expires() = %v, want %v", got, want)
	}
}
