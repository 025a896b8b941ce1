package lock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"retwis/internal/cli/shell"
)

// lockFlags are the flags of retwis lock.
type lockFlags struct {
	nodes, nodeArgs               []string // each element of nodeArgs may hold several URLs, separated by commas
	ttl, wait, grace, nodeTimeout time.Duration
	maxTime                       time.Duration
	owner                         string
	noWait, fencing               bool
	// Actions that replace running a command.
	show, watch, breaks, health, trust bool
}

// mode returns the flag that replaces running a command, or "".
func (flags *lockFlags) mode() (string, error) {
	mode := ""
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--show", flags.show},
		{"--watch", flags.watch},
		{"--break", flags.breaks},
		{"--health", flags.health},
		{"--trust", flags.trust},
	} {
		switch {
		case f.set && mode != "":
			return "", fmt.Errorf("%s and %s cannot be combined: use one at a time", mode, f.name)
		case f.set:
			mode = f.name
		}
	}
	return mode, nil
}

func (flags *lockFlags) add(c *shell.Command) {
	f := c.Flags()
	f.SetInterspersed(false) // what follows NAME belongs to the command
	c.AddRedis()
	f.Lookup("redis").Usage = "the `URL` of the database that keeps the lock, if no --node is given"
	// Not a StringSlice: its error messages would reveal passwords.
	f.StringArrayVar(&flags.nodeArgs, "node", nil, "the `URL` of one of several independent servers; repeat it, or separate them by commas")
	f.DurationVar(&flags.ttl, "ttl", 10*time.Second, "how long the lock outlives a holder that dies")
	f.DurationVar(&flags.wait, "wait", 30*time.Second, "how long to wait for the lock")
	f.BoolVar(&flags.noWait, "no-wait", false, "try once, and give up if the lock is held")
	f.BoolVar(&flags.fencing, "fencing", false, "give the command a token that grows with every lock: RETWIS_LOCK_TOKEN")
	f.DurationVar(&flags.grace, "grace", 5*time.Second, "the time from SIGTERM to SIGKILL when the lock is lost, or --max-time is over")
	f.DurationVar(&flags.maxTime, "max-time", 0, "how long COMMAND may run under the lock; then the command is ended, and the exit code is 124 (default no limit)")
	f.StringVar(&flags.owner, "owner", "", "a `text`, without secrets, that --show prints with the host and process (default the name of COMMAND)")
	f.DurationVar(&flags.nodeTimeout, "node-timeout", 0, "how long to wait for a reply from one server (default 50ms, 1s with --no-wait, at most a quarter of --ttl)")
	f.BoolVar(&flags.show, "show", false, "show who holds NAME, on which servers and for how long")
	f.BoolVar(&flags.watch, "watch", false, "show who holds NAME, and each change, until interrupted")
	f.BoolVar(&flags.breaks, "break", false, "free NAME, whichever process holds it, for the next process")
	f.BoolVar(&flags.health, "health", false, "show which servers vote, since when, and the longest --ttl in use on each")
	f.BoolVar(&flags.trust, "trust", false, "let recently started servers vote at once; URLs of servers may follow")
	c.AddJSON("print the result of --show, --watch, --break or --health as JSON")
	c.FromEnv("show", "watch", "break", "health", "trust")
}

// resolve rejects contradictory flags, and lets flags on the command line override variables that
// contradict them.
func (flags *lockFlags) resolve(onCommandLine func(string) bool, json bool) error {
	for _, urls := range flags.nodeArgs {
		for url := range strings.SplitSeq(urls, ",") {
			if url = strings.TrimSpace(url); url != "" {
				flags.nodes = append(flags.nodes, url)
			}
		}
	}
	switch {
	case len(flags.nodeArgs) > 0 && len(flags.nodes) == 0:
		return errors.New("--node names no server")
	case onCommandLine("node") && onCommandLine("redis"):
		return errors.New("--node and --redis cannot be combined: use one")
	case onCommandLine("wait") && onCommandLine("no-wait") && flags.noWait:
		return errors.New("--wait and --no-wait contradict each other: use one")
	case json && onCommandLine("json") && !flags.show && !flags.watch && !flags.breaks && !flags.health:
		return errors.New("--json needs --show, --watch, --break or --health")
	}
	if onCommandLine("redis") {
		flags.nodes = nil
	}
	if onCommandLine("wait") {
		flags.noWait = false
	}
	return nil
}

// check rejects arguments that do not match the flags, and values out of range.
func (flags *lockFlags) check(args []string) error {
	mode, err := flags.mode()
	minArgs := 2
	switch mode {
	case "--show", "--watch", "--break":
		minArgs = 1
	case "--health", "--trust":
		minArgs = 0
	}
	switch {
	case err != nil:
		return err
	case flags.health && len(args) > 0:
		return fmt.Errorf("--health takes no name, not %q", args[0])
	case flags.trust && len(args) > 0 && !strings.Contains(args[0], "://"):
		return fmt.Errorf("--trust takes the URLs of servers, not %q", args[0])
	case minArgs == 1 && len(args) == 0:
		return fmt.Errorf("name the lock: retwis lock %s NAME", mode)
	case minArgs > 0 && len(args) == 0:
		return errors.New("name the lock: retwis lock NAME -- COMMAND")
	case minArgs > 0 && args[0] == "":
		return errors.New("the name of the lock is empty")
	case minArgs == 1 && len(args) > 1:
		return fmt.Errorf("%s takes one name, so %q is unexpected; flags come before the name", mode, args[1])
	case minArgs == 2 && (len(args) == 1 || len(args) == 2 && args[1] == "--"):
		return fmt.Errorf("say what to run under %q: retwis lock NAME -- COMMAND", args[0])
	case minArgs == 2 && len(args[1]) > 1 && args[1][0] == '-' && args[1] != "--":
		return fmt.Errorf("%q comes after the name: flags of retwis lock come before it, and the command after --", args[1])
	case flags.ttl < 10*time.Millisecond || flags.ttl%time.Millisecond != 0:
		return fmt.Errorf("--ttl is %v: it must be whole milliseconds, at least 10", flags.ttl)
	case flags.ttl > 24*time.Hour:
		return fmt.Errorf("--ttl is %v: it can be 24h at most; the lock is extended as long as the command runs", flags.ttl)
	case flags.wait < 0:
		return fmt.Errorf("--wait is %v: it cannot be negative", flags.wait)
	case flags.wait == 0 && !flags.noWait:
		return errors.New("--wait must be more than 0: use --no-wait to try once")
	case flags.maxTime < 0:
		return fmt.Errorf("--max-time is %v: it cannot be negative", flags.maxTime)
	case flags.grace < 0:
		return fmt.Errorf("--grace is %v: it cannot be negative", flags.grace)
	case flags.nodeTimeout < 0:
		return fmt.Errorf("--node-timeout is %v: it cannot be negative", flags.nodeTimeout)
	}
	return nil
}
