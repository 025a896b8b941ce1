package site

import (
	"context"
	"testing"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// A flag overrides its variable, even if the flag is empty: a copy of a site can run without the
// mail server. Links in emails use the first name of --acme in every command.
func TestMailFlags(t *testing.T) {
	t.Parallel()
	type variables map[string]string
	for name, test := range map[string]struct {
		env  variables
		args []string
		mail string // the mail server, and a link to /x
	}{
		"nothing":   {variables{"RETWIS_BASE_URL": "https://a.example"}, nil, ""},
		"variables": {variables{"RETWIS_SMTP": "smtp://mail.example", "RETWIS_BASE_URL": "https://a.example"}, nil, "mail.example:587 https://a.example/x"},
		"flags":     {variables{"RETWIS_SMTP": "smtp://mail.example", "RETWIS_BASE_URL": "https://a.example"}, []string{"--smtp", "smtp://other.example", "--base-url", "https://b.example"}, "other.example:587 https://b.example/x"},
		"a copy":    {variables{"RETWIS_SMTP": "smtp://mail.example", "RETWIS_BASE_URL": "https://a.example"}, []string{"--smtp", ""}, ""},
		"names":     {variables{"RETWIS_SMTP": "smtp://mail.example", "RETWIS_ACME": "a.example,b.example"}, nil, "mail.example:587 https://a.example/x"},
		"both":      {variables{"RETWIS_SMTP": "smtp://mail.example", "RETWIS_ACME": "a.example", "RETWIS_BASE_URL": "https://b.example"}, nil, "mail.example:587 https://b.example/x"},
	} {
		for _, serves := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := shell.New(shell.Env{Getenv: func(name string) string { return test.env[name] }}, &cobra.Command{Use: "test", SilenceErrors: true, SilenceUsage: true})
				AddMail(c)
				if serves {
					c.Flags().StringSlice("acme", nil, "")
					c.FromEnv()
				}
				got := ""
				cmd := c.Build(func(context.Context, []string) error {
					server, err := openMail(c)
					if server != nil {
						got = server.String() + " " + server.Link("/x")
					}
					return err
				})
				cmd.SetArgs(append([]string{}, test.args...)) // nil would stand for the arguments of the test binary
				if err := cmd.Execute(); err != nil || got != test.mail {
					t.Errorf("mail server and link %q, want %q; %v", got, test.mail, err)
				}
			})
		}
	}
}
