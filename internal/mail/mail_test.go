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

// Open rejects invalid addresses, and the error does not contain the password.
func TestOpen(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://mail.example.com":                        "names no mail server",
		"smtp://":                                        "names no mail server",
		"smtp://ada:secret@mail.example.com/x":           "names no mail server",
		"smtp://ada:secret@mail.example.com?to=x":        "has the parameter to, which does not exist: the only one is from=",
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
			t.Errorf("Open accepted the site URL %q", site)
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

// Send delivers an email unchanged after a log-in. Only a local server needs no encryption.
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
				t.Errorf("received %+v, want the address and text of %+v", got, m)
			}
			if logins := server.Logins(); len(logins) != 2 || logins[0] != "ada secret" {
				t.Errorf("logins %q, want \"ada secret\" twice", logins)
			}
		})
	}
}

// Send sends nothing to a server whose certificate is not trusted.
func TestUnencrypted(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t)
	s := open(t, "smtp://ada:secret@"+server.Address)
	s.local = false // s does not trust the server's certificate
	if err := s.Send(t.Context(), hello); err == nil || len(server.Logins()) > 0 || len(server.Mails()) > 0 {
		t.Errorf("Send: %v, want an error; mails %v", err, server.Mails())
	}
}

// The site name, subject and recipient of a message cannot add headers or commands.
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
		t.Errorf("received %+v, want no additional headers", got)
	}
	if subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject")); err != nil || subject != "Hé  Bcc: d@example.net X: 1    body" {
		t.Errorf("subject %q, %v", subject, err)
	}
	if from, err := got.Header.AddressList("From"); err != nil || len(from) != 1 || from[0].Address != "retwis@retwis.example" {
		t.Errorf("sender %v, %v", from, err)
	}
	m.To = "ada@example.net>\r\nRCPT TO:<ben@example.net"
	if err := s.Send(t.Context(), m); err == nil || len(server.Mails()) > 1 {
		t.Errorf("Send: %v, want an error; mails %v", err, server.Mails())
	}
}

// Send returns ErrRefused for a permanent rejection of the email and ErrDeferred for a temporary
// rejection. Errors do not contain the text of the server's response.
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
				t.Errorf("Send: %v, want %v", err, c.want)
			}
		})
	}
}

// Send to a silent server fails when the context expires, and Check of a stopped server fails.
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
		t.Errorf("silent server: %v", err)
	}
	_ = listener.Close()
	if err := s.Check(t.Context()); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("stopped server: %v", err)
	}
}
