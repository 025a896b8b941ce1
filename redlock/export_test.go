package redlock

import "errors"

// IsRefusal says whether an error is one that waiting does not change.
func IsRefusal(err error) bool { return errors.Is(refused(err, true), ErrRefused) }

// LocalWaiters returns how many goroutines wait for a name in the queue of a process.
func LocalWaiters(m *Manager, name string) int {
	m.localQueues.mu.Lock()
	defer m.localQueues.mu.Unlock()
	if g := m.localQueues.byName[name]; g != nil {
		return len(g.line)
	}
	return 0
}
