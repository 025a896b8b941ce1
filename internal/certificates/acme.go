package certificates

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// An order takes longer than the handshake timeout of a server.
const (
	orderTime     = time.Minute
	handshakeTime = 5 * time.Second // for the rest of the handshake
)

// ACMEOptions configure NewACME.
type ACMEOptions struct {
	// Domains are the domain names of the site. At least one is required.
	Domains []string
	// Email is the contact address for the authority; may be empty.
	Email string
	// Directory is the URL of the authority. Default: Let's Encrypt.
	Directory string
	// Cache is a directory for the certificates and the account key. It is created readable by
	// this user only.
	Cache  string
	Logger *slog.Logger
}

// ACME obtains the certificate of a domain when a client first asks for the domain, and renews it
// 30 days before it expires.
type ACME struct {
	manager *autocert.Manager
	log     *slog.Logger

	mu      sync.Mutex
	expires map[string]ends
	failed  map[string]time.Time // when a failure was last logged, by name
	late    map[string]time.Time // when a missing renewal was last logged, by name
}

// ends holds the expiry times of the certificates of a name, by public key algorithm. Old clients
// need a certificate with another algorithm.
type ends map[x509.PublicKeyAlgorithm]time.Time

// NewACME returns a source that uses an authority. It sends no requests yet.
func NewACME(opt ACMEOptions) (*ACME, error) {
	if len(opt.Domains) == 0 {
		return nil, errNoDomain
	}
	for _, domain := range opt.Domains {
		if !validHost(domain) || !strings.Contains(domain, ".") || strings.ContainsAny(domain, ":_") || isNumber(domain[strings.LastIndexByte(domain, '.')+1:]) {
			return nil, fmt.Errorf("%q is not the name of a site, such as retwis.example.com", domain)
		}
	}
	if err := os.MkdirAll(opt.Cache, 0o700); err != nil {
		return nil, fmt.Errorf("the directory for certificates: %w", err)
	}
	manager := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(opt.Cache),
		HostPolicy: withoutPort(autocert.HostWhitelist(opt.Domains...)), Email: opt.Email,
		Client: &acme.Client{
			DirectoryURL: cmp.Or(opt.Directory, autocert.DefaultACMEDirectory),
			HTTPClient:   &http.Client{Transport: &orderLinks{next: http.DefaultTransport, orders: map[string]string{}}},
		},
	}
	return &ACME{manager: manager, log: opt.Logger, expires: map[string]ends{}, failed: map[string]time.Time{}, late: map[string]time.Time{}}, nil
}

// isNumber reports whether a label of a name is a number, as in an IPv4 address.
func isNumber(label string) bool { return strings.Trim(label, "0123456789") == "" }

// withoutPort applies policy to names that may include a port, as in the Host header of a challenge
// to a port other than 80.
func withoutPort(policy autocert.HostPolicy) autocert.HostPolicy {
	return func(ctx context.Context, host string) error {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		return policy(ctx, host)
	}
}

// Config implements [Source].
func (a *ACME) Config() *tls.Config {
	c := config(a.certificate)
	c.NextProtos = append(c.NextProtos, acme.ALPNProto)
	return c
}

func (a *ACME) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if a.isFirst(name) {
		// A server with a handshake timeout resets this deadline after the handshake.
		_ = hello.Conn.SetDeadline(time.Now().Add(orderTime))
		defer func() { _ = hello.Conn.SetDeadline(time.Now().Add(handshakeTime)) }()
	}
	cert, err := a.manager.GetCertificate(hello)
	if err != nil {
		// Clients can ask for any name, so only failures for names of the site are logged.
		if a.manager.HostPolicy(context.Background(), name) == nil && a.mayReport(a.failed, name, time.Minute) {
			a.log.Error("cannot get a certificate", "domain", name, "error", err)
		}
		return nil, err
	}
	if leaf := cert.Leaf; leaf != nil && (len(hello.SupportedProtos) != 1 || hello.SupportedProtos[0] != acme.ALPNProto) {
		a.note(name, leaf)
		if isLate(leaf) && a.mayReport(a.late, name, time.Hour) {
			a.log.Error("the certificate has not been renewed; is the site reachable for the authority?", "domain", name, "expires", leaf.NotAfter.UTC())
		}
	}
	return cert, nil
}

// note records the certificate that is used for a name.
func (a *ACME) note(name string, leaf *x509.Certificate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.expires[name][leaf.PublicKeyAlgorithm]
	if before.Equal(leaf.NotAfter) {
		return
	}
	if a.expires[name] == nil {
		a.expires[name] = ends{}
	}
	if !before.IsZero() {
		clear(a.expires[name]) // the certificate with the other algorithm may no longer be needed
	}
	a.expires[name][leaf.PublicKeyAlgorithm] = leaf.NotAfter
	a.log.Info("a new certificate is used", "domain", name, "expires", leaf.NotAfter.UTC())
}

// isLate reports whether a certificate should have been renewed some time ago. autocert starts
// renewing when a third of its lifetime, or 30 days, are left.
func isLate(leaf *x509.Certificate) bool {
	renewal := min(leaf.NotAfter.Sub(leaf.NotBefore)/3, 30*24*time.Hour)
	return time.Until(leaf.NotAfter) < renewal*3/4
}

// isFirst reports whether a name belongs to the site and has had no certificate yet, so that clients
// wait for the authority.
func (a *ACME) isFirst(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.expires[name]) == 0 && a.manager.HostPolicy(context.Background(), name) == nil
}

// mayReport limits log lines of a kind to one line per name and interval.
func (a *ACME) mayReport(reported map[string]time.Time, name string, every time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(reported[name]) < every {
		return false
	}
	reported[name] = time.Now()
	return true
}

// Redirect implements [Source]. The http-01 challenges of the authority come over plain HTTP.
func (a *ACME) Redirect(port string) http.Handler {
	challenges := a.manager.HTTPHandler(Redirect(port))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		challenges.ServeHTTP(w, r)
	})
}

// Expires implements [Source].
func (a *ACME) Expires() map[string]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[string]time.Time, len(a.expires))
	for name, kinds := range a.expires {
		for _, at := range kinds {
			if first, ok := all[name]; !ok || at.Before(first) {
				all[name] = at
			}
		}
	}
	return all
}
