package live

import "context"

// endSessions closes the connections whose sessions have ended. The browsers reconnect without a
// session.
func (r *refresher) endSessions(ctx context.Context) {
	r.conns.mu.Lock()
	members := make([]*member, 0, len(r.changed.sessions))
	for m := range r.changed.sessions {
		members = append(members, m)
	}
	clear(r.changed.sessions)
	r.conns.mu.Unlock()
	r.forEach(members, func(m *member) error { return r.endSessionsOf(ctx, m) },
		func(m *member) { r.changed.sessions[m] = struct{}{} })
}

// endSessionsOf closes the connections of a member whose sessions have ended.
func (r *refresher) endSessionsOf(ctx context.Context, m *member) error {
	r.conns.mu.Lock()
	var open []*client
	var secrets []string
	for _, c := range m.clients {
		if c.session != "" {
			open, secrets = append(open, c), append(secrets, c.session)
		}
	}
	reader := r.reader()
	r.conns.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	states, err := r.app.Sessions.SessionOpen(ctx, reader, m.user.ID, secrets...)
	if err != nil {
		return err
	}
	r.conns.mu.Lock()
	defer r.conns.mu.Unlock()
	for i, c := range open {
		if !states[i] && !c.gone {
			r.conns.askToReconnect(c)
		}
	}
	return nil
}
