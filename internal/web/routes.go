package web

import (
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"retwis/internal/social/limits"
	"retwis/internal/web/about"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/request"
	"retwis/internal/web/static"
	"retwis/internal/web/view"
)

// route is a page and the requests for it.
type route struct {
	pattern string
	page    request.Page
}

// routes lists every page of the site, and what guards it: login leads visitors to the
// log-in, limited bounds how often a user does something, and a page of moderator, admin
// or inviter does not exist for others.
func (s *Server) routes() []route {
	h, app := s.handlers, s.app
	login, limited := request.RequireLogin, request.Limited
	return slices.Concat(s.moderationRoutes(), s.listRoutes(), s.aboutRoutes(), s.pictureRoutes(), s.archiveRoutes(), s.mailRoutes(), []route{
		// Visitors.
		{"GET /{$}", h.timelines.landing},
		{"GET /register", h.signUps.form},
		{"POST /register", h.signUps.signUp},
		{"GET /login", h.logins.form},
		{"POST /login", h.logins.login},
		{"GET /login/code", h.logins.codeForm},
		{"POST /login/code", h.logins.code},
		{"GET /login/passkey", toLogin},
		{"POST /login/passkey", request.LimitedForAll(limits.Passkey, h.passkeys.login)},
		{"POST /login/passkey-options", request.LimitedForAll(limits.Passkey, h.passkeys.loginOptions)},
		{"GET /reset/{token}", h.logins.resetForm},
		{"POST /reset/{token}", h.logins.reset},
		{"GET /invite/{token}", h.signUps.invited},
		{"GET /logout", toForm},
		{"POST /logout", h.logins.logout},

		// Reading.
		{"GET /home", login(h.timelines.home)},
		{"GET /explore", h.trends.Page},
		{"GET /timeline", h.timelines.timeline},
		{"GET /timeline.atom", inFormat(h.feeds.timeline, view.AtomSuffix)},
		{"GET /timeline.json", inFormat(h.feeds.timeline, view.JSONSuffix)},
		{"GET /notifications", login(h.notifications.page)},
		{"GET /bookmarks", login(h.timelines.bookmarks)},
		{"GET /search", request.LimitedForAll(limits.Search, h.search.Page)},
		{"GET /explore/people", h.people.Page},
		{"GET /suggest", h.completions.complete},
		{"GET /tag/{name}", orFeed(h.feeds.tag, h.tags.page)},

		// Search engines.
		{"GET /robots.txt", h.crawlers.Robots},
		{"GET /sitemap.xml", h.crawlers.Sitemap},
		{"GET /sitemap/{page}", h.crawlers.SitemapPage},

		// Posts.
		{"GET /post", toForm},
		{"POST /post", limited(limits.Post, h.timelines.post)},
		{"GET /u/{name}/{id}", h.posts.page},
		{"GET /u/{name}/{id}/likes", h.posts.likers},
		{"GET /u/{name}/{id}/reposts", h.posts.reposters},
		{"GET /u/{name}/{id}/history", h.posts.history},
		{"GET /u/{name}/{id}/reply", toForm},
		{"POST /u/{name}/{id}/reply", limited(limits.Reply, h.posts.reply)},
		{"GET /u/{name}/{id}/edit", login(h.posts.editForm)},
		{"POST /u/{name}/{id}/edit", limited(limits.Edit, h.posts.edit)},
		{"GET /u/{name}/{id}/delete", login(h.posts.deleteForm)},
		{"POST /u/{name}/{id}/delete", login(limited(limits.Delete, h.posts.delete))},
		{"GET /u/{name}/{id}/like", toForm},
		{"POST /u/{name}/{id}/like", login(limited(limits.Like, h.posts.action(app.Reactions.Like)))},
		{"GET /u/{name}/{id}/unlike", toForm},
		{"POST /u/{name}/{id}/unlike", login(limited(limits.Like, h.posts.action(app.Reactions.Unlike)))},
		{"GET /u/{name}/{id}/repost", toForm},
		{"POST /u/{name}/{id}/repost", login(limited(limits.Repost, h.posts.action(h.posts.repost)))},
		{"GET /u/{name}/{id}/unrepost", toForm},
		{"POST /u/{name}/{id}/unrepost", login(limited(limits.Repost, h.posts.action(app.Posts.Unrepost)))},
		{"GET /u/{name}/{id}/bookmark", toForm},
		{"POST /u/{name}/{id}/bookmark", login(limited(limits.Like, h.posts.action(app.Reactions.Bookmark)))},
		{"GET /u/{name}/{id}/unbookmark", toForm},
		{"POST /u/{name}/{id}/unbookmark", login(limited(limits.Like, h.posts.action(app.Reactions.Unbookmark)))},
		{"POST /u/{name}/{id}/pin", login(limited(limits.Like, h.posts.pin))},
		{"POST /u/{name}/{id}/unpin", login(limited(limits.Like, h.posts.unpin))},

		// People.
		{"GET /u/{name}", orFeed(h.feeds.profile, h.profiles.posts)},
		{"GET /u/{name}/replies", h.profiles.replies},
		{"GET /u/{name}/likes", h.profiles.likes},
		{"GET /u/{name}/followers", h.profiles.followers},
		{"GET /u/{name}/following", h.profiles.following},
		{"GET /u/{name}/follow", toForm},
		{"POST /u/{name}/follow", login(limited(limits.Follow, h.relations.follow))},
		{"GET /u/{name}/unfollow", toForm},
		{"POST /u/{name}/unfollow", login(limited(limits.Follow, h.relations.unfollow))},
		{"GET /u/{name}/mute", toForm},
		{"POST /u/{name}/mute", login(limited(limits.Follow, h.relations.mute))},
		{"GET /u/{name}/unmute", toForm},
		{"POST /u/{name}/unmute", login(limited(limits.Follow, h.relations.unmute))},
		{"GET /u/{name}/block", toForm},
		{"POST /u/{name}/block", login(limited(limits.Follow, h.relations.block))},
		{"GET /u/{name}/unblock", toForm},
		{"POST /u/{name}/unblock", login(limited(limits.Follow, h.relations.unblock))},
		{"GET /u/{name}/remove", toForm},
		{"POST /u/{name}/remove", login(limited(limits.Follow, h.relations.removeFollower))},
		{"GET /u/{name}/dismiss", toForm},
		{"POST /u/{name}/dismiss", login(limited(limits.Follow, h.people.Dismiss))},
		{"GET /tag/{name}/follow", toForm},
		{"POST /tag/{name}/follow", login(limited(limits.Follow, h.tags.follow))},
		{"GET /tag/{name}/unfollow", toForm},
		{"POST /tag/{name}/unfollow", login(limited(limits.Follow, h.tags.unfollow))},

		// Settings.
		{"GET /settings", toSettings},
		{"GET /settings/profile", login(h.settings.profile)},
		{"POST /settings/profile", login(limited(limits.Profile, h.settings.editProfile))},
		{"GET /settings/notifications", login(h.notifications.settings)},
		{"POST /settings/notifications", login(limited(limits.Profile, h.notifications.changeSettings))},
		{"GET /settings/muted", login(h.settings.muted)},
		{"GET /settings/blocked", login(h.settings.blocked)},
		{"GET /settings/data", login(h.data.settings)},
		{"GET /settings/export", toForm},
		{"POST /settings/export", login(limited(limits.Export, h.data.export))},
		{"GET /settings/delete", login(h.data.deleteForm)},
		{"POST /settings/delete", login(h.data.deleteAccount)},
		{"GET /settings/invites", login(inviter(h.invites.list))},
		{"POST /settings/invites", login(limited(limits.Invite, inviter(h.invites.create)))},
		{"GET /settings/invites/end", toForm},
		{"POST /settings/invites/end", login(limited(limits.Moderate, inviter(h.invites.revoke)))},
		{"GET /settings/security", login(h.security.settings)},
		{"POST /settings/security/password", login(h.security.changePassword)},
		{"POST /settings/security/end", login(limited(limits.Profile, h.security.endSession))},
		{"POST /settings/security/others", login(limited(limits.Profile, h.security.endOthers))},
		{"GET /settings/security/app", login(h.security.appPage)},
		{"POST /settings/security/app", login(h.security.setUpApp)},
		{"POST /settings/security/confirm", login(h.security.confirmApp)},
		{"POST /settings/security/codes", login(h.security.renewCodes)},
		{"POST /settings/security/off", login(h.security.turnOffApp)},
		{"POST /settings/security/passkeys", login(h.passkeys.add)},
		{"POST /settings/security/passkeys-options", login(h.passkeys.makeOptions)},
		{"POST /settings/security/passkeys-remove", login(h.passkeys.remove)},
		{"GET /settings/security/{form}", toSecurity},

		{"GET /live", h.events.stream},
		{"/", s.notFound},
	})
}

