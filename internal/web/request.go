package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/view"
)

// request is one HTTP request, with its session.
type request struct {
	site   *site
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context // that of the request, with its deadline
	viewer social.User     // the session user, if signed
	as     *social.Viewer  // the session user as a viewer of posts; see asViewer
	signed bool
	secret string // that of the session, if signed
	known  bool   // signed is known
	id     string // identifies the request in the log and on error pages
	status int

	outdated *atomic.Bool // whether the page has something that others may have changed; nil for no

	isFresh  bool    // the viewer has just changed something
	fresh    []int64 // the posts among it
	formRead bool    // the form has arrived completely, or the request has no form
	draft    string  // the text of a post that came with the request

	stream func() // sends the rest of the response, for as long as it takes; nil for none
}

// address is where the request comes from.
func (req *request) address() netip.Addr { return httpserver.ClientAddress(req.r, req.site.proxies) }

// asViewer returns the session user as a viewer of posts, or a stranger.
func (req *request) asViewer() (*social.Viewer, error) {
	if req.as != nil && req.as.User == req.viewer {
		return req.as, nil
	}
	var err error
	req.as, err = req.site.viewers.Get(req.ctx, req.viewer)
	return req.as, err
}

// posts returns posts for a page.
func (h *reader) posts(req *request, v *social.Viewer, items []timeline.Item) (view.Posts, error) {
	list := view.NewPosts(v, items)
	return list, h.nameParents(req, list)
}

// nameParents reads the posts that these reply to, for the names of their authors: one round
// trip at most.
func (h *reader) nameParents(req *request, list view.Posts) error {
	ids := list.UnnamedParents()
	if len(ids) == 0 {
		return nil
	}
	parents, err := h.views.Get(req.ctx, ids...)
	if err != nil {
		return err
	}
	list.NameParents(ids, parents)
	return nil
}

// log is the log of the site, for lines about the request.
func (req *request) log() *slog.Logger { return req.site.log.With("request", req.id) }

// forgetUser makes the rest of a request one of a visitor.
func (req *request) forgetUser() {
	req.viewer, req.signed, req.as, req.known = social.User{}, false, nil, true
}
