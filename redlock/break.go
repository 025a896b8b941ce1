package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"retwis/redlock/internal/server"
)

// Break frees a name regardless of its holder, and hands it to the next waiter. It returns the
// status from before. The holder notices at its next extension, usually within
// Options.ExtendEvery, and continues until then: break a lock only if the holder is known to be
// gone or to hang.
//
// It deletes only locks of this package. ErrNotLock means that a majority is impossible because
// servers have something else under the name, such as the lock of another library; nothing was
// changed, and the error contains the command that deletes it. ErrNoQuorum means that so few
// servers could be asked that the name may still be held on the others.
func (m *Manager) Break(ctx context.Context, name string) (Status, error) {
	if err := m.check(withoutLocks(ctx), name); err != nil {
		return Status{}, err
	}
	before, err := m.Status(ctx, name)
	if err != nil {
		return Status{}, err
	}
	// A server may have a different value than the others: that of a dead holder, or of a waiter
	// that was just granted the name and asks again.
	values := make(map[string]nodeSet)
	failed := make(map[int]error)
	others := 0
	for i, n := range before.Servers {
		switch {
		case n.Foreign:
			others++
			failed[i] = fmt.Errorf("%q, which is not a lock of this package and expires in %v: DEL %q deletes it", n.Holder.Value, n.Holder.TTL, name)
		case errors.Is(n.Err, ErrNotLock):
			others++
			failed[i] = n.Err
		case n.Err != nil:
			failed[i] = n.Err
		case n.Holder.Value != "":
			values[n.Holder.Value] |= 1 << i
		}
	}
	if others > len(before.Servers)-before.Quorum {
		return before, fmt.Errorf("redlock: %q: %w: nothing was changed (%s)", name, ErrNotLock, reasons(before, failed))
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
			case !servers.has(i) || answered.Answer == server.Yes || answered.Answer == server.No: // No: another client holds it now
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
	return before, fmt.Errorf("redlock: %q: %w: freed on %d of %d servers (%s)",
		name, ErrNoQuorum, len(before.Servers)-len(failed), len(before.Servers), reasons(before, failed))
}

// reasons joins the errors of the servers.
func reasons(status Status, failed map[int]error) string {
	var all []string
	for i, n := range status.Servers {
		if err := failed[i]; err != nil {
			all = append(all, n.Node+": "+err.Error())
		}
	}
	return strings.Join(all, "; ")
}
