package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDeps runs scripts/deps on simulated machines: PATH holds only programs that record how they
// were called and package managers that "install" a file.
func TestDeps(t *testing.T) {
	t.Parallel()
	const (
		missing = "retwis: a Redis or Valkey server is missing: install Valkey (https://valkey.io/download) or Redis (https://redis.io/downloads), 6.2 or newer, and try again"
		tooOld  = "is version 6.0.16, and Retwis needs 6.2 or newer"
	)
	for name, test := range map[string]struct {
		machine machine
		args    []string
		code    int
		calls   []string // in this order; other calls may come in between
		never   []string
		last    string // part of the last line of output; empty if there must be no output
	}{
		"valkey present":       {machine: machine{programs: []string{"valkey-server=8.1.3"}}},
		"redis present":        {machine: machine{programs: []string{"redis-server=6.2.14"}}},
		"named":                {machine: machine{programs: []string{"my-redis=7.2.0"}, env: []string{"RETWIS_REDIS_SERVER=my-redis"}}},
		"named but missing":    {machine: machine{programs: []string{"redis-server=7.0.0"}, env: []string{"RETWIS_REDIS_SERVER=my-redis"}}, code: 1, last: "RETWIS_REDIS_SERVER names my-redis, which is not a program"},
		"named but old":        {machine: machine{programs: []string{"my-redis=6.0.16"}, env: []string{"RETWIS_REDIS_SERVER=my-redis"}}, code: 1, last: tooOld},
		"old":                  {machine: machine{programs: []string{"redis-server=6.0.16"}, manager: "apt-get"}, code: 1, never: []string{"apt-get"}, last: tooOld},
		"not a server":         {machine: machine{programs: []string{"redis-server=?"}}, code: 1, last: "--version prints no version"},
		"no package manager":   {code: 1, last: missing},
		"chromium, no manager": {args: []string{"chromium"}, code: 1, last: "retwis: Chromium (for the browser tests) is missing: install Chromium"},
		"chromium present":     {machine: machine{programs: []string{"chromium=120"}}, args: []string{"chromium"}},
		"unknown program":      {args: []string{"coffee"}, code: 2, last: `unknown program "coffee"`},
		"apt-get": {
			machine: machine{manager: "apt-get", packages: "valkey-server redis-server", version: "8.1.3"},
			calls:   []string{"apt-get -qq update", "apt-cache show valkey-server", "apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends valkey-server"},
			never:   []string{"sudo"},
			last:    "installing the package valkey-server: apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends valkey-server",
		},
		"apt-get without valkey": {
			machine: machine{manager: "apt-get", packages: "redis-server", version: "7.0.15"},
			calls:   []string{"apt-get -qq update", "apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends redis-server"},
			never:   []string{"install --no-install-recommends valkey-server"},
			last:    "installing the package redis-server: apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends redis-server",
		},
		"apt-get has an old version": {
			machine: machine{manager: "apt-get", packages: "redis-server", version: "6.0.16"},
			code:    1,
			last:    tooOld,
		},
		"apt-get with sudo": {
			machine: machine{manager: "apt-get", packages: "valkey-server", version: "8.1.3", uid: "1000", programs: []string{"sudo=1"}},
			calls:   []string{"sudo apt-get -qq update", "sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends valkey-server"},
			last:    "installing the package valkey-server: sudo apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends valkey-server",
		},
		"apt-get without sudo": {
			machine: machine{manager: "apt-get", packages: "valkey-server", uid: "1000"},
			code:    1,
			never:   []string{"apt-get"},
			last:    "run this as root: apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends valkey-server",
		},
		"apt-get has no package": {machine: machine{manager: "apt-get"}, code: 1, last: missing},
		"apt-get fails": {
			machine: machine{manager: "apt-get", packages: "valkey-server redis-server", broken: true},
			calls:   []string{"install --no-install-recommends valkey-server", "install --no-install-recommends redis-server"},
			code:    1,
			last:    missing,
		},
		"dnf": {
			machine: machine{manager: "dnf", packages: "valkey", version: "8.0.0", uid: "1000", programs: []string{"sudo=1"}},
			calls:   []string{"sudo dnf -q -y install valkey"},
			last:    "installing",
		},
		"apk": {
			machine: machine{manager: "apk", packages: "redis", version: "7.2.1"},
			calls:   []string{"apk add --no-cache redis"},
			never:   []string{"apk add --no-cache valkey"},
			last:    "installing",
		},
		"pacman": {
			machine: machine{manager: "pacman", packages: "valkey", version: "8.0.0"},
			calls:   []string{"pacman -S --noconfirm --needed valkey"},
			never:   []string{"pacman -Sy"},
			last:    "installing",
		},
		"brew without sudo": {
			machine: machine{manager: "brew", packages: "valkey", version: "8.0.0", uid: "501", programs: []string{"sudo=1"}},
			calls:   []string{"brew install --quiet valkey"},
			never:   []string{"sudo"},
			last:    "installing",
		},
		"chromium from apt-get": {
			machine: machine{manager: "apt-get", packages: "chromium", version: "120"},
			args:    []string{"chromium"},
			calls:   []string{"apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends chromium"},
			last:    "installing the package chromium: apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends chromium",
		},
		"all present": {
			machine: machine{programs: []string{"redis-server=7.0.15", "curl=8", "chromium=120", "npm=10"}},
			args:    []string{"server", "curl", "chromium", "npm"},
		},
		"two missing": {
			machine: machine{manager: "dnf", packages: "valkey curl", version: "8.0.0"},
			args:    []string{"server", "curl"},
			calls:   []string{"dnf -q -y install valkey", "dnf -q -y install curl"},
			last:    "installing the package curl: dnf -q -y install curl",
		},
		"second program unknown": {
			machine: machine{manager: "dnf", packages: "valkey"},
			args:    []string{"server", "coffee"},
			code:    2,
			never:   []string{"dnf"},
			last:    `unknown program "coffee"`,
		},
		"curl, no manager": {args: []string{"curl"}, code: 1, last: "retwis: curl (for the commands in the documentation) is missing: install curl"},
		"npm, no manager":  {args: []string{"npm"}, code: 1, last: "retwis: npm (for the browser tests) is missing: install Node.js"},
		"npm from apk": {
			machine: machine{manager: "apk", packages: "npm", version: "10"},
			args:    []string{"npm"},
			calls:   []string{"apk add --no-cache npm"},
			last:    "installing the package npm: apk add --no-cache npm",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, output, calls := test.machine.deps(t, test.args...)
			if code != test.code {
				t.Errorf("exit code %d, want %d\n%s", code, test.code, output)
			}
			if test.last == "" && output != "" {
				t.Errorf("unexpected output:\n%s", output)
			}
			var lines []string
			for line := range strings.SplitSeq(strings.TrimSpace(output), "\n") {
				if command, ok := strings.CutPrefix(line, installs); !ok {
					lines = append(lines, line)
				} else if len(lines) == 0 || !strings.HasSuffix(lines[len(lines)-1], command) {
					t.Errorf("%s is not printed before it runs; output:\n%s", command, output)
				}
			}
			if last := lines[len(lines)-1]; !strings.Contains(last, test.last) {
				t.Errorf("the last line is\n%s\nwant it to contain\n%s", last, test.last)
			}
			remaining := calls
			for _, call := range test.calls {
				_, after, found := strings.Cut(remaining, call)
				if !found {
					t.Errorf("%s is missing or out of order; the calls were\n%s", call, calls)
				}
				remaining = after
			}
			for _, call := range test.never {
				if strings.Contains(calls, call) {
					t.Errorf("unexpected call: %s; the calls were\n%s", call, calls)
				}
			}
		})
	}
}

