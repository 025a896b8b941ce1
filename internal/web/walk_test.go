package web_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The walkers differ in their relation to the author.
const (
	stranger = iota // not logged in
	blocked         // by the author
	follower
	author
	walkers
)

// walk is a request to a route and the status for each walker.
type walk struct {
	path   string // {id} is the author's post
	form   string // alternating names and values, separated by blanks
	status [walkers]int
}

// everybody returns the same status for all walkers.
func everybody(status int) [walkers]int { return [walkers]int{status, status, status, status} }

// signedIn returns a status for walkers who are logged in; strangers are redirected to the log-in
// page.
func signedIn(status int) [walkers]int { return [walkers]int{303, status, status, status} }

// visible is the status of pages that a block hides.
var visible = [walkers]int{200, 404, 200, 200}

// walks maps all routes of the site to their walks. TestWalk fails if a route is missing: add its
// status for each walker.
var walks = map[string]walk{
	"GET /{$}":                         {"/", "", [walkers]int{200, 303, 303, 303}},
	"GET /register":                    {"/register", "", [walkers]int{200, 303, 303, 303}},
	"POST /register":                   {"/register", "", everybody(422)},
	"GET /login":                       {"/login", "", [walkers]int{200, 303, 303, 303}},
	"POST /login":                      {"/login", "", everybody(422)},
	"GET /logout":                      {"/logout", "", everybody(303)},
	"POST /logout":                     {}, // ends the session, see TestAccounts
	"POST /language":                   {"/language", "language de back /about", everybody(303)},
	"GET /language":                    {"/language", "", everybody(303)},
	"GET /home":                        {"/home", "", signedIn(200)},
	"GET /post":                        {"/post", "", everybody(303)},
	"POST /post":                       {"/post", "", signedIn(422)},
	"GET /explore":                     {"/explore", "", everybody(200)},
	"GET /timeline":                    {"/timeline", "", everybody(200)},
	"GET /u/{name}":                    {"/u/author", "", visible},
	"GET /u/{name}/followers":          {"/u/author/followers", "", visible},
	"GET /u/{name}/following":          {"/u/author/following", "", visible},
	"GET /u/{name}/follow":             {"/u/author/follow", "", everybody(303)},
	"POST /u/{name}/follow":            {"/u/author/follow", "", [walkers]int{303, 404, 303, 400}},
	"GET /u/{name}/unfollow":           {"/u/author/unfollow", "", everybody(303)},
	"POST /u/{name}/unfollow":          {"/u/blocked/unfollow", "", signedIn(303)},
	"GET /u/{name}/replies":            {"/u/author/replies", "", visible},
	"GET /u/{name}/likes":              {"/u/author/likes", "", visible},
	"GET /u/{name}/mute":               {"/u/author/mute", "", [walkers]int{303, 404, 200, 404}},
	"POST /u/{name}/mute":              {},
	"GET /u/{name}/unmute":             {"/u/author/unmute", "", everybody(303)},
	"POST /u/{name}/unmute":            {"/u/author/unmute", "", [walkers]int{303, 404, 303, 303}},
	"GET /u/{name}/block":              {"/u/author/block", "", [walkers]int{303, 404, 200, 404}},
	"POST /u/{name}/block":             {},
	"GET /u/{name}/unblock":            {"/u/author/unblock", "", everybody(303)},
	"POST /u/{name}/unblock":           {"/u/follower/unblock", "", signedIn(303)},
	"GET /u/{name}/remove":             {"/u/author/remove", "", everybody(303)},
	"GET /u/{name}/dismiss":            {"/u/author/dismiss", "", everybody(303)},
	"POST /u/{name}/dismiss":           {"/u/author/dismiss", "", [walkers]int{303, 404, 303, 400}},
	"GET /explore/people":              {"/explore/people", "", everybody(200)},
	"POST /u/{name}/remove":            {"/u/blocked/remove", "", signedIn(303)},
	"POST /u/{name}/{id}/pin":          {"/u/author/{id}/pin", "", [walkers]int{303, 404, 403, 303}},
	"POST /u/{name}/{id}/unpin":        {"/u/author/{id}/unpin", "", signedIn(303)},
	"GET /settings":                    {"/settings", "", signedIn(200)},
	"GET /settings/profile":            {"/settings/profile", "", signedIn(200)},
	"POST /settings/profile":           {"/settings/profile", "", signedIn(303)},
	"GET /settings/notifications":      {"/settings/notifications", "", signedIn(200)},
	"POST /settings/notifications":     {"/settings/notifications", "", signedIn(303)},
	"GET /settings/muted":              {"/settings/muted", "", signedIn(200)},
	"GET /settings/blocked":            {"/settings/blocked", "", signedIn(200)},
	"GET /settings/data":               {"/settings/data", "", signedIn(200)},
	"GET /settings/export":             {"/settings/export", "", everybody(303)},
	"POST /settings/export":            {"/settings/export", "", signedIn(200)},
	"GET /settings/delete":             {"/settings/delete", "", signedIn(200)},
	"POST /settings/delete":            {"/settings/delete", "password wrong", signedIn(422)},
	"GET /settings/invites":            {"/settings/invites", "", signedIn(404)},
	"POST /settings/invites":           {"/settings/invites", "uses 1 hours 24", signedIn(404)},
	"GET /settings/invites/end":        {"/settings/invites/end", "", everybody(303)},
	"POST /settings/invites/end":       {"/settings/invites/end", "invitation x", signedIn(404)},
	"GET /invite/{token}":              {"/invite/none", "", [walkers]int{403, 303, 303, 303}},
	"GET /notifications":               {"/notifications", "", signedIn(200)},
	"GET /bookmarks":                   {"/bookmarks", "", signedIn(200)},
	"GET /u/{name}/{id}":               {"/u/author/{id}", "", visible},
	"GET /u/{name}/{id}/likes":         {"/u/author/{id}/likes", "", visible},
	"GET /u/{name}/{id}/reposts":       {"/u/author/{id}/reposts", "", visible},
	"GET /u/{name}/{id}/history":       {"/u/author/{id}/history", "", visible},
	"GET /u/{name}/{id}/edit":          {"/u/author/{id}/edit", "", [walkers]int{303, 404, 403, 200}},
	"POST /u/{name}/{id}/edit":         {"/u/author/{id}/edit", "status edited", [walkers]int{403, 404, 403, 303}},
	"GET /u/{name}/{id}/delete":        {"/u/author/{id}/delete", "", [walkers]int{303, 404, 403, 200}},
	"POST /u/{name}/{id}/delete":       {"/u/author/{id}/delete", "", [walkers]int{303, 404, 403, 303}},
	"GET /u/{name}/{id}/reply":         {"/u/author/{id}/reply", "", [walkers]int{303, 404, 200, 200}},
	"GET /u/{name}/{id}/more":          {"/u/author/{id}/more", "", visible},
	"GET /compose":                     {"/compose", "", signedIn(200)},
	"GET /register/name":               {"/register/name?q=author", "", everybody(200)},
	"GET /offline":                     {"/offline", "", everybody(200)},
	"GET /sw.js":                       {"/sw.js", "", everybody(200)},
	"GET /home/steps":                  {"/home/steps", "", everybody(303)},
	"POST /home/steps":                 {"/home/steps", "", signedIn(303)},
	"GET /settings/appearance":         {"/settings/appearance", "", signedIn(200)},
	"POST /settings/appearance":        {"/settings/appearance", "theme dark", signedIn(303)},
	"POST /u/{name}/{id}/reply":        {"/u/author/{id}/reply", "status answer", [walkers]int{403, 404, 303, 303}},
	"GET /live":                        {}, // a stream, see TestLive
	"GET /tag/{name}":                  {"/tag/walk", "", everybody(200)},
	"GET /tag/{name}/follow":           {"/tag/walk/follow", "", everybody(303)},
	"POST /tag/{name}/follow":          {"/tag/walk/follow", "", signedIn(303)},
	"GET /tag/{name}/unfollow":         {"/tag/walk/unfollow", "", everybody(303)},
	"POST /tag/{name}/unfollow":        {"/tag/walk/unfollow", "", signedIn(303)},
	"GET /search":                      {"/search?q=walk", "", everybody(200)},
	"GET /suggest":                     {"/suggest?q=%40auth", "", everybody(200)},
	"GET /timeline.atom":               {"/timeline.atom", "", everybody(200)},
	"GET /timeline.json":               {"/timeline.json", "", everybody(200)},
	"GET /robots.txt":                  {"/robots.txt", "", everybody(200)},
	"GET /sitemap.xml":                 {"/sitemap.xml", "", everybody(200)},
	"GET /sitemap/{page}":              {"/sitemap/1.xml", "", everybody(200)},
	"GET /lists":                       {"/lists", "", signedIn(200)},
	"POST /lists":                      {"/lists", "name Friends", signedIn(303)},
	"GET /lists/{id}":                  {"/lists/{id}", "", signedIn(404)}, // lists of others, see TestLists
	"GET /lists/{id}/edit":             {"/lists/{id}/edit", "", signedIn(404)},
	"POST /lists/{id}/edit":            {"/lists/{id}/edit", "name x", signedIn(404)},
	"GET /lists/{id}/delete":           {"/lists/{id}/delete", "", everybody(303)},
	"POST /lists/{id}/delete":          {"/lists/{id}/delete", "", signedIn(303)},
	"GET /lists/{id}/add":              {"/lists/{id}/add", "", everybody(303)},
	"POST /lists/{id}/add":             {"/lists/{id}/add", "member author", signedIn(404)},
	"GET /lists/{id}/remove":           {"/lists/{id}/remove", "", everybody(303)},
	"POST /lists/{id}/remove":          {"/lists/{id}/remove", "member 1", signedIn(404)},
	"GET /u/{name}/lists":              {"/u/author/lists", "", [walkers]int{303, 404, 200, 200}},
	"POST /u/{name}/lists":             {"/u/author/lists", "", [walkers]int{303, 404, 303, 303}},
	"GET /searches":                    {"/searches", "", everybody(303)},
	"POST /searches":                   {"/searches", "q walk", signedIn(303)},
	"GET /searches/delete":             {"/searches/delete", "", everybody(303)},
	"POST /searches/delete":            {"/searches/delete", "q walk", signedIn(303)},
	"GET /u/{name}/report":             {"/u/author/report", "", signedIn(200)},
	"POST /u/{name}/report":            {"/u/author/report", "kind spam", [walkers]int{303, 200, 200, 400}},
	"GET /appeal":                      {"/appeal?of=post:{id}", "", signedIn(404)}, // by the author of a hidden post, see TestAppeal
	"POST /appeal":                     {"/appeal", "of post:{id} text why", signedIn(404)},
	"GET /u/{name}/{id}/report":        {"/u/author/{id}/report", "", signedIn(200)},
	"POST /u/{name}/{id}/report":       {"/u/author/{id}/report", "kind spam", [walkers]int{303, 200, 200, 400}},
	"GET /moderation":                  {"/moderation", "", everybody(404)}, // for moderators, see TestModeration
	"GET /moderation/reports":          {"/moderation/reports", "", everybody(404)},
	"GET /moderation/take":             {"/moderation/take", "", everybody(404)},
	"POST /moderation/take":            {"/moderation/take", "", everybody(404)},
	"GET /moderation/case":             {"/moderation/case?of=post:{id}", "", everybody(404)},
	"GET /moderation/decide":           {"/moderation/decide", "", everybody(404)},
	"POST /moderation/decide":          {"/moderation/decide", "of post:1 action delete", everybody(404)},
	"GET /moderation/return":           {"/moderation/return", "", everybody(404)},
	"POST /moderation/return":          {"/moderation/return", "of post:1", everybody(404)},
	"GET /moderation/people":           {"/moderation/people", "", everybody(404)},
	"GET /moderation/tags":             {"/moderation/tags", "", everybody(404)},
	"POST /moderation/tags":            {"/moderation/tags", "tag walk action block", everybody(404)},
	"GET /moderation/audit":            {"/moderation/audit", "", everybody(404)},
	"GET /moderation/overview":         {"/moderation/overview", "", everybody(404)}, // redirects to /moderation
	"GET /moderation/blocks":           {"/moderation/blocks", "", everybody(404)},   // for moderators, see TestBlocklist
	"POST /moderation/blocks":          {"/moderation/blocks", "kind word value x", everybody(404)},
	"GET /moderation/blocks/remove":    {"/moderation/blocks/remove", "", everybody(404)},
	"POST /moderation/blocks/remove":   {"/moderation/blocks/remove", "kind word value x", everybody(404)},
	"GET /moderation/signups":          {"/moderation/signups", "", everybody(404)}, // for moderators, see TestApproval
	"POST /moderation/signups":         {"/moderation/signups", "user 1 action approve", everybody(404)},
	"GET /moderation/site":             {"/moderation/site", "", everybody(404)}, // for admins, see TestSiteSettings
	"POST /moderation/site":            {"/moderation/site", "name Mine", everybody(404)},
	"GET /moderation/site/{page}":      {"/moderation/site/about", "", everybody(404)},
	"POST /moderation/site/{page}":     {"/moderation/site/about", "text mine", everybody(404)},
	"GET /about":                       {"/about", "", everybody(200)},
	"GET /rules":                       {"/rules", "", everybody(404)}, // there are none yet, see TestSitePages
	"GET /privacy":                     {"/privacy", "", everybody(404)},
	"GET /terms":                       {"/terms", "", everybody(404)},
	"GET /site.webmanifest":            {"/site.webmanifest", "", everybody(200)},
	"GET /favicon.ico":                 {"/favicon.ico", "", everybody(200)},
	"GET /.well-known/change-password": {"/.well-known/change-password", "", everybody(303)},
	"GET /static/{file}":               {"/static/none.css", "", everybody(404)},
	"GET /drawn/{file}":                {"/drawn/author.svg", "", everybody(200)},
	"GET /media":                       {"/media", "", everybody(303)},
	"POST /media":                      {"/media", "", [walkers]int{401, 400, 400, 400}},
	"GET /media/{id}/{file}":           {"/media/00000000000000000000000000000000/400.jpg", "", everybody(404)}, // see TestPictures
	"GET /post/{id}":                   {"/post/{id}", "", [walkers]int{302, 404, 302, 302}},
	"GET /settings/import":             {"/settings/import", "", signedIn(200)},
	"POST /settings/import":            {"/settings/import", "kind follows list author", signedIn(303)},
	"GET /settings/import/stop":        {"/settings/import/stop", "", everybody(303)},
	"POST /settings/import/stop":       {"/settings/import/stop", "", signedIn(303)},
	"GET /settings/email":              {"/settings/email", "", everybody(404)}, // without a mail server, see TestMailPages
	"POST /settings/email":             {"/settings/email", "address a@example.net", everybody(404)},
	"GET /settings/email/remove":       {"/settings/email/remove", "", everybody(404)},
	"GET /settings/email/digest":       {"/settings/email/digest", "", everybody(404)},
	"POST /settings/email/remove":      {"/settings/email/remove", "", everybody(404)},
	"POST /settings/email/digest":      {"/settings/email/digest", "", everybody(404)},
	"GET /forgot":                      {"/forgot", "", everybody(404)},
	"POST /forgot":                     {"/forgot", "account author", everybody(404)},
	"GET /confirm/{token}":             {"/confirm/1.x", "", everybody(404)},
	"POST /confirm/{token}":            {"/confirm/1.x", "", everybody(404)},
	"GET /unsubscribe/{token}":         {"/unsubscribe/1.x", "", everybody(404)},
	"POST /unsubscribe/{token}":        {"/unsubscribe/1.x", "", everybody(404)},
	"/":                                {"/nothing", "", everybody(404)},
}

