package web

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"retwis/internal/social/limits"
	"retwis/internal/web/httpserver"
)

// page makes the response to a request.
type page = func(*request) error

// route is a page and the requests for it.
type route struct {
	pattern string
	page    page
}

// routes lists every page of the site, and what guards it: login leads visitors to the
// log-in, limited bounds how often a user does something.
func (s *Server) routes() []route {
	return []route{
		// Visitors.
		{"GET /{$}", s.landing},
		{"GET /register", s.registerForm},
		{"POST /register", s.register},
		{"GET /login", s.loginForm},
		{"POST /login", s.login},
		{"GET /login/code", s.codeForm},
		{"POST /login/code", s.loginCode},
		{"GET /reset/{token}", s.resetForm},
		{"POST /reset/{token}", s.reset},
		{"GET /invite/{token}", s.invited},
		{"GET /logout", s.toForm},
		{"POST /logout", s.logout},

		// Reading.
		{"GET /home", login(s.home)},
		{"GET /timeline", s.timeline},
		{"GET /timeline.atom", s.timelineAtom},
		{"GET /notifications", login(s.notifications)},
		{"GET /bookmarks", login(s.bookmarks)},
		{"GET /suggest", s.suggest},
		{"GET /tag/{name}", s.tag},

		// Posts.
		{"GET /post", s.toForm},
		{"POST /post", limited(limits.Post, s.post)},
		{"GET /u/{name}/{id}", s.postPage},
		{"GET /u/{name}/{id}/likes", s.likers},
		{"GET /u/{name}/{id}/reposts", s.reposters},
		{"GET /u/{name}/{id}/history", s.history},
		{"GET /u/{name}/{id}/reply", s.toForm},
		{"POST /u/{name}/{id}/reply", limited(limits.Reply, s.reply)},
		{"GET /u/{name}/{id}/edit", login(s.editForm)},
		{"POST /u/{name}/{id}/edit", limited(limits.Edit, s.edit)},
		{"GET /u/{name}/{id}/delete", login(s.deleteForm)},
		{"POST /u/{name}/{id}/delete", login(limited(limits.Delete, s.delete))},
		{"GET /u/{name}/{id}/like", s.toForm},
		{"POST /u/{name}/{id}/like", login(limited(limits.Like, s.act(s.app.Reactions.Like)))},
		{"GET /u/{name}/{id}/unlike", s.toForm},
		{"POST /u/{name}/{id}/unlike", login(limited(limits.Like, s.act(s.app.Reactions.Unlike)))},
		{"GET /u/{name}/{id}/repost", s.toForm},
		{"POST /u/{name}/{id}/repost", login(limited(limits.Repost, s.act(s.repost)))},
		{"GET /u/{name}/{id}/unrepost", s.toForm},
		{"POST /u/{name}/{id}/unrepost", login(limited(limits.Repost, s.act(s.app.Posts.Unrepost)))},
		{"GET /u/{name}/{id}/bookmark", s.toForm},
		{"POST /u/{name}/{id}/bookmark", login(limited(limits.Like, s.act(s.app.Reactions.Bookmark)))},
		{"GET /u/{name}/{id}/unbookmark", s.toForm},
		{"POST /u/{name}/{id}/unbookmark", login(limited(limits.Like, s.act(s.app.Reactions.Unbookmark)))},
		{"POST /u/{name}/{id}/pin", login(limited(limits.Like, s.pin))},
		{"POST /u/{name}/{id}/unpin", login(limited(limits.Like, s.unpin))},

		// People.
		{"GET /u/{name}", s.profile},
		{"GET /u/{name}/replies", s.profileReplies},
		{"GET /u/{name}/likes", s.profileLikes},
		{"GET /u/{name}/followers", s.followers},
		{"GET /u/{name}/following", s.following},
		{"GET /u/{name}/follow", s.toForm},
		{"POST /u/{name}/follow", login(limited(limits.Follow, s.follow))},
		{"GET /u/{name}/unfollow", s.toForm},
		{"POST /u/{name}/unfollow", login(limited(limits.Follow, s.unfollow))},
		{"GET /u/{name}/mute", s.toForm},
		{"POST /u/{name}/mute", login(limited(limits.Follow, s.mute))},
		{"GET /u/{name}/unmute", s.toForm},
		{"POST /u/{name}/unmute", login(limited(limits.Follow, s.unmute))},
		{"GET /u/{name}/block", s.toForm},
		{"POST /u/{name}/block", login(limited(limits.Follow, s.block))},
		{"GET /u/{name}/unblock", s.toForm},
		{"POST /u/{name}/unblock", login(limited(limits.Follow, s.unblock))},
		{"GET /u/{name}/remove", s.toForm},
		{"POST /u/{name}/remove", login(limited(limits.Follow, s.removeFollower))},
		{"GET /tag/{name}/follow", s.toForm},
		{"POST /tag/{name}/follow", login(limited(limits.Follow, s.followTag))},
		{"GET /tag/{name}/unfollow", s.toForm},
		{"POST /tag/{name}/unfollow", login(limited(limits.Follow, s.unfollowTag))},

		// Settings.
		{"GET /settings", s.toSettings},
		{"GET /settings/profile", login(s.profileSettings)},
		{"POST /settings/profile", login(limited(limits.Profile, s.editProfile))},
		{"GET /settings/notifications", login(s.notificationSettings)},
		{"POST /settings/notifications", login(limited(limits.Profile, s.changeNotifications))},
		{"GET /settings/muted", login(s.muted)},
		{"GET /settings/blocked", login(s.blocked)},
		{"GET /settings/data", login(s.dataSettings)},
		{"GET /settings/export", s.toForm},
		{"POST /settings/export", login(limited(limits.Export, s.export))},
		{"GET /settings/delete", login(s.leaveForm)},
		{"POST /settings/delete", login(limited(limits.Password, s.leave))},
		{"GET /settings/invites", login(s.invites)},
		{"POST /settings/invites", login(limited(limits.Invite, s.createInvite))},
		{"GET /settings/invites/end", s.toForm},
		{"POST /settings/invites/end", login(limited(limits.Moderate, s.revokeInvite))},
		{"GET /settings/security", login(s.securitySettings)},
		{"POST /settings/security/password", login(s.changePassword)},
		{"POST /settings/security/end", login(limited(limits.Profile, s.endSession))},
		{"POST /settings/security/others", login(limited(limits.Profile, s.endOthers))},
		{"GET /settings/security/app", login(s.appPage)},
		{"POST /settings/security/app", login(s.setUpApp)},
		{"POST /settings/security/confirm", login(s.confirmApp)},
		{"POST /settings/security/codes", login(s.renewCodes)},
		{"POST /settings/security/off", login(s.turnOffApp)},
		{"GET /settings/security/{form}", s.toSecurity},

		// Moderation.
		{"GET /u/{name}/report", login(s.reportUserForm)},
		{"POST /u/{name}/report", login(limited(limits.Report, s.reportUser))},
		{"GET /u/{name}/{id}/report", login(s.reportPostForm)},
		{"POST /u/{name}/{id}/report", login(limited(limits.Report, s.reportPost))},
		{"GET /moderation", s.moderation},
		{"GET /moderation/take", s.toModeration},
		{"POST /moderation/take", limited(limits.Moderate, s.takeReport)},
		{"GET /moderation/case", s.moderationCase},
		{"GET /moderation/decide", s.toModeration},
		{"POST /moderation/decide", limited(limits.Moderate, s.decide)},
		{"GET /moderation/return", s.toModeration},
		{"POST /moderation/return", limited(limits.Moderate, s.returnReport)},
		{"GET /moderation/people", s.moderationPeople},
		{"GET /moderation/audit", s.moderationAudit},
		{"GET /moderation/overview", s.overview},

		{"GET /live", s.events},
		{"/", s.notFound},
	}
}

