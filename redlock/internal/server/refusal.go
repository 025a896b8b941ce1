package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
)

// refusal is an error that a retry does not fix.
type refusal struct{ err error }

func (e refusal) Error() string { return e.err.Error() }

func (e refusal) Unwrap() error { return e.err }

func (e refusal) Is(target error) bool { return target == ErrRefused }

// refused marks an error that waiting does not change: missing permissions, a wrong password, an
// invalid certificate, or the wrong kind of server. standalone means that the client does not
// support failover; otherwise a read-only server may be a replica that is about to be promoted.
func refused(err error, standalone bool) error {
	if err == nil || !isRefusal(err, standalone) {
		return err
	}
	return refusal{err}
}

func isRefusal(err error, standalone bool) bool {
	var reply *rueidis.RedisError
	if errors.As(err, &reply) {
		text := reply.Error()
		switch {
		case rediserr.OfReply(text) == rediserr.Denied:
			return true
		case rediserr.Code(text) == "READONLY" || rediserr.Code(text) == "MOVED":
			return standalone
		}
		for _, part := range []string{"unknown command", "without any password configured", "DB index is out of range"} {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	var (
		verification *tls.CertificateVerificationError
		invalid      x509.CertificateInvalidError
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
		record       tls.RecordHeaderError
		alert        tls.AlertError
	)
	return errors.As(err, &verification) || errors.As(err, &invalid) || errors.As(err, &authority) ||
		errors.As(err, &hostname) || errors.As(err, &record) || errors.As(err, &alert)
}
