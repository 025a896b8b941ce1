package site

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"retwis/internal/social"
)

// InvalidInput formats the error of invalid input for the command line: the site shows
// its reason as a sentence beside the field.
func InvalidInput(err error) error {
	var invalid *social.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	first, size := utf8.DecodeRuneInString(invalid.Reason)
	reason := string(unicode.ToLower(first)) + strings.TrimSuffix(invalid.Reason[size:], ".")
	return fmt.Errorf("%s: %s", invalid.Field, reason)
}
