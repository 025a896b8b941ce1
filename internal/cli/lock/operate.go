package lock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"retwis/internal/cli/shell"
	"retwis/redlock"
)

// watchLock prints who holds a name, and each change of it, until the command is
// stopped.
func watchLock(ctx context.Context, c *shell.Command, m *redlock.Manager, name string) error {
	for status, err := range m.Watch(ctx, name) {
		if err != nil {
			return badName(err)
		}
		if err := printChange(c, newLockStatus(m, name, status)); err != nil {
			return err
		}
	}
	return nil
}

func printChange(c *shell.Command, s *lockStatus) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	if c.JSON {
		return json.NewEncoder(c.Stdout).Encode(struct {
			Time time.Time `json:"time"`
			*lockStatus
		}{now, s})
	}
	what := s.verdict(0)
	switch {
	case s.Held:
		what = fmt.Sprintf("%q is held by %s", s.Name, s.heldBy())
	case !s.Undecided && !s.NotLock:
		what = fmt.Sprintf("%q is free", s.Name)
	}
	_, err := fmt.Fprintf(c.Stdout, "%s %s\n", now.Format(time.RFC3339Nano), what)
	return err
}

// breakLock frees a name. The exit code says whether it was held.
func breakLock(ctx context.Context, c *shell.Command, m *redlock.Manager, name string) error {
	status, err := m.Break(ctx, name)
	if err != nil {
		return notAcquired(err)
	}
	s := newLockStatus(m, name, status)
	switch {
	case c.JSON:
		err = json.NewEncoder(c.Stdout).Encode(s)
	case s.Held:
		_, err = fmt.Fprintf(c.Stdout, "%q was held by %s: it is free now\n", name, s.heldBy())
	default:
		_, err = fmt.Fprintf(c.Stdout, "%q was not held\n", name)
	}
	if err == nil && !s.Held {
		return shell.Exit(shell.ExitFailure, nil)
	}
	return err
}

// lockHealth is what --health prints as JSON.
type lockHealth struct {
	Votes  bool               `json:"votes"` // a majority does
	Quorum int                `json:"quorum"`
	Nodes  []lockServerHealth `json:"nodes"`
}

type lockServerHealth struct {
	Node        string     `json:"node"`
	Votes       bool       `json:"votes"`
	Since       *time.Time `json:"since,omitempty"`
	Quarantined int64      `json:"young_ms,omitempty"` // how long it does not vote yet
	TTL         int64      `json:"longest_ttl_ms,omitempty"`
	Error       string     `json:"error,omitempty"`
}

// showHealth prints which servers vote. The exit code says whether a majority does.
func showHealth(ctx context.Context, c *shell.Command, m *redlock.Manager) error {
	nodes, err := m.Health(ctx)
	if err != nil {
		return err
	}
	var h lockHealth
	h.Quorum, _ = m.Quorum()
	voting := 0
	for _, n := range nodes {
		one := lockServerHealth{Node: n.Node, Votes: n.Votes, Quarantined: n.Quarantined.Milliseconds(), TTL: n.TTL.Milliseconds()}
		if !n.Since.IsZero() {
			since := n.Since.UTC()
			one.Since = &since
		}
		if n.Err != nil {
			one.Error = shell.OneLine(n.Err)
		}
		if n.Votes {
			voting++
		}
		h.Nodes = append(h.Nodes, one)
	}
	h.Votes = voting >= h.Quorum
	if c.JSON {
		err = json.NewEncoder(c.Stdout).Encode(h)
	} else {
		err = h.print(c.Stdout, voting)
	}
	if err == nil && !h.Votes {
		return shell.Exit(exitNotAcquired, nil)
	}
	return err
}

func (h *lockHealth) print(out io.Writer, voting int) error {
	var errs []error
	line := func(format string, args ...any) {
		_, err := fmt.Fprintf(out, format+"\n", args...)
		errs = append(errs, err)
	}
	for _, n := range h.Nodes {
		what := "votes"
		switch {
		case n.Error != "":
			what = n.Error
		case !n.Votes:
			what = fmt.Sprintf("quarantined: does not vote for another %v", time.Duration(n.Quarantined)*time.Millisecond)
		case n.Since != nil:
			what += " since " + n.Since.Format(time.RFC3339)
		}
		if n.TTL > 0 {
			what += fmt.Sprintf(", longest TTL in use: %v", time.Duration(n.TTL)*time.Millisecond)
		}
		line("%s: %s", n.Node, what)
	}
	line("%d of %d servers vote: it takes %d", voting, len(h.Nodes), h.Quorum)
	return errors.Join(errs...)
}

func trustServers(ctx context.Context, c *shell.Command, m *redlock.Manager) error {
	if err := m.SkipQuarantine(ctx); err != nil {
		return err
	}
	_, nodes := m.Quorum()
	_, err := fmt.Fprintf(c.Stdout, "%s from now on\n", shell.Plural(nodes, "server votes", "servers vote"))
	return err
}
