package web

import (
	"errors"
	"net/http"

	"retwis/internal/social"
)

// reportForm is the form to report a post or a person, filled in with rejected input.
type reportForm struct {
	Action  string // where it is sent
	Back    string
	Name    string // of the person
	Post    posts  // none, or one
	Kind    string
	Text    string
	Problem string
	Sent    bool
}

func (s *Server) reportUserForm(req *request) error {
	if !req.signed {
		return req.toLogin()
	}
	user, err := req.owner()
	if err != nil {
		return err
	}
	return req.renderReport(http.StatusOK, userReport(user))
}

func userReport(user social.User) reportForm {
	path := profilePath(user.Name)
	return reportForm{Action: path + "/report", Back: path, Name: user.Name}
}

func (s *Server) reportUser(req *request) error {
	if !req.signed {
		return req.toLogin()
	}
	user, err := req.owner()
	if err != nil {
		return err
	}
	form := userReport(user)
	form.Kind, form.Text = req.r.PostFormValue("kind"), req.r.PostFormValue("text")
	return req.reported(form, user, s.social.ReportUser(req.ctx, req.viewer, user.ID, form.Kind, form.Text))
}

func (s *Server) reportPostForm(req *request) error {
	if !req.signed {
		return req.toLogin()
	}
	form, _, err := req.postReport()
	if err != nil {
		return err
	}
	return req.renderReport(http.StatusOK, form)
}

// postReport returns the form for the post in the address.
func (req *request) postReport() (reportForm, social.Item, error) {
	v, err := req.person()
	if err != nil {
		return reportForm{}, social.Item{}, err
	}
	item, err := req.item(v)
	if err != nil {
		return reportForm{}, social.Item{}, err
	}
	path := postPath(item.Post.Post)
	form := reportForm{Action: path + "/report", Back: path, Name: item.Post.Author.Name}
	form.Post, err = req.show(v, []social.Item{{Entry: item.Post, Post: item.Post, Marks: item.Marks}})
	return form, item, err
}

func (s *Server) reportPost(req *request) error {
	if !req.signed {
		return req.toLogin()
	}
	form, item, err := req.postReport()
	if err != nil {
		return err
	}
	form.Kind, form.Text = req.r.PostFormValue("kind"), req.r.PostFormValue("text")
	return req.reported(form, item.Post.Author, s.social.ReportPost(req.ctx, req.viewer, item.Post.ID, form.Kind, form.Text))
}

// reported answers a report.
func (req *request) reported(form reportForm, about social.User, err error) error {
	var invalid *social.InvalidError
	if errors.As(err, &invalid) && invalid.Field != "target" {
		form.Problem = invalid.Reason
		return req.renderReport(http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	req.security("report", about)
	form.Sent = true
	return req.renderReport(http.StatusOK, form)
}

func (req *request) renderReport(status int, form reportForm) error {
	what := "Report " + form.Name
	if len(form.Post.items) > 0 {
		what = "Report a post by " + form.Name
	}
	return req.render(status, reportPage(req.page(what), form))
}
