package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// tls returns the TLS configuration, or nil without TLS. Without a server name, the server's
// certificate must match the dialed host.
func (c Config) tls() (*tls.Config, error) {
	if !c.TLS {
		return nil, nil
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         c.ServerName,
		InsecureSkipVerify: c.SkipVerify, // if the URL has skip_verify=true
	}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("parameter ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("parameter ca: %s holds no certificate in PEM", c.CA)
		}
	} else if !c.SkipVerify {
		// Load the certificates now: reading hundreds of files on a busy disk takes seconds, which
		// would otherwise count towards the timeout for the server's answer.
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("certificates of this machine: %w", err)
		}
		config.RootCAs = roots
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("parameters cert and key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
