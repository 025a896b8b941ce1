package require

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// failures records what a test would report.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func (f *failures) Fatalf(format string, args ...any) { f.Errorf("fatal: "+format, args...) }

func TestRequire(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("read: %w", io.EOF)
	var none error
	for name, test := range map[string]struct {
		check func(T)
		want  string // is reported
	}{
		"ok":             {func(t T) { OK(t)(1, none) }, ""},
		"an error":       {func(t T) { OK(t)(1, wrapped) }, "fatal: read: EOF"},
		"fails":          {func(t T) { Fails(t, io.EOF, "read")(wrapped) }, ""},
		"does not fail":  {func(t T) { Fails(t, io.EOF)(1, none) }, "error <nil>, want EOF"},
		"another error":  {func(t T) { Fails(t, io.EOF)(errors.New("x")) }, "error x, want EOF"},
		"says something": {func(t T) { Fails(t, io.EOF, "read", "write")(wrapped) }, `does not contain "write"`},
		"a number":       {func(t T) { Gives(t, 3)(int64(3), nil) }, ""},
		"another number": {func(t T) { Gives(t, 3)(4, nil) }, "4, want 3"},
		"texts":          {func(t T) { Gives(t, []string{"a", "b"})([]string{"a b"}, nil) }, "want"},
		"with an error":  {func(t T) { Gives(t, 3)(3, wrapped) }, "error read: EOF"},
	} {
		f := failures{TB: t}
		test.check(&f)
		if said := strings.Join(f.said, ""); (said == "") != (test.want == "") || !strings.Contains(said, test.want) {
			t.Errorf("%s: %q", name, said)
		}
	}
}
