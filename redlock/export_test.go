package redlock

// LocalWaiters returns how many goroutines wait for a name in the queue of a process.
func LocalWaiters(m *Manager, name string) int {
	m.localQueues.mu.Lock()
	defer m.localQueues.mu.Unlock()
	if g := m.localQueues.byName[name]; g != nil {
		return len(g.line)
	}
	return 0
}