// newMux returns what serves the routes, static files and health checks.
func (s *Server) newMux() *http.ServeMux {
	mux, feeds := http.NewServeMux(), s.feeds()
	for _, r := range s.routes() {
		if feed, ok := feeds[r.pattern]; ok {
			r.page = orFeed(feed, r.page)
		}
		mux.Handle(r.pattern, s.handler(r.pattern, r.page))
		s.access.Secret = append(s.access.Secret, httpserver.SecretPrefix(r.pattern)...)
	}
	mux.Handle("GET /static/{file}", s.static.WithFallback(s.handler("GET /static/{file}", missing)))
	mux.HandleFunc("GET /robots.txt", robots)
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	return mux
}

// AdminHandler serves metrics, health checks and profiles, for operators only. The command
// line is not among the profiles: it may have the password of the database.
func (s *Server) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Content-Type-Options"] = headerNosniff
		mux.ServeHTTP(w, r)
	})
}

// robots allows search engines to index all public pages.
func robots(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("User-agent: *\nDisallow: /login\nDisallow: /register\n"))
}

// missing answers for an outdated address of a static file.
func missing(*request) error { return errNotFound }

// notFound answers for every address without a page, and for those that have one
// with another method.
func (s *Server) notFound(req *request) error {
	probe := *req.r
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		probe.Method = method
		if _, pattern := s.mux.Handler(&probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		req.w.Header().Set("Allow", strings.Join(allowed, ", "))
		return &pageError{status: http.StatusMethodNotAllowed, detail: "This page doesn't support that request."}
	}
	return errNotFound
}
