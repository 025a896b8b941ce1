package doctor

import (
	"context"

	"retwis/internal/cli/shell"
	"retwis/internal/mail"
)

// aboutMail judges the mail server by a connection, over which nothing is sent.
func aboutMail(ctx context.Context, server *mail.Server) finding {
	f := finding{Status: OK, What: "mail", Found: server.String()}
	if err := server.Check(ctx); err != nil {
		f.Status, f.Found = Problem, shell.OneLine(err)
		f.Why = "nobody gets a mail: mails wait, and are dropped after an hour or a day"
		f.Do = "look at the address, the name and the password in --smtp or RETWIS_SMTP, and whether this machine may reach the server"
	}
	return f
}
