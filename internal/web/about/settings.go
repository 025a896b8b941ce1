package about

import (
	"errors"
	"log/slog"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/site"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Settings has the forms for what the operators say about the site, for admins and owners.
type Settings struct {
	settings *site.Settings
	signUps  *accounts.SignUps
}

// NewSettings returns the handlers of these forms.
func NewSettings(settings *site.Settings, signUps *accounts.SignUps) *Settings {
	return &Settings{settings: settings, signUps: signUps}
}

// ofForm are the settings that the form has; the others have forms of their own.
var ofForm = []site.Field{site.Name, site.Description, site.Contact, site.Account, site.Rules, site.NoIndex}

// Page is GET /moderation/site.
func (h *Settings) Page(req *request.Request) error {
	mode, err := h.signUps.SignUpMode(req.Ctx)
	if err != nil {
		return err
	}
	form := view.SiteForm{Texts: map[site.Field]string{}, Mode: string(mode), ModeWas: string(mode), Saved: req.R.URL.Query().Has("saved")}
	for _, f := range site.Fields {
		form.Texts[f] = req.Info.Of(f)
	}
	return req.Render(http.StatusOK, view.SiteSettingsPage(req.Frame("Moderation"), form))
}

// Save is POST /moderation/site.
func (h *Settings) Save(req *request.Request) error {
	form := view.SiteForm{Texts: map[site.Field]string{}, Mode: req.R.PostFormValue("signup"), ModeWas: req.R.PostFormValue("signup_was")}
	for _, f := range ofForm {
		form.Texts[f] = req.R.PostFormValue(string(f))
	}
	if values := req.R.PostForm[string(site.NoIndex)]; len(values) > 0 { // the last: a box that is not checked sends nothing
		form.Texts[site.NoIndex] = values[len(values)-1]
	}
	mode, ok := accounts.ParseSignUpMode(form.Mode)
	if !ok {
		return &request.Error{Status: http.StatusUnprocessableEntity, Detail: "Choose who can sign up."}
	}
	if done, err := h.set(req, form.Texts, &form); !done || err != nil {
		if err != nil {
			return err
		}
		for _, one := range []site.Field{site.About, site.Privacy, site.Terms} {
			form.Texts[one] = req.Info.Of(one)
		}
		return req.Render(http.StatusUnprocessableEntity, view.SiteSettingsPage(req.Frame("Moderation"), form))
	}
	if form.Mode != form.ModeWas { // else it may have changed since, as where many have signed up
		if err := h.signUps.SetSignUpMode(req.Ctx, req.User.Actor(), mode); err != nil {
			return err
		}
	}
	return req.Changed("/moderation/site?saved")
}

// TextPage is GET /moderation/site/{page}.
func (h *Settings) TextPage(req *request.Request) error {
	field, err := textOf(req)
	if err != nil {
		return err
	}
	form := view.SiteForm{Texts: map[site.Field]string{field: req.Info.Of(field)}}
	return req.Render(http.StatusOK, view.SiteTextPage(req.Frame("Moderation"), form, field))
}

// SaveText is POST /moderation/site/{page}.
func (h *Settings) SaveText(req *request.Request) error {
	field, err := textOf(req)
	if err != nil {
		return err
	}
	form := view.SiteForm{Texts: map[site.Field]string{field: req.R.PostFormValue("text")}}
	switch done, err := h.set(req, form.Texts, &form); {
	case err != nil:
		return err
	case !done:
		return req.Render(http.StatusUnprocessableEntity, view.SiteTextPage(req.Frame("Moderation"), form, field))
	}
	return req.Changed("/moderation/site?saved")
}

// textOf returns the setting that a page of Markdown is.
func textOf(req *request.Request) (site.Field, error) {
	switch field := site.Field(req.R.PathValue("page")); field {
	case site.About, site.Privacy, site.Terms:
		return field, nil
	}
	return "", request.ErrNotFound
}

// set changes settings. done is false where one was rejected, which the form says then.
func (h *Settings) set(req *request.Request, texts map[site.Field]string, form *view.SiteForm) (done bool, err error) {
	changed, err := h.settings.Set(req.Ctx, req.User.Actor(), texts)
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		form.Field, form.Problem = site.Field(invalid.Field), invalid.Reason
		return false, nil
	}
	for _, f := range changed {
		req.LogSecurity("site setting changed", req.User, slog.String("setting", string(f)))
	}
	return err == nil, err
}
