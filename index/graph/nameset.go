package graph

import "fmt"

// memory is the budget for the names that a query holds, in bytes.
type memory struct{ limit, left int64 }

// reserve accounts for a name. It returns ErrMemory if the budget is exceeded.
func (m *memory) reserve(name string) error { return m.take(memoryOf(name)) }

// take accounts for bytes. It returns ErrMemory if the budget is exceeded.
func (m *memory) take(bytes int64) error {
	m.left -= bytes
	if m.left < 0 {
		return fmt.Errorf("graph: %w: more than %d bytes; narrow the query, or raise Query.Memory", ErrMemory, m.limit)
	}
	return nil
}

// memoryOf returns the approximate memory of a name in a map and a slice.
func memoryOf(name string) int64 { return int64(len(name)) + 64 }

// nameSet is a set of names in insertion order.
type nameSet struct {
	names  []string
	set    map[string]struct{}
	memory int64
}

// has reports whether the set contains a name.
func (s *nameSet) has(name string) bool {
	_, ok := s.set[name]
	return ok
}

// add adds a name and accounts for its memory.
func (s *nameSet) add(name string, m *memory) error {
	if s.has(name) {
		return nil
	}
	if err := m.reserve(name); err != nil {
		return err
	}
	if s.set == nil {
		s.set = map[string]struct{}{}
	}
	s.set[name] = struct{}{}
	s.names = append(s.names, name)
	s.memory += memoryOf(name)
	return nil
}
