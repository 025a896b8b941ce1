package lock

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"retwis/internal/cli/shell"
	"retwis/redlock"
)

// lockStatus is what --show prints as JSON.
type lockStatus struct {
	Name shell.Text `json:"name"`
	Held bool       `json:"held"` // by a majority
	// Undecided is set if too few servers answered or vote: the lock could be held on a majority.
	Undecided bool `json:"undecided"`
	// NotLock is set if the key exists but is not a lock.
	NotLock bool             `json:"not_lock,omitempty"`
	Value   shell.Text       `json:"value,omitempty"`
	Owner   *lockOwner       `json:"owner,omitempty"`
	Quorum  int              `json:"quorum"`
	Nodes   []lockNodeStatus `json:"nodes"`
	ttl     time.Duration
}

// lockOwner describes the owner of a lock.
type lockOwner struct {
	Host  string     `json:"host"`
	PID   int        `json:"pid"`
	Since time.Time  `json:"since"`
	Text  shell.Text `json:"text"`
}

func newLockOwner(o redlock.Owner) *lockOwner {
	if o == (redlock.Owner{}) {
		return nil
	}
	return &lockOwner{o.Host, o.PID, o.Since.UTC(), shell.Text(o.Text)}
}

func (o *lockOwner) String() string {
	return fmt.Sprintf("%s (process %d on %s, since %s)", o.Text, o.PID, o.Host, o.Since.Format(time.RFC3339))
}

type lockNodeStatus struct {
	Node        string     `json:"node"`
	Value       shell.Text `json:"value,omitempty"`
	TTL         int64      `json:"ttl_ms,omitempty"`
	Foreign     bool       `json:"foreign,omitempty"` // held by another library or program
	Waiters     int64      `json:"waiters"`
	Quarantined int64      `json:"young_ms,omitempty"` // time until the server votes
	Error       string     `json:"error,omitempty"`
}

// statusOf asks the servers for the status of a name.
func statusOf(ctx context.Context, m *redlock.Manager, name string) (*lockStatus, error) {
	s, err := m.Status(ctx, name)
	if err != nil {
		return nil, badName(err)
	}
	return newLockStatus(name, s), nil
}

func newLockStatus(name string, status redlock.Status) *lockStatus {
	s := &lockStatus{
		Name: shell.Text(name), Held: status.Held, Undecided: status.Undecided, NotLock: status.NotLock, Quorum: status.Quorum,
		Value: shell.Text(status.Holder.Value), Owner: newLockOwner(status.Holder.Owner), ttl: status.Holder.TTL,
	}
	for _, n := range status.Servers {
		node := lockNodeStatus{
			Node: n.Node, Value: shell.Text(n.Holder.Value), TTL: n.Holder.TTL.Milliseconds(), Foreign: n.Foreign,
			Waiters: n.Holder.Waiters, Quarantined: n.Quarantined.Milliseconds(),
		}
		if n.Err != nil {
			node.Error = shell.OneLine(n.Err)
		}
		s.Nodes = append(s.Nodes, node)
	}
	return s
}

// showLock prints who holds a name. The exit code shows whether the name is held.
func showLock(ctx context.Context, c *shell.Command, m *redlock.Manager, name string) error {
	s, err := statusOf(ctx, m, name)
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(c.Stdout).Encode(s)
	} else {
		err = s.print(c.Stdout)
	}
	switch {
	case err != nil:
		return err
	case s.Undecided:
		return shell.Exit(exitNotAcquired, nil)
	case !s.Held:
		return shell.Exit(shell.ExitFailure, nil)
	}
	return nil
}

func (s *lockStatus) print(out io.Writer) error {
	agreed := 0
	for _, n := range s.Nodes {
		var what string
		switch {
		case n.Error != "":
			what = n.Error
		case n.Value == "":
			what = "free"
		default:
			what = fmt.Sprintf("held by %s for another %v", n.Value, time.Duration(n.TTL)*time.Millisecond)
			if n.Foreign {
				what += ", by another library or program"
			}
		}
		if n.Waiters > 0 {
			what += fmt.Sprintf(", %d waiting", n.Waiters)
		}
		if n.Quarantined > 0 {
			what += fmt.Sprintf(", quarantined: does not vote for another %v", time.Duration(n.Quarantined)*time.Millisecond)
		}
		fmt.Fprintf(out, "%s: %s\n", n.Node, what)
		if n.Value == s.Value && n.Quarantined == 0 {
			agreed++
		}
	}
	_, err := fmt.Fprintln(out, s.verdict(agreed))
	return err
}

// verdict describes in one line who holds the name.
func (s *lockStatus) verdict(agreed int) string {
	switch {
	case s.Held:
		by := ""
		if s.Owner != nil {
			by = " by " + s.Owner.String()
		}
		return fmt.Sprintf("%q is held%s: %d of %d agree", s.Name, by, agreed, len(s.Nodes))
	case s.Undecided:
		return fmt.Sprintf("%q may be held: the quorum is %d of %d, and too few servers answered or vote", s.Name, s.Quorum, len(s.Nodes))
	case s.NotLock:
		return fmt.Sprintf("%q cannot be held: %v", s.Name, redlock.ErrNotLock)
	}
	return fmt.Sprintf("%q is not held; the quorum is %d of %d", s.Name, s.Quorum, len(s.Nodes))
}

// heldBy describes the holder and the remaining time.
func (s *lockStatus) heldBy() string {
	by := string(s.Value)
	if s.Owner != nil {
		by = s.Owner.String()
	}
	return fmt.Sprintf("%s for another %v", by, s.ttl)
}
