package site

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"retwis/internal/social"
)

// A sentence of the site is an error at the command line.
func TestInvalidInput(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("seed: %w", &social.InvalidError{Field: "password", Reason: "Use more. Or none."})
	if got := InvalidInput(err).Error(); got != "password: use more. Or none" {
		t.Errorf("%q", got)
	}
	if got := InvalidInput(context.Canceled); !errors.Is(got, context.Canceled) {
		t.Errorf("%v", got)
	}
}
