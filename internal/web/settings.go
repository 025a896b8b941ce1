package web

import (
	"context"
	"net/http"
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/media"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// notices maps request URIs to messages.
var notices = map[string]i18n.Message{
	view.SecurityPath + "?password":  i18n.T("Password changed. All other devices logged out."),
	view.SecurityPath + "?ended":     i18n.T("Device logged out."),
	view.SecurityPath + "?others":    i18n.T("All other devices logged out."),
	view.SecurityPath + "?on":        i18n.T("Two-step log-in turned on. If you haven't seen your recovery codes, get new ones here."),
	view.SecurityPath + "?off":       i18n.T("Two-step log-in turned off."),
	view.SecurityPath + "?passkey":   i18n.T("Passkey added. You can log in with it."),
	view.SecurityPath + "?nopasskey": i18n.T("Passkey removed."),
	view.EmailPath + "?sent":         i18n.T("We sent you an email with a link. Open it to confirm your email address."),
	view.EmailPath + "?removed":      i18n.T("Email address removed."),
	view.EmailPath + "?saved":        i18n.T("Settings saved."),
}

// saved is the query parameter of a page whose form has been saved.
const saved = "saved"

func isSaved(req *request.Request) bool { return req.R.URL.Query().Has(saved) }

// settingsPage serves GET /settings: the list of the settings.
func settingsPage(req *request.Request) error {
	return req.Render(http.StatusOK, view.SettingsPage(req.Frame(req.T("Settings"))))
}

func (h *handlers) profileSettings(req *request.Request) error {
	profile, err := h.app.Profiles.Get(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.ProfileSettingsPage(req.Frame(req.T("Settings")), view.ProfileForm{Profile: profile, Saved: isSaved(req), Pictures: h.app.Media.IsOn()}))
}

// editProfile saves the fields and the pictures of the form together.
func (h *handlers) editProfile(req *request.Request) error {
	portraits, field, err := h.uploadedPortraits(req) // also reads the fields that follow a file
	var form view.ProfileForm
	form.Profile = accounts.UserProfile{
		DisplayName: req.R.PostFormValue("display_name"),
		Bio:         req.R.PostFormValue("bio"),
		// A hidden field precedes the checkbox. The form of an older version has neither field.
		Unsearchable: req.User.Unsearchable,
	}
	if choices := req.R.PostForm["searchable"]; len(choices) > 0 {
		form.Profile.Unsearchable = choices[len(choices)-1] != "yes"
	}
	for _, link := range req.R.PostForm["link"] {
		if link = strings.TrimSpace(link); link != "" {
			form.Profile.Links = append(form.Profile.Links, link)
		}
	}
	if err != nil {
		status, problem := pictureProblem(req, err)
		if status == 0 {
			return err
		}
		form.Field, form.Problem = field, problem
		return h.showProfileForm(req, status, form)
	}
	err = h.app.Profiles.Edit(req.Ctx, req.User, form.Profile)
	for kind, id := range portraits {
		if err == nil {
			err = h.app.Media.SetPortrait(req.Ctx, req.User, kind, id)
		}
	}
	return req.Submitted(err, "/settings/profile?"+saved, func(field, problem string) error {
		form.Field, form.Problem = field, problem
		return h.showProfileForm(req, http.StatusUnprocessableEntity, form)
	})
}

// showProfileForm shows the form again, with its problem.
func (h *handlers) showProfileForm(req *request.Request, status int, form view.ProfileForm) error {
	stored, err := h.app.Profiles.Get(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	form.Profile.Header, form.Pictures = stored.Header, h.app.Media.IsOn()
	return req.Render(status, view.ProfileSettingsPage(req.Frame(req.T("Settings")), form))
}

// uploadedPortraits stores the uploaded avatar and header and returns their IDs by kind. An ID is
// empty if the picture is to be removed. field is the last field that was read.
func (h *handlers) uploadedPortraits(req *request.Request) (portraits map[media.Kind]string, field string, err error) {
	portraits = map[media.Kind]string{}
	err = request.Files(req, func(name string, file []byte) error {
		kind := media.Kind(name)
		if kind != media.Avatar && kind != media.Header {
			return nil
		}
		field = name
		r, err := h.storePicture(req, file, kind)
		portraits[kind] = r.ID
		return err
	})
	if removed := media.Kind(req.R.PostFormValue("remove")); removed == media.Avatar || removed == media.Header {
		portraits[removed] = ""
	}
	return portraits, field, err
}

// hiddenList is a list of people that the session user has hidden.
type hiddenList struct {
	path  string
	undo  string       // see view.Person
	empty i18n.Message // text of an empty list
	read  func(ctx context.Context, uid int64, cursor string, limit int) (social.People, error)
}

// seenBy returns the people of the list as the viewer sees them. People who have blocked the viewer
// are left out, unless the viewer has blocked them too and can unblock them. For hidden people only
// the ID and the name are returned.
func (list hiddenList) seenBy(v *social.Viewer, people []social.User) []social.User {
	others := v.WithoutOwnBlocks()
	var seen []social.User
	for _, user := range people {
		switch {
		case others.Sees(user.ID) != social.Hidden:
		case v.Blockers.Has(user.ID) && !v.Blocked.Has(user.ID):
			continue
		default:
			user = social.User{ID: user.ID, Name: user.Name}
		}
		seen = append(seen, user)
	}
	return seen
}

// hiddenPeople returns the page of a list of hidden people.
func (h *handlers) hiddenPeople(list hiddenList) request.Page {
	return func(req *request.Request) error {
		v, err := req.Viewer()
		if err != nil {
			return err
		}
		people, err := list.read(req.Ctx, req.User.ID, req.R.URL.Query().Get("before"), peopleOnPage)
		if err != nil {
			return err
		}
		people.Users = list.seenBy(v, people.Users)
		page, err := h.peopleList(req, v, people, list.path)
		if err != nil {
			return err
		}
		for i := range page.People {
			page.People[i].Undo = list.undo
		}
		return req.Render(http.StatusOK, view.HiddenPeoplePage(req.Frame(req.T("Settings")), page, req.Language.Say(list.empty)))
	}
}

// appearance shows the settings for the appearance of pages in the browser of the request.
func (h *handlers) appearance(req *request.Request) error {
	return req.Render(http.StatusOK, view.AppearancePage(req.Frame(req.T("Appearance"))))
}

func (h *handlers) changeAppearance(req *request.Request) error {
	req.KeepLook(view.NewLook(req.R.PostFormValue))
	req.Tell("saved", "")
	return req.Redirect("/settings/appearance")
}
