// Package certificates provides the TLS certificates of a site: from files, which are reloaded when
// they change, or from an ACME authority such as Let's Encrypt.
package certificates

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"
)

// Source is a source of certificates for a site.
type Source interface {
	// Config returns the TLS configuration for a server.
	Config() *tls.Config
	// Redirect handles plain HTTP requests: it answers challenges of the authority, and redirects
	// other requests to the same address over HTTPS, at the given port.
	Redirect(port string) http.Handler
	// Expires returns the expiry time of the certificate in use, by name; if clients use several
	// certificates, the earliest expiry time. A certificate from a file is listed under its first
	// name.
	Expires() map[string]time.Time
}

// config returns the TLS configuration that all sources share.
func config(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: get}
}

// checkEvery is the minimum time between two checks for new files.
const checkEvery = time.Second

// Files is a certificate and its key in two files. A handshake reloads the files, at most once a
// second, so no signal or restart is needed when the files change.
type Files struct {
	certPath, keyPath string
	log               *slog.Logger
	now               func() time.Time

	mu        sync.Mutex
	current   *tls.Certificate
	cert, key []byte // contents of the files when they were last read
	checked   time.Time
	unread    bool // the last attempt to read the files failed
}

// NewFiles loads a certificate chain and its key from files.
func NewFiles(cert, key string, log *slog.Logger) (*Files, error) {
	f := &Files{certPath: cert, keyPath: key, log: log, now: time.Now}
	certText, keyText, err := f.read()
	if err != nil {
		return nil, err
	}
	pair, err := parse(certText, keyText)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", cert, key, err)
	}
	f.current, f.cert, f.key, f.checked = pair, certText, keyText, f.now()
	return f, nil
}

func (f *Files) read() (cert, key []byte, err error) {
	if cert, err = os.ReadFile(f.certPath); err == nil {
		key, err = os.ReadFile(f.keyPath)
	}
	return cert, key, err
}

func parse(cert, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}

// Config implements [Source].
func (f *Files) Config() *tls.Config {
	return config(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.certificate(), nil })
}

// certificate returns the newest matching certificate and key. The files briefly do not match while
// they are replaced one after the other.
func (f *Files) certificate() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if now.Sub(f.checked) < checkEvery {
		return f.current
	}
	f.checked = now
	cert, key, err := f.read()
	if err != nil {
		if !f.unread {
			f.log.Error("cannot read the certificate; still using the previous one", "error", err)
		}
		f.unread = true
		return f.current
	}
	f.unread = false
	if bytes.Equal(cert, f.cert) && bytes.Equal(key, f.key) {
		return f.current
	}
	f.cert, f.key = cert, key
	pair, err := parse(cert, key)
	if err != nil {
		f.log.Error("the new certificate is not valid; still using the previous one", "cert", f.certPath, "key", f.keyPath, "error", err)
		return f.current
	}
	f.current = pair
	f.log.Info("a new certificate is used", "cert", f.certPath, "expires", pair.Leaf.NotAfter.UTC())
	return pair
}

// Redirect implements [Source].
func (f *Files) Redirect(port string) http.Handler { return Redirect(port) }

// Expires implements [Source].
func (f *Files) Expires() map[string]time.Time {
	leaf := f.certificate().Leaf
	name := leaf.Subject.CommonName
	if len(leaf.DNSNames) > 0 {
		name = leaf.DNSNames[0]
	}
	return map[string]time.Time{name: leaf.NotAfter}
}

var errNoDomain = errors.New("certificates: no domain")
