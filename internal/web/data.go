package web

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/auth"
	"retwis/internal/social/moderation"
	"retwis/internal/web/view"
)

// dataHandlers has the export of an account and its end.
type dataHandlers struct {
	auth       *auth.Service
	leaving    *accounts.Leaving
	moderation *moderation.Service
}

func (h *dataHandlers) settings(req *request) error {
	return req.render(http.StatusOK, view.DataPage(req.page("Settings")))
}

// exportWrite is how long one piece of an archive may take: a client that reads nothing
// is cut off, one that reads slowly is not.
const exportWrite = 30 * time.Second

// export sends the archive of the viewer's data while it is read from the database.
func (h *dataHandlers) export(req *request) error {
	header := req.w.Header()
	header["Content-Type"] = []string{"application/zip"}
	header["Cache-Control"] = []string{"no-store"}
	header["Content-Disposition"] = []string{`attachment; filename="retwis-` + fileName(req.viewer.Name) + `.zip"`}
	req.security("export", req.viewer)
	req.stream = func() {
		out := bufio.NewWriterSize(&slowWriter{req.w, http.NewResponseController(req.w)}, 32<<10)
		err := h.leaving.Export(req.r.Context(), req.viewer.ID, out)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			if req.r.Context().Err() == nil {
				req.log().Error("an export was cut short", "error", err)
			}
			panic(http.ErrAbortHandler) // the browser reports a broken download
		}
	}
	return nil
}

// fileName is a username as a part of the name of a file. The original program allowed
// any text.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
}

// slowWriter gives each write its own deadline.
type slowWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *slowWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(exportWrite)) // a recorder of a test has none
	return w.ResponseWriter.Write(p)
}

func (h *dataHandlers) deleteForm(req *request) error {
	return h.showDelete(req, http.StatusOK, view.LeaveForm{})
}

func (h *dataHandlers) showDelete(req *request, status int, form view.LeaveForm) error {
	state, err := h.auth.SecondFactor(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	form.SecondFactor = state.On
	return req.render(status, view.LeavePage(req.page("Delete your account"), form))
}

// deleteAccount deletes the account of the viewer, who proves with the password, and a code where
// there is a second factor, that it is theirs.
func (h *dataHandlers) deleteAccount(req *request) error {
	user := req.viewer
	switch err := h.moderation.MayLeave(req.ctx, user.ID); {
	case errors.Is(err, social.ErrForbidden):
		return h.showDelete(req, http.StatusForbidden, view.LeaveForm{Field: "password", Problem: "You are the only owner of this site. Make somebody else an owner first."})
	case err != nil:
		return err
	}
	_, err := h.auth.Login(req.ctx, user.Name, req.r.PostFormValue("password"))
	var waits *auth.SecondFactorError
	if errors.As(err, &waits) {
		_, err = h.auth.FinishLogin(req.ctx, waits.Secret, strings.TrimSpace(req.r.PostFormValue("code")))
	}
	switch {
	case errors.Is(err, social.ErrBadLogin):
		return h.showDelete(req, http.StatusUnprocessableEntity, view.LeaveForm{Field: "password", Problem: "That password is wrong."})
	case errors.Is(err, auth.ErrBadCode), errors.Is(err, auth.ErrNoLogin):
		return h.showDelete(req, http.StatusUnprocessableEntity, view.LeaveForm{Field: "code", Problem: "That code is wrong, or was used before."})
	case errors.Is(err, auth.ErrTooManyCodes):
		return h.showDelete(req, http.StatusTooManyRequests, view.LeaveForm{Field: "code", Problem: "Too many codes were wrong. Use a recovery code, or try again later."})
	case err != nil:
		return err
	}
	if err := h.leaving.DeleteAccount(req.ctx, user.ID); err != nil {
		return err
	}
	req.security("account deleted", user)
	req.dropSession()
	req.forgetUser()
	req.w.Header().Set("Clear-Site-Data", `"cache", "cookies", "storage"`)
	return req.render(http.StatusOK, view.LeftPage(req.page("Your account is deleted"), user.Name))
}
