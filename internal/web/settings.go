package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/notify"
	"retwis/internal/social/people"
	"retwis/internal/web/view"
)

// settingsHandlers has the settings of a profile, and the lists of hidden people.
type settingsHandlers struct {
	profiles  *accounts.Profiles
	read      *reader
	relations *people.Relations
}

// saved is what the address says after a form was saved.
const saved = "saved"

func isSaved(req *request) bool { return req.r.URL.Query().Has(saved) }

func toSettings(req *request) error { return req.redirect("/settings/profile") }

func (h *settingsHandlers) profile(req *request) error {
	profile, err := h.profiles.Get(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	return req.render(http.StatusOK, view.ProfileSettings(req.page("Settings"), view.ProfileForm{Profile: profile, Saved: isSaved(req)}))
}

func (h *settingsHandlers) editProfile(req *request) error {
	form := view.ProfileForm{Profile: accounts.UserProfile{
		DisplayName: req.r.PostFormValue("display_name"),
		Bio:         req.r.PostFormValue("bio"),
	}}
	for _, link := range req.r.PostForm["link"] {
		if link = strings.TrimSpace(link); link != "" {
			form.Profile.Links = append(form.Profile.Links, link)
		}
	}
	err := h.profiles.Edit(req.ctx, req.viewer, form.Profile)
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		form.Field, form.Problem = invalid.Field, invalid.Reason
		return req.render(http.StatusUnprocessableEntity, view.ProfileSettings(req.page("Settings"), form))
	}
	if err != nil {
		return err
	}
	return req.changed("/settings/profile?" + saved)
}

func (h *notificationHandlers) settings(req *request) error {
	off, err := h.notifications.NotifyOff(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	var kinds []view.NotificationKind
	for _, kind := range notify.Kinds() {
		kinds = append(kinds, view.NewNotificationKind(kind, !slices.Contains(off, kind)))
	}
	return req.render(http.StatusOK, view.NotificationSettings(req.page("Settings"), kinds, isSaved(req)))
}

func (h *notificationHandlers) changeSettings(req *request) error {
	var off []notify.Kind
	for _, kind := range notify.Kinds() {
		if !slices.Contains(req.r.PostForm["on"], kind.String()) {
			off = append(off, kind)
		}
	}
	if err := h.notifications.SetNotifyOff(req.ctx, req.viewer, off); err != nil {
		return err
	}
	return req.changed("/settings/notifications?" + saved)
}

func (h *settingsHandlers) muted(req *request) error {
	return h.hiddenPeople(req, "/settings/muted", "unmute", "You haven't muted anyone.", h.relations.MutedPeople)
}

func (h *settingsHandlers) blocked(req *request) error {
	return h.hiddenPeople(req, "/settings/blocked", "unblock", "You haven't blocked anyone.", h.relations.BlockedPeople)
}

func (h *settingsHandlers) hiddenPeople(req *request, path, undo, empty string, list func(ctx context.Context, uid int64, cursor string, limit int) (social.People, error)) error {
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	people, err := list(req.ctx, req.viewer.ID, req.r.URL.Query().Get("before"), peopleOnPage)
	if err != nil {
		return err
	}
	data, err := h.read.people(req, v, people, path)
	if err != nil {
		return err
	}
	for i := range data.People {
		data.People[i].Undo = undo
	}
	return req.render(http.StatusOK, view.HiddenPeople(req.page("Settings"), data, empty))
}
