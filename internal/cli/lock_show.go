package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/redlock"
)

// lockStatus is what --show prints as JSON.
type lockStatus struct {
	Name string `json:"name"`
	Held bool   `json:"held"` // by a majority
	// Undecided: so few servers answered that the others could be a majority
	// that has it.
	Undecided bool             `json:"undecided"`
	Value     string           `json:"value,omitempty"`
	Quorum    int              `json:"quorum"`
	Nodes     []lockNodeStatus `json:"nodes"`
}

type lockNodeStatus struct {
	Node    string `json:"node"`
	Value   string `json:"value,omitempty"`
	TTL     int64  `json:"ttl_ms,omitempty"`
	Waiters int64  `json:"waiters"`
	Young   int64  `json:"young_ms,omitempty"` // for so long it does not vote
	Error   string `json:"error,omitempty"`
}

// statusOf asks the servers who holds a name.
func statusOf(ctx context.Context, m *redlock.Manager, name string) (*lockStatus, error) {
	nodes, err := m.Status(ctx, name)
	if err != nil {
		return nil, badName(err)
	}
	s := &lockStatus{Name: name}
	s.Quorum, _ = m.Quorum()
	votes, most, silent := map[string]int{}, 0, 0
	for _, n := range nodes {
		node := lockNodeStatus{Node: n.Node, Value: n.Value, TTL: n.TTL.Milliseconds(), Waiters: n.Waiters, Young: n.Young.Milliseconds()}
		if n.Err != nil {
			node.Error = oneLine(n.Err)
			silent++
		}
		s.Nodes = append(s.Nodes, node)
		if n.Value == "" {
			continue
		}
		votes[n.Value]++
		most = max(most, votes[n.Value])
		if votes[n.Value] >= s.Quorum {
			s.Held, s.Value = true, n.Value
		}
	}
	s.Undecided = !s.Held && most+silent >= s.Quorum
	return s, nil
}

// holds returns for how long a majority keeps the lock at least, and how many
// processes wait for it.
func (s *lockStatus) holds() (ttl time.Duration, waiters int64) {
	least := int64(-1)
	for _, n := range s.Nodes {
		if n.Value == s.Value && (least < 0 || n.TTL < least) {
			least = n.TTL
		}
		waiters = max(waiters, n.Waiters)
	}
	return time.Duration(least) * time.Millisecond, waiters
}

// showLock prints who holds a name. The exit code tells whether anybody does.
func showLock(cmd *cobra.Command, m *redlock.Manager, name string, asJSON bool) error {
	s, err := statusOf(cmd.Context(), m, name)
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(s)
	} else {
		err = s.print(cmd)
	}
	switch {
	case err != nil:
		return err
	case s.Undecided:
		return &exitError{code: exitNotHad}
	case !s.Held:
		return &exitError{code: exitFailure}
	}
	return nil
}

func (s *lockStatus) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
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
		}
		if n.Waiters > 0 {
			what += fmt.Sprintf(", %d waiting", n.Waiters)
		}
		if n.Young > 0 {
			what += fmt.Sprintf(", started lately: does not vote for another %v", time.Duration(n.Young)*time.Millisecond)
		}
		fmt.Fprintf(out, "%s: %s\n", n.Node, what)
		if n.Value == s.Value {
			agreed++
		}
	}
	var err error
	switch {
	case s.Held:
		_, err = fmt.Fprintf(out, "%q is held: %d of %d agree\n", s.Name, agreed, len(s.Nodes))
	case s.Undecided:
		_, err = fmt.Fprintf(out, "%q may be held: it takes %d of %d, and too few answered\n", s.Name, s.Quorum, len(s.Nodes))
	default:
		_, err = fmt.Fprintf(out, "%q is not held: it takes %d of %d\n", s.Name, s.Quorum, len(s.Nodes))
	}
	return err
}