// TestDepsStartsNoService installs a server on a machine whose packages may start services. It
// checks that scripts/deps disables the start of services during the installation and enables it
// again afterwards.
func TestDepsStartsNoService(t *testing.T) {
	t.Parallel()
	const policy = "/usr/sbin/policy-rc.d"
	for name, test := range map[string]struct {
		broken, present bool
		want            []string
	}{
		"installed":       {want: []string{"tee " + policy, "chmod 755 " + policy, "apt-get install", "rm -f " + policy}},
		"fails":           {broken: true, want: []string{"tee " + policy, "chmod 755 " + policy, "apt-get install", "rm -f " + policy}},
		"existing policy": {present: true, want: []string{"apt-get install"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine{manager: "apt-get", packages: "valkey-server", version: "8.1.3", broken: test.broken}
			// The machine that runs the test may have its own policy.
			m.script = func(text string) string {
				return strings.Replace(text, `[ ! -e "$policy" ]`, map[bool]string{true: "false", false: "true"}[test.present], 1)
			}
			_, output, calls := m.deps(t)
			var got []string
			for _, call := range strings.Split(calls, "\n") {
				switch {
				case strings.Contains(call, policy):
					got = append(got, call)
				case strings.HasPrefix(call, "apt-get") && strings.Contains(call, " install "):
					got = append(got, "apt-get install")
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("calls %q, want %q; output:\n%s", got, test.want, output)
			}
		})
	}
}

// installs is the prefix that the simulated package manager prints before an installation command.
const installs = "now: "

// machine describes a simulated machine.
type machine struct {
	programs []string // name=version
	manager  string   // package manager
	packages string   // packages known to the manager
	version  string   // version that the manager installs
	broken   bool     // installing fails
	uid      string   // 0 when empty
	env      []string
	script   func(string) string // edits scripts/deps before it runs
}

// deps runs scripts/deps on the machine. It returns the script's exit code, its output, and the
// commands that it ran, one per line.
func (m machine) deps(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	program := func(name, body string) {
		t.Helper()
		text := "#!/bin/sh\necho \"${0##*/} $*\" >>" + calls + "\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := func(version string) string {
		return "[ \"$1\" = --version ] && echo 'Redis server v=" + version + " sha=0 bits=64'"
	}
	for _, p := range m.programs {
		name, version, _ := strings.Cut(p, "=")
		switch {
		case name == "sudo":
			program(name, `"$@"`)
		case version == "?":
			program(name, "exit 1")
		default:
			program(name, server(version))
		}
	}
	uid := m.uid
	if uid == "" {
		uid = "0"
	}
	program("id", "echo "+uid)
	program("env", `while case $1 in *=*) ;; *) false ;; esac; do shift; done; "$@"`)
	// Stubs for programs that would change the machine that runs the test.
	program("tee", "/bin/cat >/dev/null")
	for _, name := range []string{"chmod", "rm", "systemctl"} {
		program(name, "")
	}
	if m.manager != "" {
		program("installed", server(m.version))
		// The last argument is the package. A query succeeds if the package is known, and apk
		// prints its name.
		program(m.manager, `for package in "$@"; do :; done
known() { case " `+m.packages+` " in *" $package "*) ;; *) return 1 ;; esac; }
case " $* " in
*" update "*) ;;
*" install "* | *" add "* | *" -S "*)
	echo "`+installs+`${0##*/} $*" >&2
	known && `+map[bool]string{true: "false", false: "true"}[m.broken]+` || exit 1
	case $package in *valkey*) name=valkey-server ;; *redis*) name=redis-server ;; *) name=$package ;; esac
	/bin/cp -p "${0%/*}/installed" "${0%/*}/$name" ;;
*" search "*) known && echo "$package-1.0" ;;
*) known ;;
esac`)
		program("apt-cache", `case " `+m.packages+` " in *" $2 "*) ;; *) exit 100 ;; esac`)
	}
	// Read through os.ReadFile, so that the test cache is invalidated when the script changes.
	text, err := os.ReadFile("../../scripts/deps")
	if err != nil {
		t.Fatal(err)
	}
	if m.script != nil {
		text = []byte(m.script(string(text)))
	}
	script := filepath.Join(dir, "deps")
	if err := os.WriteFile(script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{script}, args...)...)
	cmd.Env = append([]string{"PATH=" + dir}, m.env...)
	output, err := cmd.CombinedOutput()
	code := 0
	if err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	called, err := os.ReadFile(calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return code, string(output), string(called)
}
