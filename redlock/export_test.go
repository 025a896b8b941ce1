package redlock

import "retwis/redlock/internal/server"

// Channel is where a manager listens for grants.
func Channel(m *Manager) string { return server.Channel(m.voters.id) }

// LocalWaiters returns how many goroutines wait for a name in the queue of a process.
func LocalWaiters(m *Manager, name string) int {
	m.localQueues.mu.Lock()
	defer m.localQueues.mu.Unlock()
	if g := m.localQueues.byName[name]; g != nil {
		return len(g.line)
	}
	return 0
}
