package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"
	"retwis/maintain"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// fakeTarget is a target with three entries. If its key is "broken", one of them is stale.
type fakeTarget struct {
	verb  Verb
	notes string
}

func (f *fakeTarget) AddFlags(c *Command) { c.Flags().StringVar(&f.notes, "notes", "", "") }

func (f *fakeTarget) PrintNotes(c *Command) error {
	_, err := fmt.Fprint(c.Stdout, f.notes)
	return err
}

func (f *fakeTarget) Run(ctx context.Context, db *store.Store, key string, src Source, opt Options) (Report, error) {
	if err := db.Client().Do(ctx, db.Client().B().Ping().Build()).Error(); err != nil {
		return Report{}, err
	}
	r := Report{Checked: 3}
	if src.Inputs != nil {
		if err := readThings(src.Inputs); err != nil {
			return r, err
		}
	}
	if key == "broken" {
		r.Stale = 1
		r.Examples = []maintain.Problem{{Kind: maintain.Stale, ID: "a", Found: "x=1", Want: "x=\x1b"}}
		if f.verb == Repair {
			r.Repaired = 1
		}
	}
	if opt.Examples < 0 {
		r.Examples = nil
	}
	if opt.Rate == 7 {
		return r, fmt.Errorf("index: rate %d from %q", opt.Rate, src.Pattern)
	}
	return r, nil
}

func readThings(in *Inputs) error {
	for record, err := range in.Records([]string{"x"}) {
		switch {
		case err != nil:
			return err
		case record.Texts[0] == "bad":
			if err := in.Reject(record.File, record.Line, errors.New("it is bad")); err != nil {
				return err
			}
		default:
			in.Accept()
		}
	}
	return nil
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	noun := func(env Env) *cobra.Command {
		help := Help{Short: "Short", Long: "Long", Example: "Example"}
		return Group(&cobra.Command{Use: "noun"}, Maintenance{
			Key: "KEY", Unit: "things", From: "thing:*",
			Help: map[Verb]Help{Verify: help, Repair: help, Rebuild: help, Adopt: help},
			New:  func(verb Verb) Target { return &fakeTarget{verb: verb} },
		}.Commands(env)...)
	}
	for name, test := range map[string]struct {
		args   string
		stdin  string
		code   int
		stdout string
		stderr string
	}{
		"verify":            {args: "verify good", stdout: "checked: 3, missing: 0, stale: 0, dangling: 0, repaired: 0\n"},
		"verify a problem":  {args: "verify broken", code: 1, stdout: "stale \"a\", found x=1, expected \"x=\\x1b\"\nchecked: 3, missing: 0, stale: 1, dangling: 0, repaired: 0\n"},
		"without examples":  {args: "verify broken --examples 0", code: 1, stdout: "checked: 3, missing: 0, stale: 1, dangling: 0, repaired: 0\n"},
		"verify as JSON":    {args: "verify broken --json", code: 1, stdout: `{"problem":"stale","id":"a","found":"x=1","expected":"x=\u001b"}` + "\n" + `{"checked":3,"missing":0,"stale":1,"dangling":0,"repaired":0}` + "\n"},
		"notes":             {args: "verify good --notes N", stdout: "Nchecked: 3, missing: 0, stale: 0, dangling: 0, repaired: 0\n"},
		"repair":            {args: "repair broken --examples 0", stdout: "checked: 3, missing: 0, stale: 1, dangling: 0, repaired: 1\n"},
		"a failure":         {args: "verify good --rate 7 --from t:*", code: 1, stderr: "retwis: rate 7 from \"t:*\"\n"},
		"verify no files":   {args: "verify good file.csv", code: 2, stderr: "retwis: unexpected argument \"file.csv\": program noun verify KEY\nSee \"program noun verify --help\".\n"},
		"rebuild":           {args: "rebuild good --from thing:*", stdout: "things: 3, bad: 0\n"},
		"rebuild strictly":  {args: "rebuild good", stdin: "id,x\na,1\nb,bad\n", code: 1, stderr: "retwis: stdin:3: it is bad\nNothing was changed. Correct the line, or leave out bad lines with --skip-bad.\n"},
		"rebuild from CSV":  {args: "rebuild good --skip-bad", stdin: "id,x\na,1\nb,bad\n", code: 1, stdout: "things: 1, bad: 1\n", stderr: "stdin:3: it is bad\n"},
		"two sources":       {args: "rebuild good file.csv --from thing:*", code: 2, stderr: "retwis: --from and files are two sources: use one\nSee \"program noun rebuild --help\".\n"},
		"rebuild, examples": {args: "rebuild good --examples 1", code: 2, stderr: "retwis: unknown flag: --examples\nSee \"program noun rebuild --help\".\n"},
		"adopt":             {args: "adopt good", stdout: "adopted: 3, left as they are: 0\n"},
		"adopt a part":      {args: "adopt broken --json --examples 0", code: 1, stdout: `{"adopted":3,"left":1}` + "\n"},
		"adopt from":        {args: "adopt good --from x:*", code: 2, stderr: "retwis: unknown flag: --from\nSee \"program noun adopt --help\".\n"},
		"no key":            {args: "repair", code: 2, stderr: "retwis: missing argument: program noun repair KEY\nSee \"program noun repair --help\".\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := Env{
				Getenv: func(name string) string { return map[string]string{"RETWIS_REDIS": db.URL()}[name] },
				Stdin:  strings.NewReader(test.stdin),
			}
			code, stdout, stderr := runTest(t.Context(), noun, env, append([]string{"noun"}, strings.Fields(test.args)...)...)
			if code != test.code || stdout != test.stdout || stderr != test.stderr {
				t.Errorf("exit code %d, want %d\nstdout %q\nwant   %q\nstderr %q\nwant   %q", code, test.code, stdout, test.stdout, stderr, test.stderr)
			}
		})
	}
}