func init() {
	for _, act := range []string{"pin", "unpin"} {
		walks["GET /u/{name}/{id}/"+act] = walk{"/u/author/{id}/" + act, "", everybody(303)}
	}
	for _, act := range []string{"like", "unlike", "repost", "unrepost", "bookmark", "unbookmark"} {
		path := "/u/{name}/{id}/" + act
		walks["GET "+path] = walk{"/u/author/{id}/" + act, "", everybody(303)}
		walks["POST "+path] = walk{"/u/author/{id}/" + act, "", [walkers]int{303, 404, 303, 303}}
	}
}

// Every route returns the expected status to each walker, and a blocked user finds the author's
// text nowhere.
func TestWalk(t *testing.T) {
	t.Parallel()
	patterns := setup(t).server.Patterns()
	for _, route := range patterns {
		if _, ok := walks[route]; !ok {
			t.Errorf("route %q is missing: add it to walks", route)
		}
	}
	for _, route := range slices.Sorted(maps.Keys(walks)) {
		w := walks[route]
		if !slices.Contains(patterns, route) {
			t.Errorf("the site has no route %q", route)
		}
		if w.path == "" {
			continue
		}
		t.Run(strings.ReplaceAll(route, "/", "_"), func(t *testing.T) {
			t.Parallel()
			walkRoute(t, route, w)
		})
	}
}

