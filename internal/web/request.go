package web

import (
	"context"
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
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context // that of the request, with its deadline
	viewer social.User     // the session user, if signed
	as     *social.Viewer  // the session user as a viewer of posts; see person
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
func (req *request) address() netip.Addr { return httpserver.ClientAddress(req.r, req.server.proxies) }

// device is what the client calls itself, so short that people recognize it.
func (req *request) device() string { return httpserver.DeviceName(req.r.UserAgent()) }

// person returns the session user as a viewer of posts, or a stranger.
func (req *request) person() (*social.Viewer, error) {
	if req.as != nil && req.as.User == req.viewer {
		return req.as, nil
	}
	var err error
	req.as, err = req.server.app.Viewers.Get(req.ctx, req.viewer)
	return req.as, err
}

// show returns posts for a page.
func (req *request) show(v *social.Viewer, items []timeline.Item) (view.Posts, error) {
	list := view.NewPosts(v, items)
	return list, req.nameParents(list)
}

// nameParents reads the posts that these reply to, for the names of their authors: one round
// trip at most.
func (req *request) nameParents(list view.Posts) error {
	ids := list.UnnamedParents()
	if len(ids) == 0 {
		return nil
	}
	parents, err := req.server.app.Views.Get(req.ctx, ids...)
	if err != nil {
		return err
	}
	list.NameParents(ids, parents)
	return nil
}
