package site

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/i18n"
	"retwis/internal/social"
)

// InvalidInput turns the reason of an InvalidError, a sentence on the site, into the style of error
// messages.
func TestInvalidInput(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("seed: %w", &social.InvalidError{Field: "password", Reason: i18n.T("Use more. Or none.")})
	if got := InvalidInput(err).Error(); got != "password: use more. Or none" {
		t.Errorf("InvalidInput = %q", got)
	}
	if got := InvalidInput(context.Canceled); !errors.Is(got, context.Canceled) {
		t.Errorf("InvalidInput = %v, want context.Canceled", got)
	}
}

// An error about a flag's value names the flag.
func TestExplain(t *testing.T) {
	t.Parallel()
	c := shell.New(shell.Env{}, &cobra.Command{Use: "role NAME"})
	c.Flags().String("note", "", "")
	for _, test := range []struct {
		err  error
		want string
		exit int
	}{
		{social.Invalid("note", "Use less."), "retwis: --note: Use less.\nSee \"role --help\".\n", shell.ExitUsage},
		{social.Invalid("username", "Use letters."), "retwis: username: use letters\n", shell.ExitFailure},
		{social.Forbidden("You are not an owner."), "retwis: You are not an owner.\n", shell.ExitFailure},
		{errors.New("broken"), "retwis: broken\n", shell.ExitFailure},
	} {
		var out strings.Builder
		exit := shell.PrintError(t.Context(), &out, "role", explain(c, test.err))
		if out.String() != test.want || exit != test.exit {
			t.Errorf("%v: %q, exit code %d; want %q, %d", test.err, out.String(), exit, test.want, test.exit)
		}
	}
}
