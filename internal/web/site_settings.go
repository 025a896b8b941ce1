package web

import (
	"errors"
	"log/slog"
	"net/http"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/site"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// siteFields are the settings in the form; the others have forms of their own.
var siteFields = []site.Field{site.Name, site.Description, site.Contact, site.Account, site.Rules, site.NoIndex}

// siteForm returns a form with the current values of fields.
func siteForm(req *request.Request, fields ...site.Field) view.SiteForm {
	form := view.SiteForm{Texts: map[site.Field]string{}, Shown: map[site.Field]string{}}
	for _, f := range fields {
		form.Texts[f], form.Shown[f] = req.Info.Of(f), req.Info.Version(f)
	}
	return form
}

// siteSettings serves GET /moderation/site.
func (h *handlers) siteSettings(req *request.Request) error {
	mode, err := h.app.SignUps.SignUpMode(req.Ctx)
	if err != nil {
		return err
	}
	form := siteForm(req, site.Fields...)
	form.Mode, form.ModeWas, form.Saved = string(mode), string(mode), req.R.URL.Query().Has("saved")
	return req.Render(http.StatusOK, view.SiteSettingsPage(req.Frame(req.T("Moderation")), form))
}

// saveSiteSettings serves POST /moderation/site.
func (h *handlers) saveSiteSettings(req *request.Request) error {
	form := view.SiteForm{Texts: map[site.Field]string{}, Shown: map[site.Field]string{}, Mode: req.R.PostFormValue("signup"), ModeWas: req.R.PostFormValue("signup_was")}
	for _, f := range siteFields {
		form.Texts[f], form.Shown[f] = req.R.PostFormValue(string(f)), req.R.PostFormValue(string(f)+"_was")
	}
	if values := req.R.PostForm[string(site.NoIndex)]; len(values) > 0 { // the checkbox follows a hidden field, so the last value counts
		form.Texts[site.NoIndex] = values[len(values)-1]
	}
	mode, ok := accounts.ParseSignUpMode(form.Mode)
	if !ok {
		return &request.Error{Status: http.StatusUnprocessableEntity, Detail: i18n.T("Choose who can sign up.")}
	}
	if done, err := h.setSite(req, &form); !done || err != nil {
		if err != nil {
			return err
		}
		for _, field := range []site.Field{site.About, site.Privacy, site.Terms} {
			form.Texts[field] = req.Info.Of(field)
		}
		return req.Render(http.StatusUnprocessableEntity, view.SiteSettingsPage(req.Frame(req.T("Moderation")), form))
	}
	if form.Mode != form.ModeWas { // keep a mode that has changed since the form was shown, for example because many people have signed up
		if err := h.app.SignUps.SetSignUpMode(req.Ctx, req.User.Actor(), mode); err != nil {
			return err
		}
	}
	return req.Changed("/moderation/site?saved")
}

// siteText serves GET /moderation/site/{page}.
func (h *handlers) siteText(req *request.Request) error {
	field, err := siteTextField(req)
	if err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.SiteTextPage(req.Frame(req.T("Moderation")), siteForm(req, field), field))
}

// saveSiteText serves POST /moderation/site/{page}.
func (h *handlers) saveSiteText(req *request.Request) error {
	field, err := siteTextField(req)
	if err != nil {
		return err
	}
	form := view.SiteForm{Texts: map[site.Field]string{field: req.R.PostFormValue("text")}, Shown: map[site.Field]string{field: req.R.PostFormValue("was")}}
	switch done, err := h.setSite(req, &form); {
	case err != nil:
		return err
	case !done:
		return req.Render(http.StatusUnprocessableEntity, view.SiteTextPage(req.Frame(req.T("Moderation")), form, field))
	}
	return req.Changed("/moderation/site?saved")
}

// siteTextField returns the setting of the Markdown page in the path.
func siteTextField(req *request.Request) (site.Field, error) {
	switch field := site.Field(req.R.PathValue("page")); field {
	case site.About, site.Privacy, site.Terms:
		return field, nil
	}
	return "", request.ErrNotFound
}

// setSite changes settings. done is false if a value was rejected; then the form shows why. The
// form can be sent again, even if somebody else has changed the setting in the meantime.
func (h *handlers) setSite(req *request.Request, form *view.SiteForm) (done bool, err error) {
	changed, err := h.app.Site.Set(req.Ctx, req.User.Actor(), form.Texts, form.Shown)
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		form.Field, form.Problem = site.Field(invalid.Field), req.Language.Say(invalid.Reason)
		if errors.Is(err, site.ErrChanged) {
			form.Shown[form.Field] = req.Info.Version(form.Field)
		}
		return false, nil
	}
	for _, f := range changed {
		req.LogSecurity("site setting changed", req.User, slog.String("setting", string(f)))
	}
	return err == nil, err
}
