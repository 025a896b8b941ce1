package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/notify"
)

// settingsTabs are the pages of the settings.
var settingsTabs = []struct{ path, label string }{
	{"/settings/profile", "Profile"},
	{securityPath, "Security"},
	{"/settings/notifications", "Notifications"},
	{"/settings/muted", "Muted"},
	{"/settings/blocked", "Blocked"},
	{"/settings/data", "Your data"},
}

// profileForm is the form for a profile, filled in with rejected input.
type profileForm struct {
	Profile accounts.UserProfile
	Field   string
	Problem string
	Saved   bool
}

func (f profileForm) link(i int) string {
	if i < len(f.Profile.Links) {
		return f.Profile.Links[i]
	}
	return ""
}

// invalid are the attributes of a field that was rejected.
func (f profileForm) invalid(field string) templ.Attributes {
	if f.Field != field {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true"}
}

// saved is what the address says after a form was saved.
const saved = "saved"

func (req *request) saved() bool { return req.r.URL.Query().Has(saved) }

func (s *Server) toSettings(req *request) error { return req.redirect("/settings/profile") }

func (s *Server) profileSettings(req *request) error {
	profile, err := s.app.Profiles.Get(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	return req.render(http.StatusOK, profileSettings(req.page("Settings"), profileForm{Profile: profile, Saved: req.saved()}))
}

func (s *Server) editProfile(req *request) error {
	form := profileForm{Profile: accounts.UserProfile{
		DisplayName: req.r.PostFormValue("display_name"),
		Bio:         req.r.PostFormValue("bio"),
	}}
	for _, link := range req.r.PostForm["link"] {
		if link = strings.TrimSpace(link); link != "" {
			form.Profile.Links = append(form.Profile.Links, link)
		}
	}
	err := s.app.Profiles.Edit(req.ctx, req.viewer, form.Profile)
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		form.Field, form.Problem = invalid.Field, invalid.Reason
		return req.render(http.StatusUnprocessableEntity, profileSettings(req.page("Settings"), form))
	}
	if err != nil {
		return err
	}
	return req.changed("/settings/profile?" + saved)
}

// kindView is a kind of notification in the settings.
type kindView struct {
	Name, Label string
	On          bool
}

var kindLabels = map[notify.Kind]string{
	notify.Mention: "mentions me",
	notify.Reply:   "replies to me",
	notify.Like:    "likes a post of mine",
	notify.Repost:  "reposts a post of mine",
	notify.Follow:  "follows me",
}

func (s *Server) notificationSettings(req *request) error {
	off, err := s.app.Notifications.NotifyOff(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	var kinds []kindView
	for _, kind := range notify.Kinds() {
		kinds = append(kinds, kindView{Name: kind.String(), Label: kindLabels[kind], On: !slices.Contains(off, kind)})
	}
	return req.render(http.StatusOK, notificationSettings(req.page("Settings"), kinds, req.saved()))
}

func (s *Server) changeNotifications(req *request) error {
	var off []notify.Kind
	for _, kind := range notify.Kinds() {
		if !slices.Contains(req.r.PostForm["on"], kind.String()) {
			off = append(off, kind)
		}
	}
	if err := s.app.Notifications.SetNotifyOff(req.ctx, req.viewer, off); err != nil {
		return err
	}
	return req.changed("/settings/notifications?" + saved)
}

func (s *Server) muted(req *request) error {
	return s.hiddenPeople(req, "/settings/muted", "unmute", "You haven't muted anyone.", s.app.Relations.MutedPeople)
}

func (s *Server) blocked(req *request) error {
	return s.hiddenPeople(req, "/settings/blocked", "unblock", "You haven't blocked anyone.", s.app.Relations.BlockedPeople)
}

func (s *Server) hiddenPeople(req *request, path, undo, empty string, list func(ctx context.Context, uid int64, cursor string, limit int) (social.People, error)) error {
	v, err := req.person()
	if err != nil {
		return err
	}
	people, err := list(req.ctx, req.viewer.ID, req.r.URL.Query().Get("before"), peopleOnPage)
	if err != nil {
		return err
	}
	view, err := req.peopleView(v, people, path)
	if err != nil {
		return err
	}
	for i := range view.People {
		view.People[i].Undo = undo
	}
	return req.render(http.StatusOK, hiddenPeople(req.page("Settings"), view, empty))
}
