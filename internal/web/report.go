package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
)

// reportForm is the form to report a post or a person, filled in with rejected input.
type reportForm struct {
	Action  string // where it is sent
	Back    string
	Name    string   // of the person
	Post    postList // none, or one
	Person  bool     // not a post
	Unseen  bool     // the viewer does not see it, or it does not exist
	Kind    string
	Text    string
	Problem string
	Sent    bool
}

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
func (req *request) userReport() (form reportForm, about social.User, err error) {
	user, _, err := req.visibleOwner()
	var page *pageError
	name := req.r.PathValue("name")
	switch {
	case err == nil:
		path := profilePath(user.Name)
		return reportForm{Action: path + "/report", Back: path, Name: user.Name, Person: true}, user, nil
	case !errors.As(err, &page) || social.CheckName(name) != nil:
		return reportForm{}, social.User{}, err
	}
	return reportForm{Action: profilePath(name) + "/report", Back: "/home", Name: name, Person: true, Unseen: true}, user, nil
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
func (req *request) postReport() (form reportForm, post social.Post, err error) {
	v, err := req.person()
	if err != nil {
		return reportForm{}, social.Post{}, err
	}
	item, err := req.item(v)
	name := req.r.PathValue("name")
	id, ok := parseID(req.r.PathValue("id"))
	switch {
	case errors.Is(err, errNoPost) && ok && social.CheckName(name) == nil:
		return reportForm{Action: pathOf(name, id) + "/report", Back: "/home", Name: name, Unseen: true}, social.Post{ID: id}, nil
	case err != nil:
		return reportForm{}, social.Post{}, err
	}
	path := postPath(item.Post.Post)
	form = reportForm{Action: path + "/report", Back: path, Name: item.Post.Author.Name}
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
func (req *request) reported(form reportForm, about social.User, err error) error {
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

func (req *request) renderReport(status int, form reportForm) error {
	what := "Report " + form.Name
	if !form.Person {
		what = "Report a post by " + form.Name
	}
	return req.render(status, reportPage(req.page(what), form))
}
