package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TLSServer is a server that also accepts TLS, from clients with a certificate.
type TLSServer struct {
	*Server
	Address     string // host:port
	Certificate string // file of the self-signed certificate, for the server and for clients
	Key         string // file of the key
}

// URL returns the URL of the server for internal/redis/redisurl, with all TLS parameters.
func (s *TLSServer) URL() string {
	return "rediss://" + s.Address + "?ca=" + s.Certificate + "&cert=" + s.Certificate + "&key=" + s.Key
}

// TLS returns a server for this test only that accepts TLS on a port of 127.0.0.1.
func TLS(t testing.TB, config ...string) *TLSServer {
	t.Helper()
	certificate, key := selfSigned(t)
	port := FreePort(t)
	return &TLSServer{
		Server: Own(t, append([]string{
			fmt.Sprintf("tls-port %d", port), "tls-cert-file " + certificate, "tls-key-file " + key,
			"tls-ca-cert-file " + certificate, "tls-auth-clients yes",
		}, config...)...),
		Address: fmt.Sprintf("127.0.0.1:%d", port), Certificate: certificate, Key: key,
	}
}

// selfSigned creates a certificate for 127.0.0.1 and its key.
func selfSigned(t testing.TB) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}
