// Package mail sends emails through the site's mail server: in plain text, and over TLS unless that
// server is on the same machine.
package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"retwis/internal/fold"
)

const (
	// dialTimeout limits connecting, and sendTimeout the whole transmission of an email.
	dialTimeout = 10 * time.Second
	sendTimeout = 30 * time.Second
)

// ErrRefused means that a server rejects the email permanently, for example because the address
// does not exist.
var ErrRefused = errors.New("mail: permanently refused")

// ErrDeferred means that a server does not accept this email now, but may accept other emails.
var ErrDeferred = errors.New("mail: temporarily refused")

// Server is a mail server and the site that sends through it. It is safe for concurrent use.
type Server struct {
	host, user, password string
	port                 int
	implicit, local      bool // implicit: TLS from the first byte; local: same machine, no TLS
	from                 string
	base                 *url.URL

	roots *x509.CertPool // nil for the root certificates of the machine
}

// Open returns the mail server at an address such as smtp://user:password@host:587, without
// connecting: see Check. smtps:// uses TLS from the first byte; smtp:// uses STARTTLS, or no TLS on
// the same machine. The parameter from is the sender. base is the public address of the site, to
// which the links in emails lead. Errors never contain the password.
func Open(address, base string) (*Server, error) {
	site, err := url.Parse(base)
	if err != nil || site.Scheme != "http" && site.Scheme != "https" || site.Hostname() == "" || strings.Trim(site.Path, "/") != "" || site.RawQuery != "" || site.User != nil {
		return nil, fmt.Errorf("%q is not the public address of a site: write it like https://retwis.example.com", base)
	}
	u, err := url.Parse(address)
	if err != nil { // the text of err would contain the password
		return nil, errors.New("the address of the mail server cannot be read: write it like smtp://user:password@host:587")
	}
	s := &Server{host: u.Hostname(), port: 587, implicit: u.Scheme == "smtps", base: &url.URL{Scheme: site.Scheme, Host: site.Host}}
	if u.Scheme != "smtp" && u.Scheme != "smtps" || s.host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("%s names no mail server: write it like smtp://user:password@host:587", u.Redacted())
	}
	if s.implicit {
		s.port = 465
	}
	if u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil || s.port < 1 || s.port > 65535 {
			return nil, fmt.Errorf("%s is not a port: use a number from 1 to 65535", u.Port())
		}
	}
	ip, err := netip.ParseAddr(s.host)
	s.local = !s.implicit && (s.host == "localhost" || err == nil && ip.IsLoopback())
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
	}
	query := u.Query()
	for name := range query {
		if name != "from" {
			return nil, fmt.Errorf("%s has the parameter %s, which does not exist: the only one is from=ADDRESS", u.Redacted(), name)
		}
	}
	s.from = cmp.Or(query.Get("from"), "retwis@"+site.Hostname())
	if !IsAddress(s.from) {
		return nil, fmt.Errorf("%q cannot be the sender of emails: add ?from=ADDRESS", s.from)
	}
	return s, nil
}

// String names the server, without a password.
func (s *Server) String() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// Link returns the public address of a path of the site.
func (s *Server) Link(path string) string { return s.base.String() + path }

// maxAddress limits the length of an address, in bytes (RFC 5321).
const maxAddress = 254

// Address returns the canonical form of a typed address: in lower case, with its domain in ASCII
// form, which every server accepts. ok is false for anything that is not the address of a mailbox
// on the internet: addresses with a name, a comment or quotes, with characters before the @ that
// only some servers accept, or on a machine without a domain.
func Address(typed string) (address string, ok bool) {
	typed = strings.TrimSpace(typed)
	at := strings.LastIndexByte(typed, '@')
	if at < 1 || len(typed) > maxTyped || !fold.IsASCII(typed[:at]) || typed[0] == '-' {
		return "", false
	}
	domain := fold.Host(typed[at+1:])
	address = strings.ToLower(typed[:at]) + "@" + domain
	return address, IsAddress(address) && isDomain(domain)
}

// maxTyped limits the length of the input: the ASCII form of a domain can be longer or shorter.
const maxTyped = 4 * maxAddress

// isDomain reports whether a host is below a top-level domain.
func isDomain(host string) bool {
	last := strings.LastIndexByte(host, '.')
	return last > 0 && strings.Trim(host[last+1:], "0123456789") != "" && fold.IsASCII(host)
}

// IsAddress reports whether text is an address without a name, a comment or quotes.
func IsAddress(text string) bool {
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Address == text && len(text) <= maxAddress && fold.IsASCII(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune(`"<>(),;:\[]`, r)
	})
}

// Message is an email. Control characters in its header fields are replaced by spaces.
type Message struct {
	Site        string // name of the sender
	To          string
	Subject     string
	Text        string
	Unsubscribe string // link that unsubscribes from emails of this kind; may be empty
}

