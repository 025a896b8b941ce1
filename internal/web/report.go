package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/web/view"
)

func (s *Server) reportUserForm(req *request) error {
	form, _, err := req.userReport()
	if err != nil {
		return err
	}
	return req.renderReport(http.StatusOK, form)
}

// userReport returns the form for the user in the address. It is the same for one who has
// blocked the viewer and for one who does not exist: the form does not betray a block, and
// who is insulted and then blocked can report it.
func (req *request) userReport() (form view.ReportForm, about social.User, err error) {
	user, _, err := req.visibleOwner()
	var page *pageError
	name := req.r.PathValue("name")
	switch {
	case err == nil:
		path := view.ProfilePath(user.Name)
		return view.ReportForm{Action: path + "/report", Back: path, Name: user.Name, Person: true}, user, nil
	case !errors.As(err, &page) || social.CheckName(name) != nil:
		return view.ReportForm{}, social.User{}, err
	}
	return view.ReportForm{Action: view.ProfilePath(name) + "/report", Back: "/home", Name: name, Person: true, Unseen: true}, user, nil
}

func (s *Server) reportUser(req *request) error {
	form, user, err := req.userReport()
	if err != nil {
		return err
	}
	form.Kind, form.Text = req.r.PostFormValue("kind"), req.r.PostFormValue("text")
	return req.reported(form, user, s.app.Reports.ReportUser(req.ctx, req.viewer, user.ID, form.Kind, form.Text))
}

func (s *Server) reportPostForm(req *request) error {
	form, _, err := req.postReport()
	if err != nil {
		return err
	}
	return req.renderReport(http.StatusOK, form)
}

// postReport returns the form for the post in the address, and the post. Of one that the
// viewer does not see, only the id is known; see userReport.
func (req *request) postReport() (form view.ReportForm, post social.Post, err error) {
	v, err := req.person()
	if err != nil {
		return view.ReportForm{}, social.Post{}, err
	}
	item, err := req.item(v)
	name := req.r.PathValue("name")
	id, ok := parseID(req.r.PathValue("id"))
	switch {
	case errors.Is(err, errNoPost) && ok && social.CheckName(name) == nil:
		return view.ReportForm{Action: view.PathOf(name, id) + "/report", Back: "/home", Name: name, Unseen: true}, social.Post{ID: id}, nil
	case err != nil:
		return view.ReportForm{}, social.Post{}, err
	}
	path := view.PostPath(item.Post.Post)
	form = view.ReportForm{Action: path + "/report", Back: path, Name: item.Post.Author.Name}
	form.Post, err = req.show(v, []timeline.Item{{Entry: item.Post, Post: item.Post, Marks: item.Marks}})
	return form, item.Post.Post, err
}

func (s *Server) reportPost(req *request) error {
	form, post, err := req.postReport()
	if err != nil {
		return err
	}
	form.Kind, form.Text = req.r.PostFormValue("kind"), req.r.PostFormValue("text")
	return req.reported(form, post.Author, s.app.Reports.ReportPost(req.ctx, req.viewer, post.ID, form.Kind, form.Text))
}

// reported answers a report.
func (req *request) reported(form view.ReportForm, about social.User, err error) error {
	var invalid *social.InvalidError
	if errors.As(err, &invalid) && invalid.Field != "target" {
		form.Problem = invalid.Reason
		return req.renderReport(http.StatusUnprocessableEntity, form)
	}
	unknown := form.Unseen && errors.Is(err, social.ErrNotFound) // which the answer does not tell
	if err != nil && !unknown {
		return err
	}
	if !unknown {
		req.security("report", about)
	}
	form.Sent = true
	return req.renderReport(http.StatusOK, form)
}

func (req *request) renderReport(status int, form view.ReportForm) error {
	what := "Report " + form.Name
	if !form.Person {
		what = "Report a post by " + form.Name
	}
	return req.render(status, view.ReportPage(req.page(what), form))
}
