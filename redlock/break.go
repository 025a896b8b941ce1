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
// earlier status. The holder notices at its next extension, usually within Options.ExtendEvery, and
// continues until then: break a lock only if the holder is known to be gone or to hang.
//
// Break deletes only locks of this package. ErrNotLock means that a majority is impossible because
// the key of the name holds something else, such as the lock of another library, on too many
// servers; nothing was changed, and the error contains the command that deletes the key. ErrNoQuorum
// means that too few servers were reached, so the name may still be held on the other servers.
func (m *Manager) Break(ctx context.Context, name string) (Status, error) {
	if err := m.check(withoutLocks(ctx), name); err != nil {
		return Status{}, err
	}
	before, err := m.Status(ctx, name)
	if err != nil {
		return Status{}, err
	}
	// The servers may have different values: the value of a dead holder, or of a waiter that was
	// just granted the name and is about to ask again.
	values := make(map[string]nodeSet)
	failed := make(map[int]error)
	foreign := 0
	for i, n := range before.Servers {
		switch {
		case n.Foreign:
			foreign++
			failed[i] = fmt.Errorf("%q, which is not a lock of this package and expires in %v: DEL %q deletes it", n.Holder.Value, n.Holder.TTL, name)
		case errors.Is(n.Err, ErrNotLock):
			foreign++
			failed[i] = n.Err
		case n.Err != nil:
			failed[i] = n.Err
		case n.Holder.Value != "":
			values[n.Holder.Value] |= 1 << i
		}
	}
	if foreign > len(before.Servers)-before.Quorum {
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
		for i, reply := range r.replies {
			switch {
			case !servers.has(i) || reply.Answer == server.Yes || reply.Answer == server.No: // No: another client holds the name now
			case reply.Err != nil:
				failed[i] = reply.Err
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

// reasons joins the errors of the servers that failed.
func reasons(status Status, failed map[int]error) string {
	var all []string
	for i, n := range status.Servers {
		if err := failed[i]; err != nil {
			all = append(all, n.Node+": "+err.Error())
		}
	}
	return strings.Join(all, "; ")
}
