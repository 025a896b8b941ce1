package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"retwis/internal/social"
)

// run runs a command as a person would, and returns what it wrote.
func run(t *testing.T, getenv func(string) string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	code = Run(t.Context(), args, Env{Getenv: getenv, Stdout: &out, Stderr: &err, Version: "v1.2.3", Commit: "abc"})
	return code, out.String(), err.String()
}

func TestVersionIsTheLinkers(t *testing.T) {
	t.Parallel()
	code, out, _ := run(t, nil, "version")
	if code != exitOK || !strings.HasPrefix(out, "retwis v1.2.3\ncommit: abc\n") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

// Each flag says in the help by which variable it can be set, unless it changes what
// the command does.
func TestHelpNamesEveryVariable(t *testing.T) {
	t.Parallel()
	root := newRoot(Env{Getenv: func(string) string { return "" }})
	for name, actions := range map[string][]string{"serve": nil, "seed": nil, "check": checkActions} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s has no long help or no example", name)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			if named := strings.Contains(f.Usage, " ["+variable(f.Name)+"]"); named == slices.Contains(actions, f.Name) {
				t.Errorf("%s --%s: %q: names its variable: %v", name, f.Name, f.Usage, named)
			}
		})
	}
}

// A command that is stopped says that and no more.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, stderr bytes.Buffer
	code := Run(ctx, []string{"check", "--redis", "redis://127.0.0.1:1"}, Env{
		Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &stderr,
	})
	if code != exitFailure || stderr.String() != "retwis: stopped before it was done\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"the port is taken":               errors.New("the port is taken"),
		"no directory":                    errors.New("store: no directory"),
		"redis://db: no route":            errors.New("store: redisserver: redis://db: no route"),
		"it failed; and could not be put": errors.Join(errors.New("social: it failed"), errors.New("store: and could not be put")),
		"open: store: as it is":           fmt.Errorf("open: %w", errors.New("store: as it is")),
	} {
		if got := oneLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Variables set what no flag has, and the first that cannot be read is named.
func TestSetFromEnv(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		env  map[string]string
		want string // the admin address, users and demo; or the error
	}{
		"nothing":               {want: ":9090 100 false"},
		"variables":             {env: map[string]string{"RETWIS_ADMIN_ADDR": ":1", "RETWIS_USERS": "7", "RETWIS_DEMO": "1"}, want: ":1 7 true"},
		"flags win":             {args: []string{"--users=8", "--demo=false"}, env: map[string]string{"RETWIS_USERS": "7", "RETWIS_DEMO": "1"}, want: ":9090 8 false"},
		"a flag takes back":     {args: []string{"--admin-addr="}, env: map[string]string{"RETWIS_ADMIN_ADDR": ":1"}, want: " 100 false"},
		"empty is not set":      {env: map[string]string{"RETWIS_USERS": ""}, want: ":9090 100 false"},
		"no variable for help":  {env: map[string]string{"RETWIS_HELP": "1"}, want: ":9090 100 false"},
		"not a number":          {env: map[string]string{"RETWIS_USERS": "7x"}, want: `invalid value "7x" of the variable RETWIS_USERS: strconv.ParseInt: parsing "7x": invalid syntax`},
		"not an address":        {env: map[string]string{"RETWIS_ADMIN_ADDR": "9090"}, want: `invalid value "9090" of the variable RETWIS_ADMIN_ADDR: use host:port, or :port for every interface`},
		"hidden by a good flag": {args: []string{"--users=8"}, env: map[string]string{"RETWIS_USERS": "7x"}, want: ":9090 8 false"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			admin := optionalAddress{":9090"}
			flags.Var(&admin, "admin-addr", "")
			users := flags.Int("users", 100, "")
			demo := flags.Bool("demo", false, "")
			flags.Bool("help", false, "")
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			err := setFromEnv(flags, func(name string) string { return test.env[name] })
			got := fmt.Sprintf("%s %d %t", admin.String(), *users, *demo)
			if err != nil {
				got = err.Error()
				if usage := new(usageError); !errors.As(err, &usage) {
					t.Errorf("%T is no wrong usage", err)
				}
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

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

// A flag given wins over its variable, whatever that says.
func TestFlagWinsOverVariable(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string {
		if name == "RETWIS_USERS" {
			return "a lot"
		}
		return ""
	}
	code, _, stderr := run(t, getenv, "seed", "--redis", "nothing")
	if code != exitUsage || !strings.Contains(stderr, `invalid value "a lot" of the variable RETWIS_USERS`) {
		t.Errorf("without the flag: exit code %d, stderr %q", code, stderr)
	}
	code, _, stderr = run(t, getenv, "seed", "--redis", "nothing", "--users", "3")
	if code != exitFailure || strings.Contains(stderr, "RETWIS_USERS") {
		t.Errorf("with the flag: exit code %d, stderr %q", code, stderr)
	}
}