// Send sends an email. It returns ErrRefused if retrying is pointless, and ErrDeferred if only this
// email has to wait. Errors never contain the address, or the server's response, which may repeat
// the address. After an error the email may have arrived nevertheless.
func (s *Server) Send(ctx context.Context, m Message) error {
	if !IsAddress(m.To) {
		return fmt.Errorf("%w: the recipient is not a valid address", ErrRefused)
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&mail.Address{Name: line(m.Site), Address: s.from})
	msg.ToMailAddress(&mail.Address{Address: m.To})
	msg.Subject(line(m.Subject))
	msg.SetDate()
	msg.SetMessageIDWithValue(strings.ToLower(rand.Text()) + "@" + s.base.Hostname())
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Unsubscribe != "" {
		msg.SetGenHeaderPreformatted(gomail.HeaderListUnsubscribe, "<"+m.Unsubscribe+">")
		msg.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	err := s.withClient(ctx, func(ctx context.Context, c *gomail.Client) error { return c.DialAndSendWithContext(ctx, msg) })
	if msg.IsDelivered() {
		return nil // after a later failure, the email must not be sent again
	}
	return err
}

// Check connects to the server and logs in, without sending anything.
func (s *Server) Check(ctx context.Context) error {
	return s.withClient(ctx, func(ctx context.Context, c *gomail.Client) error {
		conn, err := c.DialToSMTPClientWithContext(ctx)
		if err == nil {
			err = c.CloseWithSMTPClient(conn)
		}
		return err
	})
}

// withClient calls do with a client, whose connection ends after sendTimeout at the latest.
func (s *Server) withClient(ctx context.Context, do func(context.Context, *gomail.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	end, _ := ctx.Deadline()
	var open net.Conn // the library does not close the connection if the log-in fails
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		open = conn
		if err := conn.SetDeadline(end); err != nil {
			return nil, err
		}
		if s.implicit {
			return tls.Client(bounded{conn}, s.tls()), nil
		}
		return bounded{conn}, nil
	}
	client, err := gomail.NewClient(s.host, s.options(dial)...)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	err = do(ctx, client)
	if open != nil {
		_ = open.Close()
	}
	return s.translate(err)
}

// bounded is a connection with a fixed deadline. The library would set a later deadline after the
// log-in.
type bounded struct{ net.Conn }

// SetDeadline implements [net.Conn].
func (bounded) SetDeadline(time.Time) error { return nil }

func (s *Server) tls() *tls.Config {
	return &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12, RootCAs: s.roots}
}

func (s *Server) options(dial gomail.DialContextFunc) []gomail.Option {
	policy, auth := gomail.TLSMandatory, gomail.SMTPAuthAutoDiscover
	switch {
	case s.implicit: // TLS has already started, and the log-in detects it
		policy = gomail.TLSOpportunistic
	case s.local:
		policy, auth = gomail.NoTLS, gomail.SMTPAuthPlainNoEnc
	}
	all := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTimeout(sendTimeout), gomail.WithDialContextFunc(dial), gomail.WithoutNoop(),
		gomail.WithHELO(s.base.Hostname()), gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(s.tls()),
	}
	if s.user != "" {
		all = append(all, gomail.WithSMTPAuth(auth), gomail.WithUsername(s.user), gomail.WithPassword(s.password))
	}
	return all
}

// translate marks the rejection of an email with ErrRefused or ErrDeferred, and omits the server's
// response from all errors.
func (s *Server) translate(err error) error {
	var refused *gomail.SendError
	var reply *textproto.Error
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.ErrorCode() != 0 && slices.Contains(aboutMail, refused.Reason):
		kind := ErrDeferred
		if refused.ErrorCode() >= 500 {
			kind = ErrRefused
		}
		return fmt.Errorf("%w: %s: status %d after %s", kind, s, refused.ErrorCode(), refused.Reason)
	case errors.As(err, &refused) && refused.ErrorCode() != 0:
		return fmt.Errorf("mail: %s: status %d after %s", s, refused.ErrorCode(), refused.Reason)
	case errors.As(err, &refused):
		return fmt.Errorf("mail: %s: the connection has ended after %s", s, refused.Reason)
	case errors.As(err, &reply):
		return fmt.Errorf("mail: %s: status %d while connecting or logging in", s, reply.Code)
	case errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("mail: %s did not answer in time", s)
	}
	return fmt.Errorf("mail: %s: %w", s, err) // an error before the email was sent
}

// aboutMail lists the steps at which a rejection concerns the email and not this site.
var aboutMail = []gomail.SendErrReason{gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose}

// line returns text as one line, for a header.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
