package shell

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// testCommand returns a command that writes to out.
func testCommand(out *bytes.Buffer) *Command {
	return New(Env{Stdout: out, Stderr: out}, &cobra.Command{Use: "test"})
}

func TestPrinter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		json bool
		want string
	}{
		"text": {want: "id    price\nNr.1     10\n日本  1,000\n\"\\n\"      0\n"},
		"JSON": {json: true, want: `{"id":"Nr.1"}` + "\n" + `{"id":"日本"}` + "\n" + `{"id":"\n"}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := testCommand(&out)
			c.JSON = test.json
			p := c.NewPrinter(false, true)
			if err := p.Row("id", "price"); err != nil {
				t.Fatal(err)
			}
			for id, price := range pairs("Nr.1", "10", "日本", "1,000", "\n", "0") {
				if err := p.Print(Object{{"id", id}}, id, price); err != nil {
					t.Fatal(err)
				}
			}
			if out.Len() > 0 {
				t.Errorf("printed before the end: %q", out.String())
			}
			if err := p.End(); err != nil || out.String() != test.want {
				t.Errorf("End: %v; output %q, want %q", err, out.String(), test.want)
			}
		})
	}
}

func pairs(texts ...string) func(yield func(a, b string) bool) {
	return func(yield func(a, b string) bool) {
		for i := 0; i < len(texts); i += 2 {
			if !yield(texts[i], texts[i+1]) {
				return
			}
		}
	}
}

// A long table is printed in parts while it is read, each part with its own column widths.
func TestPrinterStreams(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := testCommand(&out).NewPrinter(true)
	for i := range 2 * tableRows {
		if err := p.Row(fmt.Sprint(i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() == 0 {
		t.Error("nothing is printed before the end")
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if lines[7] != "  7  x" || lines[tableRows+7] != fmt.Sprint(tableRows+7)+"  x" {
		t.Errorf("lines %q and %q, each part must have its own column widths", lines[7], lines[tableRows+7])
	}
}
