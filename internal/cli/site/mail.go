package site

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"retwis/internal/cli/shell"
	"retwis/internal/mail"
)

// AddMail adds the flags of the mail server.
func AddMail(c *shell.Command) {
	c.Flags().StringVar(&c.SMTP, "smtp", "", "the `URL` of a mail server: smtp://USER:PASSWORD@HOST[:587] or smtps://…[:465], with ?from=ADDRESS; without one users have no e-mail addresses")
	c.Flags().StringVar(&c.Base, "base-url", "", "the public `URL` of the site, for links in mails, feeds and invitations; the default is the address of each request")
}

// openMail opens the mail server, or returns nil if there is none.
func openMail(c *shell.Command) (*mail.Server, error) {
	if c.Flags().Lookup("smtp") == nil {
		return nil, nil
	}
	address := setting(c, "smtp", c.SMTP)
	if address == "" {
		return nil, nil
	}
	base, err := BaseURL(c)
	if err != nil {
		return nil, err
	}
	if base == "" {
		return nil, shell.Usage(errors.New("--smtp needs --base-url, the public address of the site, such as https://retwis.example.com"))
	}
	server, err := mail.Open(address, base)
	if err != nil {
		return nil, shell.Usage(err)
	}
	return server, nil
}

// BaseURL returns the public address of the site, such as https://retwis.example.com: --base-url,
// or the first name of --acme, or "" if neither is set.
func BaseURL(c *shell.Command) (string, error) {
	if base := setting(c, "base-url", c.Base); base != "" {
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
			return "", shell.Usage(fmt.Errorf("--base-url: %q is not the public address of a site, such as https://retwis.example.com", base))
		}
		return u.Scheme + "://" + u.Host, nil
	}
	names, err := c.Flags().GetStringSlice("acme")
	if err != nil { // the command does not serve
		names = strings.Split(c.Getenv(shell.Variable("acme")), ",")
	}
	if len(names) == 0 || names[0] == "" {
		return "", nil
	}
	return "https://" + names[0], nil
}

// setting returns the value of a flag or of its variable, even for a command whose flags have no
// variables. A flag takes precedence, even if it is empty.
func setting(c *shell.Command, flag, value string) string {
	if c.Flags().Changed(flag) {
		return value
	}
	return cmp.Or(value, c.Getenv(shell.Variable(flag)))
}
