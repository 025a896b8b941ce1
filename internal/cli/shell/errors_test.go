package shell

import (
	"errors"
	"fmt"
	"testing"
)

func TestOneLine(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"the port is taken":               errors.New("the port is taken"),
		"no directory":                    errors.New("store: no directory"),
		"redis://db: no route":            errors.New("store: redisserver: redis://db: no route"),
		"it failed; and could not be put": errors.Join(errors.New("social: it failed"), errors.New("store: and could not be put")),
		"open: store: as it is":           fmt.Errorf("open: %w", errors.New("store: as it is")),
	} {
		if got := OneLine(err); got != want {
			t.Errorf("OneLine(%v) = %q, want %q", err, got, want)
		}
	}
}
