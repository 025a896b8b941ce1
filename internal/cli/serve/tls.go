package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"retwis/internal/certificates"
	"retwis/internal/cli/shell"
	"retwis/internal/owner"
	"retwis/internal/redis/store"
)

// tlsFlags are the flags for HTTPS.
type tlsFlags struct {
	domains                 []string
	email, directory, cache string
	cert, key               string
	redirect                optionalAddress
	subdomains              bool
}

func (t *tlsFlags) add(c *shell.Command) {
	f := c.Flags()
	f.StringSliceVar(&t.domains, "acme", nil, "serve HTTPS for this `DOMAIN`, with a certificate from Let's Encrypt; repeatable; then --addr defaults to :443 and --redirect-addr to :80")
	f.StringVar(&t.email, "acme-email", "", "the email address to which Let's Encrypt writes")
	f.StringVar(&t.directory, "acme-directory", "", "the `URL` of another certificate authority with ACME")
	f.StringVar(&t.cache, "acme-cache", "", "the directory for ACME certificates (default: certificates, in the data directory)")
	f.StringVar(&t.cert, "tls-cert", "", "serve HTTPS with the certificate in this `FILE`, which is reloaded when it changes")
	f.StringVar(&t.key, "tls-key", "", "the `FILE` with the key of the certificate")
	f.Var(&t.redirect, "redirect-addr", "an address for plain HTTP that redirects to HTTPS; empty for none")
	f.BoolVar(&t.subdomains, "hsts-subdomains", false, "tell browsers to use HTTPS for all subdomains, too")
}

// check rejects contradictory flags.
func (t *tlsFlags) check() error {
	acme, files := len(t.domains) > 0, t.cert != "" || t.key != ""
	switch {
	case acme && files:
		return errors.New("--acme and --tls-cert cannot be combined: use one of them")
	case files && (t.cert == "" || t.key == ""):
		return errors.New("--tls-cert and --tls-key must be given together")
	case !acme && (t.email != "" || t.directory != "" || t.cache != ""):
		return errors.New("--acme-email, --acme-directory and --acme-cache need --acme")
	case !acme && !files && t.redirect.address != "":
		return errors.New("--redirect-addr needs --acme or --tls-cert")
	}
	return nil
}

// source returns the source of the certificates, or nil for a site without TLS.
func (t *tlsFlags) source(c *shell.Command, log *slog.Logger) (certificates.Source, error) {
	switch {
	case len(t.domains) > 0:
		cache, err := t.cacheDir(c)
		if err != nil {
			return nil, err
		}
		// Certificates that root wrote into another user's directory would be unreadable for that
		// user.
		if dirOwner, err := owner.Of(filepath.Dir(cache)); err == nil && dirOwner.Another() {
			return nil, dirOwner.Refuse()
		}
		source, err := certificates.NewACME(certificates.ACMEOptions{
			Domains: t.domains, Email: t.email, Directory: t.directory, Cache: cache, Logger: log,
		})
		if err != nil {
			return nil, shell.Usage(errors.New("--acme: " + shell.OneLine(err)))
		}
		return source, nil
	case t.cert != "":
		return certificates.NewFiles(t.cert, t.key, log)
	}
	return nil, nil
}

// cacheDir returns the directory for ACME certificates: in the data directory of an embedded
// server, or where that directory would be.
func (t *tlsFlags) cacheDir(c *shell.Command) (string, error) {
	if t.cache != "" {
		return t.cache, nil
	}
	config, err := store.Parse(c.Redis)
	if err != nil {
		return "", err
	}
	dir := config.Dir
	if config.Kind != store.Embedded {
		dir, _, _ = strings.Cut(c.Getenv("STATE_DIRECTORY"), ":") // set by systemd for services
	}
	if dir == "" {
		if dir, err = store.DefaultDir(c.Getenv); err != nil {
			return "", shell.Hint(err, "Name a directory for certificates with --acme-cache.")
		}
	}
	return filepath.Join(dir, "certificates"), nil
}

// port returns the port of an address to which requests are redirected, or 443 if it has none.
func port(addr net.Addr) string {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "443"
	}
	return port
}

const (
	// orderTime bounds the wait for the first certificate of a domain.
	orderTime = 2 * time.Minute
	// orderPause is the pause before an order is retried; the pause doubles up to maxPause. Let's
	// Encrypt allows five failures an hour for a name.
	orderPause, maxPause = 5 * time.Minute, time.Hour
)

// orderCertificates obtains the certificates of all domains, so that no visitor has to wait for a
// certificate, and failures are logged at startup. Failed orders are retried.
func orderCertificates(ctx context.Context, addr net.Addr, domains []string) {
	var wg sync.WaitGroup
	for _, domain := range domains {
		wg.Go(func() {
			for pause := orderPause; !hasCertificate(ctx, addr, domain); pause = min(2*pause, maxPause) {
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return
				}
			}
		})
	}
	wg.Wait()
}

// hasCertificate connects to the site for a domain, as a visitor does, and reports whether there is
// a certificate.
func hasCertificate(ctx context.Context, addr net.Addr, domain string) bool {
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{
		ServerName: domain, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, // no data is sent or read
	}}
	conn, err := dialer.DialContext(ctx, addr.Network(), addr.String())
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
