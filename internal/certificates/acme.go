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

// An order takes longer than a server gives a client for the handshake.
const (
	orderTime     = time.Minute
	handshakeTime = 5 * time.Second // for the rest of the handshake
)

// ACMEOptions are the settings of NewACME.
type ACMEOptions struct {
	// Domains are the names of the site. At least one.
	Domains []string
	// Email is where the authority writes to; may be empty.
	Email string
	// Directory is the URL of the authority. Default: Let's Encrypt.
	Directory string
	// Cache is a directory for the certificates and the key of the account. It is
	// created for this user only.
	Cache  string
	Logger *slog.Logger
}

// ACME gets the certificate of a domain when a client asks for the domain the first time,
// and renews each 30 days before it ends.
type ACME struct {
	manager *autocert.Manager
	log     *slog.Logger

	mu      sync.Mutex
	expires map[string]ends
	failed  map[string]time.Time // when a failure was logged, by name
	late    map[string]time.Time // when it was logged that a certificate is not renewed, by name
}

// ends are the ends of the certificates of a name: old clients need another kind of key.
type ends map[x509.PublicKeyAlgorithm]time.Time

// NewACME returns a source that asks an authority. It asks for nothing yet.
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

// isNumber reports whether the last part of a name is a number, as in an IPv4 address.
func isNumber(label string) bool { return strings.Trim(label, "0123456789") == "" }

// withoutPort is a policy for names that may have a port, as in the header Host of a
// challenge to another port than 80.
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
		// A server that bounds handshakes sets the deadline again after this one.
		_ = hello.Conn.SetDeadline(time.Now().Add(orderTime))
		defer func() { _ = hello.Conn.SetDeadline(time.Now().Add(handshakeTime)) }()
	}
	cert, err := a.manager.GetCertificate(hello)
	if err != nil {
		// Anybody can ask for any name; only those of the site are worth a line.
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

// note notes the certificate that is used for a name.
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
		clear(a.expires[name]) // no client may need the other kind any more
	}
	a.expires[name][leaf.PublicKeyAlgorithm] = leaf.NotAfter
	a.log.Info("a new certificate is used", "domain", name, "expires", leaf.NotAfter.UTC())
}

// isLate reports whether a certificate should have been renewed some time ago. autocert begins with a
// third of its time left, or 30 days.
func isLate(leaf *x509.Certificate) bool {
	renewal := min(leaf.NotAfter.Sub(leaf.NotBefore)/3, 30*24*time.Hour)
	return time.Until(leaf.NotAfter) < renewal*3/4
}

// isFirst reports whether a name is one of the site that has had no certificate yet: then
// clients wait for the authority.
func (a *ACME) isFirst(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.expires[name]) == 0 && a.manager.HostPolicy(context.Background(), name) == nil
}

// mayReport bounds the lines of a kind for each name: one in some time.
func (a *ACME) mayReport(reported map[string]time.Time, name string, every time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(reported[name]) < every {
		return false
	}
	reported[name] = time.Now()
	return true
}

// Redirect implements [Source]. The challenges http-01 of the authority come over plain
// HTTP.
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
