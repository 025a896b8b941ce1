package site

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"retwis/internal/cli/shell"
	"retwis/internal/social"
)

// InvalidInput formats the error for invalid input for the command line. On the site, the reason of
// the error is a sentence next to the field.
func InvalidInput(err error) error {
	var invalid *social.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	reason := invalid.Reason.String()
	first, size := utf8.DecodeRuneInString(reason)
	reason = string(unicode.ToLower(first)) + strings.TrimSuffix(reason[size:], ".")
	return fmt.Errorf("%s: %s", invalid.Field, reason)
}

// explain converts errors of the site for the command line: an invalid flag value becomes a usage
// error.
func explain(c *shell.Command, err error) error {
	var forbidden *social.ForbiddenError
	if errors.As(err, &forbidden) {
		return errors.New(forbidden.Reason.String())
	}
	var invalid *social.InvalidError
	if errors.As(err, &invalid) && c.Flags().Lookup(invalid.Field) != nil {
		return shell.Usage(fmt.Errorf("--%s: %s", invalid.Field, invalid.Reason))
	}
	return InvalidInput(err)
}
