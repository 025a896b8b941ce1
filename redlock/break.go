package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"retwis/redlock/internal/server"
)

// Break frees a name regardless of its holder, and hands it to the next waiter. It
// returns the status before. The holder notices when it extends the lock next,
// usually within Options.ExtendEvery, and continues until then: break a lock only if
// the holder is known to be gone or to hang.
//
// ErrNoQuorum means that so few servers could be asked that the name may still be
// held on the others.
func (m *Manager) Break(ctx context.Context, name string) (Status, error) {
	before, err := m.Status(ctx, name)
	if err != nil {
		return nil, err
	}
	// A server may have another value than the rest: of a dead holder, or of a
	// waiter that was just granted the name and asks again.
	values := make(map[string]nodeSet)
	failed := make(map[int]error)
	for i, n := range before {
		switch {
		case n.Err != nil && !errors.Is(n.Err, ErrNotLock):
			failed[i] = n.Err
		case n.Value != "":
			values[n.Value] |= 1 << i
		}
	}
	for value, servers := range values {
		now := time.Now()
		r := newRound(m.voters.nodes, m.voters.quorum, server.Op{
			Kind: server.Release, Name: name, Value: value, Grant: m.opt.grantTime(), Until: now.Add(m.opt.TTL),
		}, now)
		r.all = true
		r.send(servers)
		if _, cause := r.await(ctx, unlockTimeouts*m.opt.NodeTimeout); cause != nil {
			return before, waitError(name, cause, nil)
		}
		r.mu.Lock()
		for i, answered := range r.replies {
			switch {
			case !servers.has(i) || answered.Answer == server.Yes || answered.Answer == server.No: // no: another client has it meanwhile
			case answered.Err != nil:
				failed[i] = answered.Err
			default:
				failed[i] = fmt.Errorf("timeout after %v", unlockTimeouts*m.opt.NodeTimeout)
			}
		}
		r.mu.Unlock()
	}
	if len(failed) < m.voters.quorum {
		return before, nil
	}
	var reasons []string
	for i, n := range before {
		if err := failed[i]; err != nil {
			reasons = append(reasons, n.Node+": "+err.Error())
		}
	}
	return before, fmt.Errorf("redlock: %q: %w: freed on %d of %d servers (%s)",
		name, ErrNoQuorum, len(before)-len(failed), len(before), strings.Join(reasons, "; "))
}
