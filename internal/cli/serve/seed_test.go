package serve

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"retwis/internal/social"
)

// What the site would say beside a field is worded as an error here.
func TestInWords(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("seed: %w", &social.InvalidError{Field: "password", Reason: "Use more. Or none."})
	if got := inWords(err).Error(); got != "password: use more. Or none" {
		t.Errorf("%q", got)
	}
	if got := inWords(context.Canceled); !errors.Is(got, context.Canceled) {
		t.Errorf("%v", got)
	}
}
