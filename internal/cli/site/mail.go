package site

import (
	"cmp"
	"errors"

	"retwis/internal/cli/shell"
	"retwis/internal/mail"
)

// AddMail adds the flags of the mail server.
func AddMail(c *shell.Command) {
	c.Flags().StringVar(&c.SMTP, "smtp", "", "the `URL` of a mail server: smtp://USER:PASSWORD@HOST[:587] or smtps://…[:465], with ?from=ADDRESS; without one users have no e-mail addresses")
	c.Flags().StringVar(&c.Base, "base-url", "", "the public `URL` of the site, to which the links in mails lead")
}

// openMail opens the mail server; nil for none.
func openMail(c *shell.Command) (*mail.Server, error) {
	if c.Flags().Lookup("smtp") == nil {
		return nil, nil
	}
	address := cmp.Or(c.SMTP, c.Getenv(shell.Variable("smtp")))
	if address == "" {
		return nil, nil
	}
	base := cmp.Or(c.Base, c.Getenv(shell.Variable("base-url")))
	if base == "" {
		return nil, shell.Usage(errors.New("--smtp needs --base-url, the public address of the site, such as https://retwis.example.com"))
	}
	server, err := mail.Open(address, base)
	if err != nil {
		return nil, shell.Usage(err)
	}
	return server, nil
}