// listRoutes lists the pages of lists of people and saved searches, which only their owner has.
func (s *Server) listRoutes() []route {
	h, login, limited := s.handlers.lists, request.RequireLogin, request.Limited
	return []route{
		{"GET /lists", login(h.Page)},
		{"POST /lists", login(limited(limits.Profile, h.Create))},
		{"GET /lists/{id}", login(h.Posts)},
		{"GET /lists/{id}/edit", login(h.EditPage)},
		{"POST /lists/{id}/edit", login(limited(limits.Profile, h.Edit))},
		{"GET /lists/{id}/delete", toForm},
		{"POST /lists/{id}/delete", login(limited(limits.Profile, h.Delete))},
		{"GET /lists/{id}/add", toForm},
		{"POST /lists/{id}/add", login(limited(limits.Follow, h.Add))},
		{"GET /lists/{id}/remove", toForm},
		{"POST /lists/{id}/remove", login(limited(limits.Follow, h.Remove))},
		{"GET /u/{name}/lists", login(h.ChoosePage)},
		{"POST /u/{name}/lists", login(limited(limits.Follow, h.Choose))},
		{"GET /searches", toForm},
		{"POST /searches", login(limited(limits.Profile, h.SaveSearch))},
		{"GET /searches/delete", toForm},
		{"POST /searches/delete", login(limited(limits.Profile, h.ForgetSearch))},
	}
}

