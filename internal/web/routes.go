package web

import (
	"net/http"
	"net/http/pprof"
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
	form    string // see table.add
	guard   guard
}

// guard restricts a page to some users.
type guard = func(request.Page) request.Page

func anybody(page request.Page) request.Page { return page }

// table collects the routes of the site.
type table struct {
	routes []route
	guard  guard // of the routes that follow
}

// add adds a route. form is the path of the page with the form for a POST, with the wildcards {name}
// and {id} of the route. By default the form is at the address of the POST.
func (t *table) add(pattern string, page request.Page, form ...string) {
	t.routes = append(t.routes, route{pattern, t.guard(page), strings.Join(form, ""), t.guard})
}

// redirect adds, for each POST whose address has no page, a redirect to the page with its form: the
// address may be opened from the browser's history.
func (t *table) redirect() {
	pages := map[string]bool{}
	for _, r := range t.routes {
		pages[r.pattern] = true
	}
	for _, r := range t.routes {
		if path, isPost := strings.CutPrefix(r.pattern, "POST "); isPost && !pages["GET "+path] {
			t.guard = r.guard
			t.add("GET "+path, func(req *request.Request) error { return req.Redirect(req.FormPage()) }, r.form)
		}
	}
}

// routes lists every page of the site, and what guards it: login leads visitors to the
// log-in, limited bounds how often a user does something, and a page of moderator, admin
// or inviter does not exist for others.
func (s *Server) routes() []route {
	h, app := s.handlers, s.app
	login, limited := request.RequireLogin, request.Limited
	t := table{guard: anybody}

	// Visitors.
	t.add("GET /{$}", h.timelines.landing)
	t.add("GET /register", h.signUps.form)
	t.add("POST /register", h.signUps.signUp)
	t.add("GET /login", h.logins.form)
	t.add("POST /login", h.logins.login)
	t.add("GET /login/code", h.logins.codeForm)
	t.add("POST /login/code", h.logins.code)
	t.add("POST /login/passkey", request.LimitedForAll(limits.Passkey, h.passkeys.login), view.LoginPath("/home"))
	t.add("POST /login/passkey-options", request.LimitedForAll(limits.Passkey, h.passkeys.loginOptions), view.LoginPath("/home"))
	t.add("GET /reset/{token}", h.logins.resetForm)
	t.add("POST /reset/{token}", h.logins.reset)
	t.add("GET /invite/{token}", h.signUps.invited)
	t.add("POST /logout", h.logins.logout, "/")

	// The site, and what browsers and search engines ask every site for.
	t.add("GET /robots.txt", h.crawlers.Robots)
	t.add("GET /sitemap.xml", h.crawlers.Sitemap)
	t.add("GET /sitemap/{page}", h.crawlers.SitemapPage)
	t.add("GET /about", h.about.About)
	t.add("GET /rules", h.about.Rules)
	t.add("GET /privacy", h.about.Privacy)
	t.add("GET /terms", h.about.Terms)
	t.add("GET /site.webmanifest", about.Manifest)
	t.add("GET /favicon.ico", about.Icon)
	t.add("GET /.well-known/change-password", about.ChangePassword)

	// Reading.
	t.add("GET /home", login(h.timelines.home))
	t.add("GET /explore", h.trends.Page)
	t.add("GET /timeline", h.timelines.timeline)
	t.add("GET /timeline.atom", inFormat(h.feeds.timeline, view.AtomSuffix))
	t.add("GET /timeline.json", inFormat(h.feeds.timeline, view.JSONSuffix))
	t.add("GET /notifications", login(h.notifications.page))
	t.add("GET /bookmarks", login(h.timelines.bookmarks))
	t.add("GET /search", request.LimitedForAll(limits.Search, h.search.Page))
	t.add("GET /explore/people", h.people.Page)
	t.add("GET /suggest", h.completions.complete)
	t.add("GET /tag/{name}", orFeed(h.feeds.tag, h.tags.page))
	t.add("GET /live", h.events.stream)

	// Posts. Archives have no names of authors with the ids.
	t.add("POST /post", limited(limits.Post, h.timelines.post), "/home")
	t.add("GET /u/{name}/{id}", h.posts.page)
	t.add("GET /u/{name}/{id}/likes", h.posts.likers)
	t.add("GET /u/{name}/{id}/reposts", h.posts.reposters)
	t.add("GET /u/{name}/{id}/history", h.posts.history)
	t.add("POST /u/{name}/{id}/reply", limited(limits.Reply, h.posts.reply), "/u/{name}/{id}")
	t.add("GET /u/{name}/{id}/edit", login(h.posts.editForm))
	t.add("POST /u/{name}/{id}/edit", limited(limits.Edit, h.posts.edit), "/u/{name}/{id}")
	t.add("GET /u/{name}/{id}/delete", login(h.posts.deleteForm))
	t.add("POST /u/{name}/{id}/delete", login(limited(limits.Delete, h.posts.delete)), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/like", login(limited(limits.Like, h.posts.action(app.Reactions.Like))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/unlike", login(limited(limits.Like, h.posts.action(app.Reactions.Unlike))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/repost", login(limited(limits.Repost, h.posts.action(h.posts.repost))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/unrepost", login(limited(limits.Repost, h.posts.action(app.Posts.Unrepost))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/bookmark", login(limited(limits.Like, h.posts.action(app.Reactions.Bookmark))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/unbookmark", login(limited(limits.Like, h.posts.action(app.Reactions.Unbookmark))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/pin", login(limited(limits.Like, h.posts.pin)), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/unpin", login(limited(limits.Like, h.posts.unpin)), "/u/{name}/{id}")
	t.add("GET /post/{id}", h.posts.byID)
	t.add("GET /u/{name}/{id}/report", login(h.reports.postForm))
	t.add("POST /u/{name}/{id}/report", login(limited(limits.Report, h.reports.post)), "/u/{name}/{id}")

	// Pictures.
	t.add("POST /media", request.JSONErrors(h.pictures.Upload), "/home")
	t.add("GET /media/{id}/{file}", h.pictures.File)

	// People.
	t.add("GET /u/{name}", orFeed(h.feeds.profile, h.profiles.posts))
	t.add("GET /u/{name}/replies", h.profiles.replies)
	t.add("GET /u/{name}/likes", h.profiles.likes)
	t.add("GET /u/{name}/followers", h.profiles.followers)
	t.add("GET /u/{name}/following", h.profiles.following)
	t.add("POST /u/{name}/follow", login(limited(limits.Follow, h.relations.follow)), "/u/{name}")
	t.add("POST /u/{name}/unfollow", login(limited(limits.Follow, h.relations.unfollow)), "/u/{name}")
	t.add("POST /u/{name}/mute", login(limited(limits.Follow, h.relations.mute)), "/u/{name}")
	t.add("POST /u/{name}/unmute", login(limited(limits.Follow, h.relations.unmute)), "/u/{name}")
	t.add("POST /u/{name}/block", login(limited(limits.Follow, h.relations.block)), "/u/{name}")
	t.add("POST /u/{name}/unblock", login(limited(limits.Follow, h.relations.unblock)), "/u/{name}")
	t.add("POST /u/{name}/remove", login(limited(limits.Follow, h.relations.removeFollower)), "/u/{name}")
	t.add("POST /u/{name}/dismiss", login(limited(limits.Follow, h.people.Dismiss)), "/u/{name}")
	t.add("POST /tag/{name}/follow", login(limited(limits.Follow, h.tags.follow)), "/tag/{name}")
	t.add("POST /tag/{name}/unfollow", login(limited(limits.Follow, h.tags.unfollow)), "/tag/{name}")
	t.add("GET /u/{name}/lists", login(h.lists.ChoosePage))
	t.add("POST /u/{name}/lists", login(limited(limits.Follow, h.lists.Choose)), "/u/{name}")
	t.add("GET /u/{name}/report", login(h.reports.userForm))
	t.add("POST /u/{name}/report", login(limited(limits.Report, h.reports.user)), "/u/{name}")

	// Lists of people and saved searches, which only their owner has.
	t.add("GET /lists", login(h.lists.Page))
	t.add("POST /lists", login(limited(limits.Profile, h.lists.Create)))
	t.add("GET /lists/{id}", login(h.lists.Posts))
	t.add("GET /lists/{id}/edit", login(h.lists.EditPage))
	t.add("POST /lists/{id}/edit", login(limited(limits.Profile, h.lists.Edit)))
	t.add("POST /lists/{id}/delete", login(limited(limits.Profile, h.lists.Delete)), "/lists/{id}/edit")
	t.add("POST /lists/{id}/add", login(limited(limits.Follow, h.lists.Add)), "/lists/{id}/edit")
	t.add("POST /lists/{id}/remove", login(limited(limits.Follow, h.lists.Remove)), "/lists/{id}/edit")
	t.add("POST /searches", login(limited(limits.Profile, h.lists.SaveSearch)), "/lists")
	t.add("POST /searches/delete", login(limited(limits.Profile, h.lists.ForgetSearch)), "/lists")

	// Settings.
	t.add("GET /settings", toSettings)
	t.add("GET /settings/profile", login(h.settings.profile))
	t.add("POST /settings/profile", login(limited(limits.Profile, h.settings.editProfile)))
	t.add("GET /settings/notifications", login(h.notifications.settings))
	t.add("POST /settings/notifications", login(limited(limits.Profile, h.notifications.changeSettings)))
	t.add("GET /settings/muted", login(h.settings.muted))
	t.add("GET /settings/blocked", login(h.settings.blocked))
	t.add("GET /settings/data", login(h.data.settings))
	t.add("POST /settings/export", login(limited(limits.Export, h.data.export)), "/settings/data")
	t.add("GET /settings/delete", login(h.data.deleteForm))
	t.add("POST /settings/delete", login(h.data.deleteAccount))
	t.add("GET /settings/invites", login(inviter(h.invites.list)))
	t.add("POST /settings/invites", login(limited(limits.Invite, inviter(h.invites.create))))
	t.add("POST /settings/invites/end", login(limited(limits.Moderate, inviter(h.invites.revoke))), "/settings/invites")
	t.add("GET /settings/security", login(h.security.settings))
	t.add("POST /settings/security/password", login(h.security.changePassword), view.SecurityPath)
	t.add("POST /settings/security/end", login(limited(limits.Profile, h.security.endSession)), view.SecurityPath)
	t.add("POST /settings/security/others", login(limited(limits.Profile, h.security.endOthers)), view.SecurityPath)
	t.add("GET /settings/security/app", login(h.security.appPage))
	t.add("POST /settings/security/app", login(h.security.setUpApp), view.SecurityPath)
	t.add("POST /settings/security/confirm", login(h.security.confirmApp), view.SecurityPath)
	t.add("POST /settings/security/codes", login(h.security.renewCodes), view.SecurityPath)
	t.add("POST /settings/security/off", login(h.security.turnOffApp), view.SecurityPath)
	t.add("POST /settings/security/passkeys", login(h.passkeys.add), view.SecurityPath)
	t.add("POST /settings/security/passkeys-options", login(h.passkeys.makeOptions), view.SecurityPath)
	t.add("POST /settings/security/passkeys-remove", login(h.passkeys.remove), view.SecurityPath)
	t.add("POST /settings/picture", login(limited(limits.Profile, h.pictures.SetPortrait)), "/settings/profile")
	t.add("GET /settings/import", login(h.imports.Page))
	t.add("POST /settings/import", login(limited(limits.Profile, h.imports.Begin)))
	t.add("POST /settings/import/stop", login(limited(limits.Profile, h.imports.Stop)), request.ImportPath)

	// Addresses of mails. A site without a mail server has none of these pages, but knows that some
	// have a secret in their address.
	if !app.Email.IsOn() {
		t.guard = func(request.Page) request.Page { return missing }
	}
	t.add("GET /settings/email", login(h.email.Settings))
	t.add("POST /settings/email", login(h.email.Set))
	t.add("POST /settings/email/remove", login(h.email.Remove), view.EmailPath)
	t.add("POST /settings/email/digest", login(limited(limits.Profile, h.email.Digest)), view.EmailPath)
	t.add("GET /forgot", h.email.ForgotPage)
	t.add("POST /forgot", request.LimitedForAll(limits.Reset, h.email.Forgot))
	t.add("GET /confirm/{token}", h.email.ConfirmPage)
	t.add("POST /confirm/{token}", h.email.Confirm)
	t.add("GET /unsubscribe/{token}", h.email.StopPage)
	t.add("POST /unsubscribe/{token}", h.email.Stop)

	t.guard = moderator
	t.add("GET /moderation/signups", h.applications.Page)
	t.add("POST /moderation/signups", limited(limits.Moderate, h.applications.Decide))
	t.add("GET /moderation/blocks", h.blocks.Page)
	t.add("POST /moderation/blocks", limited(limits.Moderate, h.blocks.Add))
	t.add("POST /moderation/blocks/remove", limited(limits.Moderate, h.blocks.Remove), "/moderation/blocks")
	t.add("GET /moderation", h.moderation.queue)
	t.add("POST /moderation/take", limited(limits.Moderate, h.moderation.take), "/moderation")
	t.add("GET /moderation/case", h.moderation.casePage)
	t.add("POST /moderation/decide", limited(limits.Moderate, h.moderation.decide), "/moderation")
	t.add("POST /moderation/return", limited(limits.Moderate, h.moderation.release), "/moderation")
	t.add("GET /moderation/people", h.moderation.peoplePage)
	t.add("GET /moderation/tags", h.tagRules.Page)
	t.add("POST /moderation/tags", limited(limits.Moderate, h.tagRules.Decide))
	t.add("GET /moderation/audit", h.moderation.auditLog)

	t.guard = admin
	t.add("GET /moderation/site", h.site.Page)
	t.add("POST /moderation/site", limited(limits.Moderate, h.site.Save))
	t.add("GET /moderation/site/{page}", h.site.TextPage)
	t.add("POST /moderation/site/{page}", limited(limits.Moderate, h.site.SaveText))
	t.add("GET /moderation/overview", h.overview.page)

	t.guard = anybody
	t.add("/", s.notFound, "/home")
	t.redirect()
	return t.routes
}

// newMux returns what serves the routes, static files and health checks.
func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.pattern, s.site.Handler(r.pattern, r.form, r.page))
		s.access.Secret = append(s.access.Secret, httpserver.SecretPrefix(r.pattern)...)
	}
	mux.Handle("GET /static/{file}", static.WithFallback(s.site.Handler("GET /static/{file}", "", missing)))
	mux.Handle("GET /drawn/{file}", drawnAvatar(s.site.Handler("GET /drawn/{file}", "", missing)))
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	return mux
}

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
