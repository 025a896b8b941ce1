// Package certificates gives a site its TLS certificates: from files, which it reads
// again when they change, or from an authority that speaks ACME, such as Let's Encrypt.
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

// Source is where the certificates of a site come from.
type Source interface {
	// Config returns the configuration of a server.
	Config() *tls.Config
	// Redirect answers requests over plain HTTP: with what the authority asks for, and
	// else with a redirect to the same address over HTTPS, at a port.
	Redirect(port string) http.Handler
	// Expires returns when the certificate that is in use ends, by name: the first one, where clients
	// use several. The name of a
	// certificate from a file is the first one in it.
	Expires() map[string]time.Time
}

// config is what all sources have in common.
func config(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: get}
}

// checkEvery is how often Files looks for new files, at most.
const checkEvery = time.Second

// Files is a certificate in two files. A handshake reads them again, at most once a
// second, so that no signal and no restart is needed when they change.
type Files struct {
	certPath, keyPath string
	log               *slog.Logger
	now               func() time.Time

	mu        sync.Mutex
	current   *tls.Certificate
	cert, key []byte // the contents of the files that were read last
	checked   time.Time
	unread    bool // the files could not be read the last time
}

// NewFiles reads a certificate, with those that lead to its authority, and its key.
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

// certificate returns the newest pair that fits together. Files that are being replaced
// one after the other do not fit for a moment.
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
			f.log.Error("cannot read the certificate; the one from before is still used", "error", err)
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
		f.log.Error("the new certificate is not valid; the one from before is still used", "cert", f.certPath, "key", f.keyPath, "error", err)
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
