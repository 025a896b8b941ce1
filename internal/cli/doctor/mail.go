package doctor

import (
	"context"

	"retwis/internal/cli/shell"
	"retwis/internal/mail"
)

// checkMail connects to the mail server without sending anything.
func checkMail(ctx context.Context, server *mail.Server) finding {
	f := finding{Status: OK, What: "mail", Found: server.String()}
	if err := server.Check(ctx); err != nil {
		f.Status, f.Found = Problem, shell.OneLine(err)
		f.Why = "no mail is delivered: messages are queued, and dropped after an hour or a day"
		f.Do = "check the address, user name and password in --smtp or RETWIS_SMTP, and that this machine can reach the server"
	}
	return f
}
