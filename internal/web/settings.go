package web

import (
	"context"
	"net/http"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/people"
	"retwis/internal/web/pictures"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// settingsHandlers has the settings of a profile, and the lists of hidden people.
type settingsHandlers struct {
	pictures  *pictures.Pictures
	profiles  *accounts.Profiles
	read      *reader.Reader
	relations *people.Relations
}

// saved is what the address says after a form was saved.
const saved = "saved"

func isSaved(req *request.Request) bool { return req.R.URL.Query().Has(saved) }

func toSettings(req *request.Request) error { return req.Redirect("/settings/profile") }

func (h *settingsHandlers) profile(req *request.Request) error {
	profile, err := h.profiles.Get(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.ProfileSettingsPage(req.Frame("Settings"), view.ProfileForm{Profile: profile, Saved: isSaved(req), Pictures: h.pictures.IsOn()}))
}

func (h *settingsHandlers) editProfile(req *request.Request) error {
	form := view.ProfileForm{Profile: accounts.UserProfile{
		DisplayName: req.R.PostFormValue("display_name"),
		Bio:         req.R.PostFormValue("bio"),
	}}
	// The box comes after a hidden field; a form of an older page has neither.
	form.Profile.Unsearchable = req.User.Unsearchable
	if choices := req.R.PostForm["searchable"]; len(choices) > 0 {
		form.Profile.Unsearchable = choices[len(choices)-1] != "yes"
	}
	for _, link := range req.R.PostForm["link"] {
		if link = strings.TrimSpace(link); link != "" {
			form.Profile.Links = append(form.Profile.Links, link)
		}
	}
	err := h.profiles.Edit(req.Ctx, req.User, form.Profile)
	return req.Submitted(err, "/settings/profile?"+saved, func(field, problem string) error {
		form.Field, form.Problem = field, problem
		return req.Render(http.StatusUnprocessableEntity, view.ProfileSettingsPage(req.Frame("Settings"), form))
	})
}

func (h *settingsHandlers) muted(req *request.Request) error {
	return h.hiddenPeople(req, hiddenList{"/settings/muted", "unmute", "You haven't muted anyone.", h.relations.MutedPeople})
}

func (h *settingsHandlers) blocked(req *request.Request) error {
	return h.hiddenPeople(req, hiddenList{"/settings/blocked", "unblock", "You haven't blocked anyone.", h.relations.BlockedPeople})
}

// hiddenList is a list of people that the session user has hidden.
type hiddenList struct {
	path  string
	undo  string // see view.Person
	empty string // the text of an empty list
	read  func(ctx context.Context, uid int64, cursor string, limit int) (social.People, error)
}

func (h *settingsHandlers) hiddenPeople(req *request.Request, list hiddenList) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	people, err := list.read(req.Ctx, req.User.ID, req.R.URL.Query().Get("before"), reader.PeopleOnPage)
	if err != nil {
		return err
	}
	page, err := h.read.People(req, v, people, list.path)
	if err != nil {
		return err
	}
	for i := range page.People {
		page.People[i].Undo = list.undo
	}
	return req.Render(http.StatusOK, view.HiddenPeoplePage(req.Frame("Settings"), page, list.empty))
}
