package web

import (
	"log/slog"
	"time"

	"retwis/internal/social"
	"retwis/internal/web/httpserver"
)

// security writes a line to the security log: who did what, and from where. event is
// a word such as "login"; the message of the line. The zero user is left out. A flood
// of the same event is sampled. Secrets are never among attrs.
func (req *request) security(event string, user social.User, attrs ...slog.Attr) {
	req.site.metrics.Events.WithLabelValues(event).Inc()
	log := &req.site.securityLog
	ok, omitted := log.limits.Allow(event, time.Now())
	if !ok {
		return
	}
	line := []slog.Attr{slog.String("address", httpserver.AddressText(req.address())), slog.String("request", req.id)}
	if user.ID != 0 {
		line = append(line, slog.String("user", user.Name), slog.Int64("user_id", user.ID))
	}
	if omitted > 0 {
		line = append(line, slog.Int("omitted", omitted))
	}
	log.LogAttrs(req.ctx, slog.LevelInfo, event, append(line, attrs...)...)
}

type securityLog struct {
	*slog.Logger
	limits httpserver.Samplers
}

// triedName is the account of a log-in that failed, for the security log: the name as
// it was typed may be a password in the wrong field, so only names of accounts are
// logged.
func (h *loginHandlers) triedName(req *request, typed string) []slog.Attr {
	user, err := h.users.UserByName(req.ctx, typed)
	if err != nil {
		return nil
	}
	return []slog.Attr{slog.String("name", user.Name)}
}
