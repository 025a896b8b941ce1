// Package mailtest provides a mail server for tests.
package mailtest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Mail is a received mail.
type Mail struct {
	To     string
	Header mail.Header
	Text   string
}

// Link returns the path of the first link in an email whose path starts with path, or "".
func (m Mail) Link(path string) string {
	for word := range strings.FieldsSeq(m.Text) {
		if _, rest, ok := strings.Cut(word, "://"); ok {
			_, at, _ := strings.Cut(rest, "/")
			if strings.HasPrefix("/"+at, path) {
				return "/" + at
			}
		}
	}
	return ""
}

// Server is a mail server. The exported fields control its behavior. While the server runs, Set
// changes them.
type Server struct {
	Address string // host:port
	Roots   *x509.CertPool

	Login, Rcpt, Data error         // responses to a log-in, to a recipient and to an email
	RcptOnly          []string      // recipients to which Rcpt applies; empty for all
	Hold              chan struct{} // if not nil, each email waits to receive from it

	mu      sync.Mutex
	mails   []Mail
	logins  []string // "user password"
	arrived chan struct{}
	smtp    *smtp.Server
	tls     *tls.Config
	done    chan struct{}
}

// Refusal returns an error with an SMTP status.
func Refusal(status int) error {
	return &smtp.SMTPError{Code: status, EnhancedCode: smtp.NoEnhancedCode, Message: "about somebody@example.net"}
}

// Start starts a server on a port of this machine.
func Start(t testing.TB) *Server {
	t.Helper()
	s := New(t)
	s.Up(t, "127.0.0.1:0", false)
	return s
}

// New returns a server that is not running yet.
func New(t testing.TB) *Server {
	t.Helper()
	pages := httptest.NewTLSServer(nil)
	defer pages.Close()
	s := &Server{arrived: make(chan struct{}, 1), tls: &tls.Config{Certificates: pages.TLS.Certificates}, Roots: x509.NewCertPool()}
	s.Roots.AddCert(pages.Certificate())
	return s
}

// Up serves at an address, with TLS from the first byte if implicit is set, otherwise with STARTTLS.
func (s *Server) Up(t testing.TB, address string, implicit bool) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s.Address = listener.Addr().String()
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }))
	s.smtp.Domain, s.smtp.TLSConfig, s.smtp.AllowInsecureAuth, s.smtp.ErrorLog = "localhost", s.tls, true, silent{}
	if implicit {
		listener = tls.NewListener(listener, s.tls)
	}
	server, done := s.smtp, make(chan struct{})
	s.done = done
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(s.Down)
}

// Down stops the server.
func (s *Server) Down() {
	_ = s.smtp.Close()
	<-s.done
}

// Set changes how the server behaves.
func (s *Server) Set(change func(*Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// Mails returns the received emails.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Logins returns the log-ins, each as user and password.
func (s *Server) Logins() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logins)
}

// Wait waits until n emails have arrived, and returns email n.
func (s *Server) Wait(t testing.TB, n int) Mail {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		if all := s.Mails(); len(all) >= n {
			return all[n-1]
		}
		select {
		case <-s.arrived:
		case <-timeout:
			t.Fatalf("%d mails, want %d: %+v", len(s.Mails()), n, s.Mails())
		}
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

// session is an SMTP session.
type session struct {
	server *Server
	to     string
}

// AuthMechanisms implements [smtp.AuthSession].
func (*session) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements [smtp.AuthSession].
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		s.server.logins = append(s.server.logins, user+" "+password)
		return s.server.Login
	}), nil
}

// Mail implements [smtp.Session].
func (*session) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt implements [smtp.Session].
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.to = to
	if len(s.server.RcptOnly) > 0 && !slices.Contains(s.server.RcptOnly, to) {
		return nil
	}
	return s.server.Rcpt
}

// Data implements [smtp.Session].
func (s *session) Data(r io.Reader) error {
	msg, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(msg.Body)
	if err != nil {
		return err
	}
	if msg.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		if text, err = io.ReadAll(quotedprintable.NewReader(strings.NewReader(string(text)))); err != nil {
			return errors.New("the body is not quoted-printable")
		}
	}
	s.server.mu.Lock()
	hold := s.server.Hold
	s.server.mu.Unlock()
	if hold != nil {
		<-hold
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.Data != nil {
		return s.server.Data
	}
	s.server.mails = append(s.server.mails, Mail{To: s.to, Header: msg.Header, Text: strings.ReplaceAll(string(text), "\r\n", "\n")})
	select {
	case s.server.arrived <- struct{}{}:
	default:
	}
	return nil
}

// Reset implements [smtp.Session].
func (*session) Reset() {}

// Logout implements [smtp.Session].
func (*session) Logout() error { return nil }