func walkRoute(t *testing.T, route string, w walk) {
	s := setup(t)
	people := [walkers]*visitor{stranger: s.visitor()}
	for who, name := range map[int]string{blocked: "blocked", follower: "follower", author: "author"} {
		people[who] = s.signedUp(name)
	}
	people[follower].send("/u/author/follow").want(303)
	const text = "the text of #walk"
	people[author].send("/post", "status", text+" and @blocked @follower").want(303)
	id := people[author].get("/u/author").posts()[0]
	people[follower].send("/u/author/" + id + "/repost").want(303)
	people[blocked].send("/u/author/" + id + "/bookmark").want(303)
	people[author].send("/u/blocked/block").want(303)

	path := strings.ReplaceAll(w.path, "{id}", id)
	for who, v := range people {
		var a *response
		if strings.HasPrefix(route, "POST ") {
			fields := strings.Fields(w.form)
			a = v.send(path, fields...)
		} else {
			a = v.get(path)
		}
		if a.status != w.status[who] {
			t.Errorf("walker %d at %s: status %d, want %d", who, route, a.status, w.status[who])
		}
		if strings.HasPrefix(route, "GET ") && a.header.Get("Location") == path {
			t.Errorf("walker %d at %s: a redirect to the same address", who, route)
		}
		if who == blocked && strings.Contains(a.body, "the text of") {
			t.Errorf("a blocked user sees the text at %s", route)
		}
		// With no-referrer, the Origin of a form is null, and over plain HTTP the form is refused.
		if policy := a.header.Get("Referrer-Policy"); policy == "no-referrer" && strings.Contains(a.body, `method="post"`) {
			t.Errorf("walker %d at %s: forms of a page with Referrer-Policy %s", who, route, policy)
		}
		if a.status >= http.StatusInternalServerError {
			t.Errorf("walker %d at %s: %s", who, route, shorten(a.body))
		}
	}
}