// aboutRoutes lists the pages about the site, and what browsers ask every site for.
func (s *Server) aboutRoutes() []route {
	h := s.handlers
	return []route{
		{"GET /about", h.about.About},
		{"GET /rules", h.about.Rules},
		{"GET /privacy", h.about.Privacy},
		{"GET /terms", h.about.Terms},
		{"GET /site.webmanifest", about.Manifest},
		{"GET /favicon.ico", about.Icon},
		{"GET /.well-known/change-password", about.ChangePassword},
		{"GET /moderation/signups", moderator(h.applications.Page)},
		{"POST /moderation/signups", request.Limited(limits.Moderate, moderator(h.applications.Decide))},
		{"GET /moderation/blocks", moderator(h.blocks.Page)},
		{"POST /moderation/blocks", request.Limited(limits.Moderate, moderator(h.blocks.Add))},
		{"GET /moderation/blocks/remove", moderator(toModeration)},
		{"POST /moderation/blocks/remove", request.Limited(limits.Moderate, moderator(h.blocks.Remove))},
		{"GET /moderation/site", admin(h.site.Page)},
		{"POST /moderation/site", request.Limited(limits.Moderate, admin(h.site.Save))},
		{"GET /moderation/site/{page}", admin(h.site.TextPage)},
		{"POST /moderation/site/{page}", request.Limited(limits.Moderate, admin(h.site.SaveText))},
	}
}

// pictureRoutes lists the uploads and the files of pictures.
func (s *Server) pictureRoutes() []route {
	h := s.handlers.pictures
	return []route{
		{"GET /media", toForm},
		{"POST /media", request.JSONErrors(h.Upload)},
		{"GET /media/{id}/{file}", h.File},
		{"GET /settings/picture", toSettings},
		{"POST /settings/picture", request.RequireLogin(request.Limited(limits.Profile, h.SetPortrait))},
	}
}

