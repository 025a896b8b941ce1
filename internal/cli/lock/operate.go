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

// watchPause is the polling interval of --watch.
const watchPause = 250 * time.Millisecond

// watchLock prints who holds a name, and each change, until the command is interrupted. watchLock
// can miss a holder that has the lock for less than watchPause.
func watchLock(ctx context.Context, c *shell.Command, m *redlock.Manager, name string) error {
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	type seen struct {
		value              string
		undecided, notLock bool
	}
	var last *seen
	for {
		s, err := statusOf(ctx, m, name)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if now := (seen{string(s.Value), s.Undecided, s.NotLock}); last == nil || now != *last {
			last = &now
			if err := printChange(c, s); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
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

// breakLock frees a name. The exit code shows whether the name was held.
func breakLock(ctx context.Context, c *shell.Command, m *redlock.Manager, name string) error {
	status, err := m.Break(ctx, name)
	if err != nil {
		return notAcquired(err)
	}
	s := newLockStatus(name, status)
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
	Votes  bool               `json:"votes"` // a majority votes
	Quorum int                `json:"quorum"`
	Nodes  []lockServerHealth `json:"nodes"`
}

type lockServerHealth struct {
	Node        string     `json:"node"`
	Votes       bool       `json:"votes"`
	Since       *time.Time `json:"since,omitempty"`
	Quarantined int64      `json:"young_ms,omitempty"` // time until the server votes
	TTL         int64      `json:"longest_ttl_ms,omitempty"`
	Error       string     `json:"error,omitempty"`
}

// showHealth prints which servers vote. The exit code shows whether a majority votes.
func showHealth(ctx context.Context, c *shell.Command, m *redlock.Manager) error {
	status, err := m.Status(ctx, "")
	if err != nil {
		return err
	}
	h := lockHealth{Votes: status.Voting >= status.Quorum, Quorum: status.Quorum}
	for _, n := range status.Servers {
		server := lockServerHealth{Node: n.Node, Votes: n.Votes, Quarantined: n.Quarantined.Milliseconds(), TTL: n.LongestTTL.Milliseconds()}
		if !n.Since.IsZero() {
			since := n.Since.UTC()
			server.Since = &since
		}
		if n.Err != nil {
			server.Error = shell.OneLine(n.Err)
		}
		h.Nodes = append(h.Nodes, server)
	}
	if c.JSON {
		err = json.NewEncoder(c.Stdout).Encode(h)
	} else {
		err = h.print(c.Stdout, status.Voting)
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
	line("%d of %d servers vote; the quorum is %d", voting, len(h.Nodes), h.Quorum)
	return errors.Join(errs...)
}

func trustServers(ctx context.Context, c *shell.Command, m *redlock.Manager, servers int) error {
	if err := m.SkipQuarantine(ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "%s from now on\n", shell.Plural(servers, "server votes", "servers vote"))
	return err
}
