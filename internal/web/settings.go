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
	"retwis/internal/web/view"
)

// saved is what the address says after a form was saved.
const saved = "saved"

func (req *request) saved() bool { return req.r.URL.Query().Has(saved) }

func (s *Server) toSettings(req *request) error { return req.redirect("/settings/profile") }

func (s *Server) profileSettings(req *request) error {
	profile, err := s.app.Profiles.Get(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	return req.render(http.StatusOK, view.ProfileSettings(req.page("Settings"), view.ProfileForm{Profile: profile, Saved: req.saved()}))
}

func (s *Server) editProfile(req *request) error {
	form := view.ProfileForm{Profile: accounts.UserProfile{
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
		return req.render(http.StatusUnprocessableEntity, view.ProfileSettings(req.page("Settings"), form))
	}
	if err != nil {
		return err
	}
	return req.changed("/settings/profile?" + saved)
}

func (s *Server) notificationSettings(req *request) error {
	off, err := s.app.Notifications.NotifyOff(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	var kinds []view.NotificationKind
	for _, kind := range notify.Kinds() {
		kinds = append(kinds, view.NewNotificationKind(kind, !slices.Contains(off, kind)))
	}
	return req.render(http.StatusOK, view.NotificationSettings(req.page("Settings"), kinds, req.saved()))
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
	data, err := req.peopleView(v, people, path)
	if err != nil {
		return err
	}
	for i := range data.People {
		data.People[i].Undo = undo
	}
	return req.render(http.StatusOK, view.HiddenPeople(req.page("Settings"), data, empty))
}