// archiveRoutes lists the addresses that archives have, and what is imported of them.
func (s *Server) archiveRoutes() []route {
	h, login, limited := s.handlers, request.RequireLogin, request.Limited
	return []route{
		{"GET /post/{id}", h.posts.byID},
		{"GET /settings/import", login(h.imports.Page)},
		{"POST /settings/import", login(limited(limits.Profile, h.imports.Begin))},
		{"GET /settings/import/stop", toForm},
		{"POST /settings/import/stop", login(limited(limits.Profile, h.imports.Stop))},
	}
}

// mailRoutes lists the pages of e-mail addresses. A site without a mail server has none of them, but
// knows that some have a secret in their address.
func (s *Server) mailRoutes() []route {
	h, login, limited := s.handlers.email, request.RequireLogin, request.Limited
	all := []route{
		{"GET /settings/email", login(h.Settings)},
		{"POST /settings/email", login(h.Set)},
		{"GET /settings/email/{form}", toForm},
		{"POST /settings/email/remove", login(h.Remove)},
		{"POST /settings/email/digest", login(limited(limits.Profile, h.Digest))},
		{"GET /forgot", h.ForgotPage},
		{"POST /forgot", request.LimitedForAll(limits.Reset, h.Forgot)},
		{"GET /confirm/{token}", h.ConfirmPage},
		{"POST /confirm/{token}", h.Confirm},
		{"GET /unsubscribe/{token}", h.StopPage},
		{"POST /unsubscribe/{token}", h.Stop},
	}
	if !s.app.Email.IsOn() {
		for i := range all {
			all[i].page = missing
		}
	}
	return all
}

// moderationRoutes lists the pages of reports and of those who decide about them.
func (s *Server) moderationRoutes() []route {
	h, login, limited := s.handlers, request.RequireLogin, request.Limited
	return []route{
		{"GET /u/{name}/report", login(h.reports.userForm)},
		{"POST /u/{name}/report", login(limited(limits.Report, h.reports.user))},
		{"GET /u/{name}/{id}/report", login(h.reports.postForm)},
		{"POST /u/{name}/{id}/report", login(limited(limits.Report, h.reports.post))},
		{"GET /moderation", moderator(h.moderation.queue)},
		{"GET /moderation/take", moderator(toModeration)},
		{"POST /moderation/take", limited(limits.Moderate, moderator(h.moderation.take))},
		{"GET /moderation/case", moderator(h.moderation.casePage)},
		{"GET /moderation/decide", moderator(toModeration)},
		{"POST /moderation/decide", limited(limits.Moderate, moderator(h.moderation.decide))},
		{"GET /moderation/return", moderator(toModeration)},
		{"POST /moderation/return", limited(limits.Moderate, moderator(h.moderation.release))},
		{"GET /moderation/people", moderator(h.moderation.peoplePage)},
		{"GET /moderation/tags", moderator(h.tagRules.Page)},
		{"POST /moderation/tags", limited(limits.Moderate, moderator(h.tagRules.Decide))},
		{"GET /moderation/audit", moderator(h.moderation.auditLog)},
		{"GET /moderation/overview", admin(h.overview.page)},
	}
}

// newMux returns what serves the routes, static files and health checks.
func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.pattern, s.site.Handler(r.pattern, r.page))
		s.access.Secret = append(s.access.Secret, httpserver.SecretPrefix(r.pattern)...)
	}
	mux.Handle("GET /static/{file}", static.WithFallback(s.site.Handler("GET /static/{file}", missing)))
	mux.Handle("GET /drawn/{file}", drawnAvatar(s.site.Handler("GET /drawn/{file}", missing)))
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	return mux
}

// toForm redirects from the address of a form, opened from a browser's history
// perhaps, to the page with that form.
func toForm(req *request.Request) error { return req.Redirect(req.FormPage()) }

// missing responds for an outdated address of a static file.
func missing(*request.Request) error { return request.ErrNotFound }

// notFound responds for every address without a page, and for those that have one
// with another method.
func (s *Server) notFound(req *request.Request) error {
	probe := *req.R
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		probe.Method = method
		if _, pattern := s.mux.Handler(&probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		req.W.Header().Set("Allow", strings.Join(allowed, ", "))
		return &request.Error{Status: http.StatusMethodNotAllowed, Detail: "This page doesn't support that request."}
	}
	return request.ErrNotFound
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
