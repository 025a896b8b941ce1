package web

import "net/http"

func (s *Server) bookmarks(req *request) error {
	if !req.signed {
		return req.toLogin()
	}
	v, err := req.person()
	if err != nil {
		return err
	}
	cursor := req.r.URL.Query().Get("before")
	page, err := s.social.BookmarkedPosts(req.ctx, v, cursor, homePosts)
	if err != nil {
		return err
	}
	list := feed{
		Path: "/bookmarks", Later: cursor != "", More: moreOf("/bookmarks", page.Next),
		Empty: "No bookmarks yet. Save a post with its bookmark button to find it here again.",
		Step:  "See what people write", To: "/timeline",
	}
	if list.Posts, err = req.show(v, page.Items); err != nil {
		return err
	}
	return req.render(http.StatusOK, bookmarksPage(req.page("Bookmarks"), list))
}
