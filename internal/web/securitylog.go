package web

import (
	"log/slog"
	"strings"
	"time"

	"retwis/internal/social"
)

// security writes a line to the security log: who did what, and from where. event is
// a word such as "login"; the message of the line. The zero user is left out. A flood
// of the same event is sampled. Secrets are never among attrs.
func (req *request) security(event string, user social.User, attrs ...slog.Attr) {
	log := &req.server.securityLog
	ok, omitted := log.limits.allow(event, time.Now())
	if !ok {
		return
	}
	line := []slog.Attr{slog.String("address", req.address().String()), slog.String("request", req.id)}
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
	limits samplers
}

// shorten bounds what a client has typed, for the log.
func shorten(text string) string {
	const longest = 40
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
