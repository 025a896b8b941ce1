package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"testing"
)

func TestIsRefusal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		fmt.Errorf("dial: %w", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a"}),
		&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, // bad certificate
	} {
		if !isRefusal(err, true) {
			t.Errorf("%T is not a refusal", err)
		}
	}
	for _, err := range []error{&net.OpError{Op: "dial", Err: errors.New("refused")}, context.DeadlineExceeded, nil} {
		if isRefusal(err, true) {
			t.Errorf("%v is a refusal", err)
		}
	}
}
