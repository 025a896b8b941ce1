package web

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"retwis/internal/i18n"
	"retwis/internal/social/limits"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/request"
	"retwis/internal/web/static"
	"retwis/internal/web/view"
)

// route is a page with the pattern of the requests that it serves.
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
	guard  guard // of the routes added next
}

// add adds a route. form is the path of the page with the form for a POST, with the wildcards
// {name} and {id} of the route. By default the form is at the address of the POST.
func (t *table) add(pattern string, page request.Page, form ...string) {
	t.routes = append(t.routes, route{pattern, t.guard(page), strings.Join(form, ""), t.guard})
}

// redirect adds, for each POST whose address has no page, a GET that redirects to the page with the
// form: browsers may open such an address from their history.
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

// routes lists every page of the site and its guard. login redirects visitors to the log-in page,
// limited limits how often a user does something, and moderator, admin
// and inviter hide a page from everybody else, with the status 404.
func (s *Server) routes() []route {
	h, app := s.handlers, s.app
	login, limited := request.RequireLogin, request.Limited
	t := table{guard: anybody}

	// Visitors.
	t.add("GET /{$}", h.landing)
	t.add("GET /register", h.signUpForm)
	t.add("POST /register", h.signUp)
	t.add("GET /register/name", request.LimitedForAll(limits.Search, h.checkName))
	t.add("GET /login", h.loginForm)
	t.add("POST /login", h.login)
	t.add("GET /login/code", h.loginCodeForm)
	t.add("POST /login/code", h.loginCode)
	t.add("POST /login/passkey", request.LimitedForAll(limits.Passkey, h.passkeyLogin), view.LoginPath("/home"))
	t.add("POST /login/passkey-options", request.LimitedForAll(limits.Passkey, h.passkeyLoginOptions), view.LoginPath("/home"))
	t.add("GET /reset/{token}", h.resetPasswordForm)
	t.add("POST /reset/{token}", h.resetPassword)
	t.add("GET /invite/{token}", h.invited)
	t.add("POST /logout", h.logout, "/")
	t.add("POST /language", changeLanguage, "/")

	// The site, and files that browsers and search engines request from every site.
	t.add("GET /robots.txt", h.robots)
	t.add("GET /sitemap.xml", h.sitemap)
	t.add("GET /sitemap/{page}", h.sitemapPage)
	t.add("GET /about", h.about)
	t.add("GET /rules", h.rules)
	t.add("GET /privacy", h.privacy)
	t.add("GET /terms", h.terms)
	t.add("GET /site.webmanifest", manifest)
	t.add("GET /offline", offline)
	t.add("GET /sw.js", serviceWorker)
	t.add("GET /favicon.ico", icon)
	t.add("GET /.well-known/change-password", toSecurity)

	// Reading.
	t.add("GET /home", login(h.home))
	t.add("POST /home/steps", login(h.hideSteps), "/home")
	t.add("GET /explore", h.explore)
	t.add("GET /timeline", h.publicTimeline)
	t.add("GET /timeline.atom", inFormat(h.timelineFeed, view.AtomSuffix))
	t.add("GET /timeline.json", inFormat(h.timelineFeed, view.JSONSuffix))
	t.add("GET /notifications", login(h.notificationsPage))
	t.add("GET /bookmarks", login(h.bookmarks))
	t.add("GET /search", request.LimitedForAll(limits.Search, h.searchPage))
	t.add("GET /explore/people", h.peopleToFollow)
	t.add("GET /suggest", h.complete)
	t.add("GET /tag/{name}", orFeed(h.tagFeed, h.tagPage))
	t.add("GET /live", h.events)

	// Posts. /post/{id} is for archives, which contain IDs without the names of authors.
	t.add("POST /post", limited(limits.Post, h.createPost), "/home")
	t.add("GET /u/{name}/{id}", h.postPage)
	t.add("GET /compose", login(h.compose))
	t.add("GET /u/{name}/{id}/more", h.postMenu)
	t.add("GET /u/{name}/{id}/reply", login(h.replyForm))
	t.add("GET /u/{name}/{id}/likes", h.peopleOfPost("likes", i18n.T("Liked by"), app.Reactions.Likers))
	t.add("GET /u/{name}/{id}/reposts", h.peopleOfPost("reposts", i18n.T("Reposted by"), app.Reactions.Reposters))
	t.add("GET /u/{name}/{id}/history", h.postHistory)
	t.add("POST /u/{name}/{id}/reply", limited(limits.Reply, h.reply), "/u/{name}/{id}")
	t.add("GET /u/{name}/{id}/edit", login(h.editPostForm))
	t.add("POST /u/{name}/{id}/edit", limited(limits.Edit, h.editPost), "/u/{name}/{id}")
	t.add("GET /u/{name}/{id}/delete", login(h.deletePostForm))
	t.add("POST /u/{name}/{id}/delete", login(limited(limits.Delete, h.deletePost)), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/like", login(limited(limits.Like, h.postAction(app.Reactions.Like))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/unlike", login(limited(limits.Like, h.postAction(app.Reactions.Unlike))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/repost", login(limited(limits.Repost, h.postAction(h.repost))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/unrepost", login(limited(limits.Repost, h.postAction(app.Posts.Unrepost))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/bookmark", login(limited(limits.Like, h.postAction(app.Reactions.Bookmark))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/unbookmark", login(limited(limits.Like, h.postAction(app.Reactions.Unbookmark))), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/pin", login(limited(limits.Like, h.pin)), "/u/{name}/{id}")
	t.add("POST /u/{name}/{id}/unpin", login(limited(limits.Like, h.unpin)), "/u/{name}/{id}")
	t.add("GET /post/{id}", h.postByID)
	t.add("GET /u/{name}/{id}/report", login(h.reportPostForm))
	t.add("POST /u/{name}/{id}/report", login(limited(limits.Report, h.reportPost)), "/u/{name}/{id}")

	// Pictures.
	t.add("POST /media", request.JSONErrors(h.uploadPicture), "/home")
	t.add("GET /media/{id}/{file}", h.pictureFile)

	// People.
	t.add("GET /u/{name}", orFeed(h.profileFeed, h.profileTab("posts")))
	t.add("GET /u/{name}/replies", h.profileTab("replies"))
	t.add("GET /u/{name}/likes", h.profileTab("likes"))
	t.add("GET /u/{name}/followers", h.profilePeople("followers", app.Follows.Followers))
	t.add("GET /u/{name}/following", h.profilePeople("following", app.Follows.Following))
	t.add("POST /u/{name}/follow", login(limited(limits.Follow, h.relate("", app.Follows.Follow))), "/u/{name}")
	t.add("POST /u/{name}/unfollow", login(limited(limits.Follow, h.relate("unfollowed", app.Follows.Unfollow))), "/u/{name}")
	t.add("GET /u/{name}/mute", login(h.relationForm("mute")))
	t.add("POST /u/{name}/mute", login(limited(limits.Follow, h.relateUntil("muted", app.Relations.Mute))))
	t.add("POST /u/{name}/unmute", login(limited(limits.Follow, h.relate("unmuted", app.Relations.Unmute))), "/u/{name}")
	t.add("GET /u/{name}/block", login(h.relationForm("block")))
	t.add("POST /u/{name}/block", login(limited(limits.Follow, h.relateUntil("blocked", app.Relations.Block))))
	t.add("POST /u/{name}/unblock", login(limited(limits.Follow, h.relate("unblocked", app.Relations.Unblock))), "/u/{name}")
	t.add("POST /u/{name}/remove", login(limited(limits.Follow, h.relate("removed", app.Relations.RemoveFollower))), "/u/{name}")
	t.add("POST /u/{name}/dismiss", login(limited(limits.Follow, h.dismiss)), "/u/{name}")
	t.add("POST /tag/{name}/follow", login(limited(limits.Follow, h.changeTag(app.Tags.FollowTag))), "/tag/{name}")
	t.add("POST /tag/{name}/unfollow", login(limited(limits.Follow, h.changeTag(app.Tags.UnfollowTag))), "/tag/{name}")
	t.add("GET /u/{name}/lists", login(h.chooseListsForm))
	t.add("POST /u/{name}/lists", login(limited(limits.Follow, h.chooseLists)), "/u/{name}")
	t.add("GET /u/{name}/report", login(h.reportUserForm))
	t.add("POST /u/{name}/report", login(limited(limits.Report, h.reportUser)), "/u/{name}")
	t.add("GET /appeal", login(h.appealForm))
	t.add("POST /appeal", login(limited(limits.Report, h.appeal)))

	// Lists of people and saved searches, which are private.
	t.add("GET /lists", login(h.listsPage))
	t.add("POST /lists", login(limited(limits.Profile, h.createList)))
	t.add("GET /lists/{id}", login(h.listPage))
	t.add("GET /lists/{id}/edit", login(h.editListForm))
	t.add("POST /lists/{id}/edit", login(limited(limits.Profile, h.editList)))
	t.add("POST /lists/{id}/delete", login(limited(limits.Profile, h.deleteList)), "/lists/{id}/edit")
	t.add("POST /lists/{id}/add", login(limited(limits.Follow, h.addToList)), "/lists/{id}/edit")
	t.add("POST /lists/{id}/remove", login(limited(limits.Follow, h.removeFromList)), "/lists/{id}/edit")
	t.add("POST /searches", login(limited(limits.Profile, h.saveSearch)), "/lists")
	t.add("POST /searches/delete", login(limited(limits.Profile, h.forgetSearch)), "/lists")

	// Settings.
	t.add("GET /settings", login(settingsPage))
	t.add("GET /settings/profile", login(h.profileSettings))
	t.add("POST /settings/profile", login(limited(limits.Profile, h.editProfile)))
	t.add("GET /settings/notifications", login(h.notificationSettings))
	t.add("POST /settings/notifications", login(limited(limits.Profile, h.changeNotificationSettings)))
	t.add("GET /settings/appearance", login(h.appearance))
	t.add("POST /settings/appearance", login(h.changeAppearance))
	t.add("GET /settings/muted", login(h.hiddenPeople(hiddenList{"/settings/muted", "unmute", i18n.T("You haven't muted anyone."), app.Relations.MutedPeople})))
	t.add("GET /settings/blocked", login(h.hiddenPeople(hiddenList{"/settings/blocked", "unblock", i18n.T("You haven't blocked anyone."), app.Relations.BlockedPeople})))
	t.add("GET /settings/data", login(h.dataSettings))
	t.add("POST /settings/export", login(limited(limits.Export, h.exportData)), "/settings/data")
	t.add("GET /settings/delete", login(h.deleteAccountForm))
	t.add("POST /settings/delete", login(h.deleteAccount))
	t.add("GET /settings/invites", login(inviter(h.invites)))
	t.add("POST /settings/invites", login(limited(limits.Invite, inviter(h.createInvite))))
	t.add("POST /settings/invites/end", login(limited(limits.Moderate, inviter(h.revokeInvite))), "/settings/invites")
	t.add("GET /settings/security", login(h.securitySettings))
	t.add("POST /settings/security/password", login(h.changePassword), view.SecurityPath)
	t.add("POST /settings/security/end", login(limited(limits.Profile, h.endSession)), view.SecurityPath)
	t.add("POST /settings/security/others", login(limited(limits.Profile, h.endOtherSessions)), view.SecurityPath)
	t.add("GET /settings/security/app", login(h.authenticatorPage))
	t.add("POST /settings/security/app", login(h.setUpAuthenticator), view.SecurityPath)
	t.add("POST /settings/security/confirm", login(h.confirmAuthenticator), view.SecurityPath)
	t.add("POST /settings/security/codes", login(h.renewCodes), view.SecurityPath)
	t.add("POST /settings/security/off", login(h.turnOffAuthenticator), view.SecurityPath)
	t.add("POST /settings/security/passkeys", login(h.addPasskey), view.SecurityPath)
	t.add("POST /settings/security/passkeys-options", login(h.passkeyOptions), view.SecurityPath)
	t.add("POST /settings/security/passkeys-remove", login(h.removePasskey), view.SecurityPath)
	t.add("GET /settings/import", login(h.importPage))
	t.add("POST /settings/import", login(limited(limits.Profile, h.beginImport)))
	t.add("POST /settings/import/stop", login(limited(limits.Profile, h.stopImport)), request.ImportPath)

	// Addresses in emails. A site without a mail server has none of these pages, but still treats
	// the addresses as secret.
	if !app.Email.IsOn() {
		t.guard = func(request.Page) request.Page { return missing }
	}
	t.add("GET /settings/email", login(h.emailSettings))
	t.add("POST /settings/email", login(h.setEmail))
	t.add("POST /settings/email/remove", login(h.removeEmail), view.EmailPath)
	t.add("POST /settings/email/digest", login(limited(limits.Profile, h.setDigest)), view.EmailPath)
	t.add("GET /forgot", h.forgotForm)
	t.add("POST /forgot", request.LimitedForAll(limits.Reset, h.forgot))
	t.add("GET /confirm/{token}", h.confirmEmailForm)
	t.add("POST /confirm/{token}", h.confirmEmail)
	t.add("GET /unsubscribe/{token}", h.stopDigestForm)
	t.add("POST /unsubscribe/{token}", h.stopDigest)

	t.guard = moderator
	t.add("GET /moderation/signups", h.applicationsPage)
	t.add("POST /moderation/signups", limited(limits.Moderate, h.decideApplication))
	t.add("GET /moderation/blocks", h.blocks)
	t.add("POST /moderation/blocks", limited(limits.Moderate, h.addBlock))
	t.add("POST /moderation/blocks/remove", limited(limits.Moderate, h.removeBlock), "/moderation/blocks")
	t.add("GET /moderation", h.overview)
	t.add("GET /moderation/overview", toOverview)
	t.add("GET /moderation/reports", h.reportQueue)
	t.add("POST /moderation/take", limited(limits.Moderate, h.takeReport), view.ReportsPath)
	t.add("GET /moderation/case", h.casePage)
	t.add("POST /moderation/decide", limited(limits.Moderate, h.decideReport), view.ReportsPath)
	t.add("POST /moderation/return", limited(limits.Moderate, h.returnReport), view.ReportsPath)
	t.add("GET /moderation/people", h.restrictedPeople)
	t.add("GET /moderation/tags", h.tagRules)
	t.add("POST /moderation/tags", limited(limits.Moderate, h.decideTag))
	t.add("GET /moderation/audit", h.auditLog)

	t.guard = admin
	t.add("GET /moderation/site", h.siteSettings)
	t.add("POST /moderation/site", limited(limits.Moderate, h.saveSiteSettings))
	t.add("GET /moderation/site/{page}", h.siteText)
	t.add("POST /moderation/site/{page}", limited(limits.Moderate, h.saveSiteText))

	t.guard = anybody
	t.add("/", s.notFound, "/home")
	t.redirect()
	return t.routes
}

// newMux returns a mux for the routes, static files and health checks.
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

// missing returns ErrNotFound.
func missing(*request.Request) error { return request.ErrNotFound }

// notFound serves every address without a page, and requests whose method the page does not
// support. It redirects an address with a trailing slash to the page without the slash, if there is
// one.
func (s *Server) notFound(req *request.Request) error {
	probe := *req.R
	if path := strings.TrimSuffix(req.R.URL.EscapedPath(), "/"); path != req.R.URL.EscapedPath() && (req.R.Method == http.MethodGet || req.R.Method == http.MethodHead) {
		if page, err := req.R.URL.Parse(path); err == nil && page.Host == req.R.URL.Host {
			probe.URL = page
			if _, pattern := s.mux.Handler(&probe); pattern != "/" {
				return req.Redirect(request.LocalPath(path))
			}
		}
		probe.URL = req.R.URL
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		probe.Method = method
		if _, pattern := s.mux.Handler(&probe); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		req.W.Header().Set("Allow", strings.Join(allowed, ", "))
		return &request.Error{Status: http.StatusMethodNotAllowed, Detail: i18n.T("This page doesn't support that request.")}
	}
	return request.ErrNotFound
}

// AdminHandler returns a handler that serves metrics, health checks and profiles, for operators
// only. The profiles omit the command line, which may contain the password of the database.
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
