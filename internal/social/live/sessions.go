package live

import "context"

// endSessions closes the connections of sessions that have ended. Their browsers come
// back without them.
func (h *Hub) endSessions(ctx context.Context) {
	h.mu.Lock()
	members := make([]*member, 0, len(h.changed.sessions))
	for m := range h.changed.sessions {
		members = append(members, m)
	}
	clear(h.changed.sessions)
	h.mu.Unlock()
	h.forEach(members, func(m *member) error { return h.endSessionsOf(ctx, m) },
		func(m *member) { h.changed.sessions[m] = struct{}{} })
}

func (h *Hub) endSessionsOf(ctx context.Context, m *member) error {
	h.mu.Lock()
	var open []*client
	var secrets []string
	for _, c := range m.clients {
		if c.session != "" {
			open, secrets = append(open, c), append(secrets, c.session)
		}
	}
	reader := h.reader()
	h.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	states, err := h.app.Sessions.SessionOpen(ctx, reader, m.user.ID, secrets...)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, c := range open {
		if !states[i] && !c.gone {
			if c.pending == nil {
				_, _ = h.write(c, farewell(c.at))
			}
			h.remove(c)
		}
	}
	return nil
}
