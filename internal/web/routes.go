package web

import (
	"context"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"retwis/internal/social"
	"retwis/internal/social/limits"
)

// routes lists every page of the site.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, page := range map[string]func(*request) error{
		"GET /{$}":                     s.landing,
		"GET /register":                s.registerForm,
		"POST /register":               s.register,
		"GET /login":                   s.loginForm,
		"POST /login":                  s.login,
		"GET /logout":                  s.toForm,
		"POST /logout":                 s.logout,
		"GET /home":                    s.home,
		"GET /post":                    s.toForm,
		"POST /post":                   s.limited(limits.Post, s.post),
		"GET /timeline":                s.timeline,
		"GET /timeline.atom":           s.timelineAtom,
		"GET /suggest":                 s.suggest,
		"GET /u/{name}":                s.profile,
		"GET /u/{name}/followers":      s.followers,
		"GET /u/{name}/following":      s.following,
		"GET /u/{name}/follow":         s.toForm,
		"POST /u/{name}/follow":        s.limited(limits.Follow, s.follow),
		"GET /u/{name}/unfollow":       s.toForm,
		"POST /u/{name}/unfollow":      s.limited(limits.Follow, s.unfollow),
		"GET /u/{name}/replies":        s.profileReplies,
		"GET /u/{name}/likes":          s.profileLikes,
		"GET /u/{name}/mute":           s.toForm,
		"POST /u/{name}/mute":          s.limited(limits.Follow, s.mute),
		"GET /u/{name}/unmute":         s.toForm,
		"POST /u/{name}/unmute":        s.limited(limits.Follow, s.unmute),
		"GET /u/{name}/block":          s.toForm,
		"POST /u/{name}/block":         s.limited(limits.Follow, s.block),
		"GET /u/{name}/unblock":        s.toForm,
		"POST /u/{name}/unblock":       s.limited(limits.Follow, s.unblock),
		"GET /u/{name}/remove":         s.toForm,
		"POST /u/{name}/remove":        s.limited(limits.Follow, s.removeFollower),
		"POST /u/{name}/{id}/pin":      s.limited(limits.Like, s.pin),
		"POST /u/{name}/{id}/unpin":    s.limited(limits.Like, s.unpin),
		"GET /settings":                s.toSettings,
		"GET /settings/profile":        s.profileSettings,
		"POST /settings/profile":       s.limited(limits.Profile, s.editProfile),
		"GET /settings/notifications":  s.notificationSettings,
		"POST /settings/notifications": s.limited(limits.Profile, s.changeNotifications),
		"GET /settings/muted":          s.muted,
		"GET /settings/blocked":        s.blocked,
		"GET /settings/data":           s.dataSettings,
		"GET /settings/export":         s.toForm,
		"POST /settings/export":        s.limited(limits.Export, s.export),
		"GET /settings/delete":         s.leaveForm,
		"POST /settings/delete":        s.limited(limits.Password, s.leave),
		"GET /settings/invites":        s.invites,
		"POST /settings/invites":       s.limited(limits.Invite, s.createInvite),
		"GET /settings/invites/end":    s.toForm,
		"POST /settings/invites/end":   s.limited(limits.Moderate, s.revokeInvite),
		"GET /invite/{token}":          s.invited,
		"GET /notifications":           s.notifications,
		"GET /tag/{name}":              s.tag,
		"GET /tag/{name}/follow":       s.toForm,
		"POST /tag/{name}/follow":      s.limited(limits.Follow, s.followTag),
		"GET /tag/{name}/unfollow":     s.toForm,
		"POST /tag/{name}/unfollow":    s.limited(limits.Follow, s.unfollowTag),
		"GET /bookmarks":               s.bookmarks,
		"GET /u/{name}/report":         s.reportUserForm,
		"POST /u/{name}/report":        s.limited(limits.Report, s.reportUser),
		"GET /u/{name}/{id}/report":    s.reportPostForm,
		"POST /u/{name}/{id}/report":   s.limited(limits.Report, s.reportPost),
		"GET /moderation":              s.moderation,
		"GET /moderation/take":         s.toModeration,
		"POST /moderation/take":        s.limited(limits.Moderate, s.takeReport),
		"GET /moderation/case":         s.moderationCase,
		"GET /moderation/decide":       s.toModeration,
		"POST /moderation/decide":      s.limited(limits.Moderate, s.decide),
		"GET /moderation/return":       s.toModeration,
		"POST /moderation/return":      s.limited(limits.Moderate, s.returnReport),
		"GET /moderation/people":       s.moderationPeople,
		"GET /moderation/audit":        s.moderationAudit,
		"GET /moderation/overview":     s.overview,
		"GET /u/{name}/{id}":           s.postPage,
		"GET /u/{name}/{id}/likes":     s.likers,
		"GET /u/{name}/{id}/reposts":   s.reposters,
		"GET /u/{name}/{id}/history":   s.history,
		"GET /u/{name}/{id}/reply":     s.toForm,
		"POST /u/{name}/{id}/reply":    s.limited(limits.Reply, s.reply),
		"GET /u/{name}/{id}/edit":      s.editForm,
		"POST /u/{name}/{id}/edit":     s.limited(limits.Edit, s.edit),
		"GET /u/{name}/{id}/delete":    s.deleteForm,
		"POST /u/{name}/{id}/delete":   s.limited(limits.Delete, s.delete),
		"/":                            s.notFound,
	} {
		if feed, ok := s.feeds()[pattern]; ok {
			page = orFeed(feed, page)
		}
		mux.Handle(pattern, s.handler(pattern, page))
		s.access.secret = append(s.access.secret, secretPrefix(pattern)...)
	}
	for pattern, page := range s.accountRoutes() {
		s.access.secret = append(s.access.secret, secretPrefix(pattern)...)
		mux.Handle(pattern, s.handler(pattern, page))
	}
	for name, act := range map[string]struct {
		event limits.Event
		do    func(ctx context.Context, user social.User, post int64) error
	}{
		"like": {limits.Like, s.app.Reactions.Like}, "unlike": {limits.Like, s.app.Reactions.Unlike},
		"repost": {limits.Repost, s.repost}, "unrepost": {limits.Repost, s.app.Posts.Unrepost},
		"bookmark": {limits.Like, s.app.Reactions.Bookmark}, "unbookmark": {limits.Like, s.app.Reactions.Unbookmark},
	} {
		path := " /u/{name}/{id}/" + name
		mux.Handle("GET"+path, s.handler("GET"+path, s.toForm))
		mux.Handle("POST"+path, s.handler("POST"+path, s.limited(act.event, s.act(act.do))))
	}
	mux.Handle("GET /static/{file}", s.static.or(s.handler("GET /static/{file}", missing)))
	mux.Handle("GET /live", s.handler("GET /live", s.events))
	mux.HandleFunc("GET /robots.txt", s.static.robots)
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	return mux
}

// accountRoutes lists the pages that guard an account.
func (s *Server) accountRoutes() map[string]func(*request) error {
	return map[string]func(*request) error{
		"GET /login/code":                  s.codeForm,
		"POST /login/code":                 s.loginCode,
		"GET /reset/{token}":               s.resetForm,
		"POST /reset/{token}":              s.reset,
		"GET /settings/security":           s.securitySettings,
		"POST /settings/security/password": s.changePassword,
		"POST /settings/security/end":      s.limited(limits.Profile, s.endSession),
		"POST /settings/security/others":   s.limited(limits.Profile, s.endOthers),
		"GET /settings/security/app":       s.appPage,
		"POST /settings/security/app":      s.setUpApp,
		"POST /settings/security/confirm":  s.confirmApp,
		"POST /settings/security/codes":    s.renewCodes,
		"POST /settings/security/off":      s.turnOffApp,
		"GET /settings/security/{form}":    s.toSecurity,
	}
}

// AdminHandler serves metrics, health checks and profiles, for operators only. The command
// line is not among the profiles: it may have the password of the database.
func (s *Server) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
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
