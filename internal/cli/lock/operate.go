package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/redlock"
)

// watchLock prints who holds a name, and each change of it, until the command is
// stopped.
func watchLock(cmd *cobra.Command, m *redlock.Manager, name string, asJSON bool) error {
	out := cmd.OutOrStdout()
	for status, err := range m.Watch(cmd.Context(), name) {
		if err != nil {
			return badName(err)
		}
		if err := printChange(out, newLockStatus(m, name, status), asJSON); err != nil {
			return err
		}
	}
	return nil
}

func printChange(out io.Writer, s *lockStatus, asJSON bool) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	if asJSON {
		return json.NewEncoder(out).Encode(struct {
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
	_, err := fmt.Fprintf(out, "%s %s\n", now.Format(time.RFC3339Nano), what)
	return err
}

// breakLock frees a name. The exit code says whether it was held.
func breakLock(cmd *cobra.Command, m *redlock.Manager, name string, asJSON bool) error {
	status, err := m.Break(cmd.Context(), name)
	if err != nil {
		return notHad(err)
	}
	s, out := newLockStatus(m, name, status), cmd.OutOrStdout()
	switch {
	case asJSON:
		err = json.NewEncoder(out).Encode(s)
	case s.Held:
		_, err = fmt.Fprintf(out, "%q was held by %s: it is free for the next\n", name, s.heldBy())
	default:
		_, err = fmt.Fprintf(out, "%q was not held\n", name)
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
	Node  string     `json:"node"`
	Votes bool       `json:"votes"`
	Since *time.Time `json:"since,omitempty"`
	Young int64      `json:"young_ms,omitempty"` // for so long it does not vote
	TTL   int64      `json:"longest_ttl_ms,omitempty"`
	Error string     `json:"error,omitempty"`
}

// showHealth prints which servers vote. The exit code says whether a majority does.
func showHealth(cmd *cobra.Command, m *redlock.Manager, asJSON bool) error {
	nodes, err := m.Health(cmd.Context())
	if err != nil {
		return err
	}
	var h lockHealth
	h.Quorum, _ = m.Quorum()
	voting := 0
	for _, n := range nodes {
		one := lockServerHealth{Node: n.Node, Votes: n.Votes, Young: n.Quarantined.Milliseconds(), TTL: n.TTL.Milliseconds()}
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
	if asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(h)
	} else {
		err = h.print(cmd.OutOrStdout(), voting)
	}
	if err == nil && !h.Votes {
		return shell.Exit(exitNotHad, nil)
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
			what = fmt.Sprintf("quarantined: does not vote for another %v", time.Duration(n.Young)*time.Millisecond)
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
