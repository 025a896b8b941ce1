package require

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// failures records the failure messages of a check.
type failures struct {
	testing.TB
	messages []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}

func (f *failures) Fatalf(format string, args ...any) { f.Errorf("fatal: "+format, args...) }

func TestRequire(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("read: %w", io.EOF)
	var none error
	for name, test := range map[string]struct {
		check func(T)
		want  string // part of the message; empty if the check passes
	}{
		"ok":             {func(t T) { OK(t)(1, none) }, ""},
		"an error":       {func(t T) { OK(t)(1, wrapped) }, "fatal: read: EOF"},
		"fails":          {func(t T) { Fails(t, io.EOF, "read")(wrapped) }, ""},
		"does not fail":  {func(t T) { Fails(t, io.EOF)(1, none) }, "error <nil>, want EOF"},
		"another error":  {func(t T) { Fails(t, io.EOF)(errors.New("x")) }, "error x, want EOF"},
		"missing text":   {func(t T) { Fails(t, io.EOF, "read", "write")(wrapped) }, `does not contain "write"`},
		"equal number":   {func(t T) { Gives(t, 3)(int64(3), nil) }, ""},
		"another number": {func(t T) { Gives(t, 3)(4, nil) }, "4, want 3"},
		"equal as text":  {func(t T) { Gives(t, []string{"a", "b"})([]string{"a b"}, nil) }, "want"},
		"with an error":  {func(t T) { Gives(t, 3)(3, wrapped) }, "error read: EOF"},
	} {
		f := failures{TB: t}
		test.check(&f)
		if got := strings.Join(f.messages, ""); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: reported %q, want %q", name, got, test.want)
		}
	}
}
