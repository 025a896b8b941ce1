package request

import (
	"log/slog"
	"time"

	"retwis/internal/social"
	"retwis/internal/web/httpserver"
)

// LogSecurity writes a line to the security log: who did what, and from where. event, such as
// "login", becomes the message. A zero user is omitted. Floods of the same event are sampled. attrs
// must not contain secrets.
func (req *Request) LogSecurity(event string, user social.User, attrs ...slog.Attr) {
	req.site.opt.Metrics.Events.WithLabelValues(event).Inc()
	ok, omitted := req.site.events.Allow(event, time.Now())
	if !ok {
		return
	}
	line := []slog.Attr{slog.String("address", httpserver.AddressText(req.Address())), slog.String("request", req.id)}
	if user.ID != 0 {
		line = append(line, slog.String("user", user.Name), slog.Int64("user_id", user.ID))
	}
	if omitted > 0 {
		line = append(line, slog.Int("omitted", omitted))
	}
	req.site.opt.Security.LogAttrs(req.Ctx, slog.LevelInfo, event, append(line, attrs...)...)
}
