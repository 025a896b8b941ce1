package mail

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"retwis/internal/mail/mailtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const base = "https://retwis.example"

func open(t *testing.T, address string) *Server {
	t.Helper()
	s, err := Open(address, base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var hello = Message{Site: "Lighthouse", To: "ada@example.net", Subject: "Hello", Text: "One line.\n.\nAnother one, with é.\n"}

// Invalid addresses are rejected, without showing their password.
func TestOpen(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://mail.example.com":                        "names no mail server",
		"smtp://":                                        "names no mail server",
		"smtp://ada:secret@mail.example.com/x":           "names no mail server",
		"smtp://ada:secret@mail.example.com?to=x":        "has the parameter to",
		"smtp://ada:secret@mail.example.com?from=x":      "cannot be the sender",
		"smtp://ada:secret@mail.example.com:99999999999": "port",
		"smtp://ada:sec%ret@mail.example.com":            "cannot be read",
	} {
		_, err := Open(address, base)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec%ret") {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	for _, site := range []string{"", "retwis.example", "ftp://retwis.example", "https://retwis.example/x", "https://u:p@retwis.example"} {
		if _, err := Open("smtp://mail.example.com", site); err == nil {
			t.Errorf("a site at %q", site)
		}
	}
	s := open(t, "smtp://ada:secret@mail.example.com")
	if s.String() != "mail.example.com:587" || s.Link("/home") != base+"/home" || s.from != "retwis@retwis.example" {
		t.Errorf("%s, %s, %s", s, s.Link("/home"), s.from)
	}
	if s := open(t, "smtps://mail.example.com?from=news@example.com"); s.port != 465 || s.from != "news@example.com" {
		t.Errorf("%s, %s", s, s.from)
	}
}

// A mail arrives as it was written: unencrypted only on this machine, and after a log-in.
func TestSend(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"local", "STARTTLS", "TLS"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := mailtest.New(t)
			server.Up(t, "127.0.0.1:0", kind == "TLS")
			scheme := map[bool]string{false: "smtp", true: "smtps"}[kind == "TLS"]
			s := open(t, scheme+"://ada:secret@"+server.Address)
			s.local, s.roots = kind == "local", server.Roots
			if err := s.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			m := hello
			m.Unsubscribe = base + "/unsubscribe/7.abc"
			if err := s.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			got := server.Mails()[0]
			for name, want := range map[string]string{
				"From": `"Lighthouse" <retwis@retwis.example>`, "To": "<ada@example.net>", "Subject": "Hello", "Auto-Submitted": "auto-generated",
				"List-Unsubscribe": "<" + m.Unsubscribe + ">", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
			} {
				if got.Header.Get(name) != want {
					t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
				}
			}
			if got.To != m.To || got.Text != m.Text || !strings.HasSuffix(got.Header.Get("Message-ID"), "@retwis.example>") {
				t.Errorf("%+v", got)
			}
			if logins := server.Logins(); len(logins) != 2 || logins[0] != "ada secret" {
				t.Errorf("%q", logins)
			}
		})
	}
}

// Nothing is sent over a connection that others can read.
func TestUnencrypted(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t)
	s := open(t, "smtp://ada:secret@"+server.Address)
	s.local = false // and the certificate is not trusted
	if err := s.Send(t.Context(), hello); err == nil || len(server.Logins()) > 0 || len(server.Mails()) > 0 {
		t.Errorf("%v, %v", err, server.Mails())
	}
}

// Message texts cannot add headers.
func TestHeaders(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t)
	s := open(t, "smtp://"+server.Address)
	m := hello
	m.Site, m.Subject = "\"A\", <b@example.net>\r\nBcc: c@example.net\r\n\r\n", "Hé\r\nBcc: d@example.net\nX: 1\r\n\r\nbody"
	if err := s.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := server.Mails()[0]
	if len(got.Header["Bcc"])+len(got.Header["X"]) > 0 || got.Text != m.Text {
		t.Errorf("%+v", got)
	}
	if subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject")); err != nil || subject != "Hé  Bcc: d@example.net X: 1    body" {
		t.Errorf("%q, %v", subject, err)
	}
	if from, err := got.Header.AddressList("From"); err != nil || len(from) != 1 || from[0].Address != "retwis@retwis.example" {
		t.Errorf("%v, %v", from, err)
	}
	m.To = "ada@example.net>\r\nRCPT TO:<ben@example.net"
	if err := s.Send(t.Context(), m); err == nil || len(server.Mails()) > 1 {
		t.Errorf("%v, %v", err, server.Mails())
	}
}

// A rejection is permanent if it is about the mail. Errors do not contain the server's response.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  func(*mailtest.Server, error)
		code int
		want error
	}{
		{func(s *mailtest.Server, err error) { s.Rcpt = err }, 550, ErrRefused},
		{func(s *mailtest.Server, err error) { s.Rcpt = err }, 450, ErrDeferred},
		{func(s *mailtest.Server, err error) { s.Data = err }, 554, ErrRefused},
		{func(s *mailtest.Server, err error) { s.Data = err }, 451, ErrDeferred},
		{func(s *mailtest.Server, err error) { s.Login = err }, 535, nil},
	} {
		t.Run(fmt.Sprint(c.code), func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t)
			server.Set(func(s *mailtest.Server) { c.set(s, mailtest.Refusal(c.code)) })
			err := open(t, "smtp://ada:secret@"+server.Address).Send(t.Context(), hello)
			if err == nil || errors.Is(err, ErrRefused) != (c.want == ErrRefused) || errors.Is(err, ErrDeferred) != (c.want == ErrDeferred) || !strings.Contains(err.Error(), fmt.Sprint(c.code)) || strings.Contains(err.Error(), "example.net") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A server that is down or silent causes an error in time.
func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, "smtp://"+listener.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Send(ctx, hello); err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("%v", err)
	}
	_ = listener.Close()
	if err := s.Check(t.Context()); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
}
