package shell

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"retwis/internal/redis/store"
)

// Variables set the flags that are missing from the command line. The error names the first invalid
// variable.
func TestSetFromEnv(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		env  map[string]string
		want string // admin address, users and demo; or the error
	}{
		"nothing":              {want: ":9090 100 false"},
		"variables":            {env: map[string]string{"RETWIS_ADMIN_ADDR": ":1", "RETWIS_USERS": "7", "RETWIS_DEMO": "1"}, want: ":1 7 true"},
		"flags win":            {args: []string{"--users=8", "--demo=false"}, env: map[string]string{"RETWIS_USERS": "7", "RETWIS_DEMO": "1"}, want: ":9090 8 false"},
		"empty flag":           {args: []string{"--admin-addr="}, env: map[string]string{"RETWIS_ADMIN_ADDR": ":1"}, want: " 100 false"},
		"empty variable":       {env: map[string]string{"RETWIS_USERS": ""}, want: ":9090 100 false"},
		"no variable for help": {env: map[string]string{"RETWIS_HELP": "1"}, want: ":9090 100 false"},
		"not a number":         {env: map[string]string{"RETWIS_USERS": "7x"}, want: `invalid value "7x" of the variable RETWIS_USERS: use a whole number, such as 10`},
		"not a choice":         {env: map[string]string{"RETWIS_LOG_LEVEL": "loud"}, want: `invalid value "loud" of the variable RETWIS_LOG_LEVEL: use one of info, debug`},
		"invalid, with a flag": {args: []string{"--users=8"}, env: map[string]string{"RETWIS_USERS": "7x"}, want: ":9090 8 false"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			admin := flags.String("admin-addr", ":9090", "")
			level := Choice{"info", []string{"info", "debug"}}
			flags.Var(&level, "log-level", "")
			users := flags.Int("users", 100, "")
			demo := flags.Bool("demo", false, "")
			flags.Bool("help", false, "")
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			c := New(Env{Getenv: func(name string) string { return test.env[name] }}, &cobra.Command{})
			err := c.setFromEnv(flags, func(flag string) bool { return flag != "help" })
			got := fmt.Sprintf("%s %d %t", *admin, *users, *demo)
			if err != nil {
				got = err.Error()
				if usage := new(usageError); !errors.As(err, &usage) {
					t.Errorf("%T is not a usage error", err)
				}
			}
			if got != test.want {
				t.Errorf("flags = %q, want %q", got, test.want)
			}
		})
	}
}

func TestMaxMemory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"auto": 0, "none": store.NoMemoryLimit, "2GB": 2 << 30, "512mb": 512 << 20} {
		var m maxMemory
		if err := m.Set(text); err != nil || m.bytes != want {
			t.Errorf("%s: %d, %v; want %d", text, m.bytes, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "1MB", "much", "60%"} {
		if err := new(maxMemory).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if limit := store.DefaultMaxMemory(); limit < minMemory {
		t.Errorf("the default is %d, want at least %d", limit, minMemory)
	}
}
