package redlock

import "retwis/redlock/internal/server"

// Channel returns the channel on which a manager listens for grants.
func Channel(m *Manager) string { return server.Channel(m.voters.id) }

// LocalWaiters returns how many goroutines wait in the local queue of a name.
func LocalWaiters(m *Manager, name string) int {
	m.localQueues.mu.Lock()
	defer m.localQueues.mu.Unlock()
	if g := m.localQueues.byName[name]; g != nil {
		return len(g.line)
	}
	return 0
}

// Value returns the value of a lock on the servers.
func Value(l *Lock) string { return l.value }

// Counts has the event counts since a Manager was created.
type Counts struct{ Acquired, Turns, Lost, Disconnected uint64 }

// CountsOf returns the event counts of a manager.
func CountsOf(m *Manager) Counts {
	s := &m.voters.stats
	return Counts{s.acquired.Load(), s.turns.Load(), s.lost.Load(), s.disconnected.Load()}
}
