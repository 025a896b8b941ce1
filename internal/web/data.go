package web

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/web/view"
)

func (s *Server) dataSettings(req *request) error {
	return req.render(http.StatusOK, view.DataPage(req.page("Settings")))
}

// exportWrite is how long one piece of an archive may take: a client that reads nothing
// is cut off, one that reads slowly is not.
const exportWrite = 30 * time.Second

// export sends the archive of the viewer's data while it is read from the database.
func (s *Server) export(req *request) error {
	h := req.w.Header()
	h["Content-Type"] = []string{"application/zip"}
	h["Cache-Control"] = []string{"no-store"}
	h["Content-Disposition"] = []string{`attachment; filename="retwis-` + fileName(req.viewer.Name) + `.zip"`}
	req.security("export", req.viewer)
	req.stream = func() {
		out := bufio.NewWriterSize(&slowWriter{req.w, http.NewResponseController(req.w)}, 32<<10)
		err := s.app.Leaving.Export(req.r.Context(), req.viewer.ID, out)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			if req.r.Context().Err() == nil {
				s.log.Error("an export was cut short", "request", req.id, "error", err)
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

func (s *Server) leaveForm(req *request) error {
	return s.showLeave(req, http.StatusOK, view.LeaveForm{})
}

func (s *Server) showLeave(req *request, status int, form view.LeaveForm) error {
	state, err := s.app.Auth.SecondFactor(req.ctx, req.viewer.ID)
	if err != nil {
		return err
	}
	form.SecondFactor = state.On
	return req.render(status, view.LeavePage(req.page("Delete your account"), form))
}

// leave deletes the account of the viewer, who proves with the password, and a code where
// there is a second factor, that it is theirs.
func (s *Server) leave(req *request) error {
	user := req.viewer
	switch err := s.app.Moderation.MayLeave(req.ctx, user.ID); {
	case errors.Is(err, social.ErrForbidden):
		return s.showLeave(req, http.StatusForbidden, view.LeaveForm{Field: "password", Problem: "You are the only owner of this site. Make somebody else an owner first."})
	case err != nil:
		return err
	}
	_, err := s.app.Auth.Login(req.ctx, user.Name, req.r.PostFormValue("password"))
	var waits *auth.SecondFactorError
	if errors.As(err, &waits) {
		_, err = s.app.Auth.FinishLogin(req.ctx, waits.Secret, strings.TrimSpace(req.r.PostFormValue("code")))
	}
	switch {
	case errors.Is(err, social.ErrBadLogin):
		return s.showLeave(req, http.StatusUnprocessableEntity, view.LeaveForm{Field: "password", Problem: "That password is wrong."})
	case errors.Is(err, auth.ErrBadCode), errors.Is(err, auth.ErrNoLogin):
		return s.showLeave(req, http.StatusUnprocessableEntity, view.LeaveForm{Field: "code", Problem: "That code is wrong, or was used before."})
	case errors.Is(err, auth.ErrTooManyCodes):
		return s.showLeave(req, http.StatusTooManyRequests, view.LeaveForm{Field: "code", Problem: "Too many codes were wrong. Use a recovery code, or try again later."})
	case err != nil:
		return err
	}
	if err := s.app.Leaving.DeleteAccount(req.ctx, user.ID); err != nil {
		return err
	}
	req.security("account deleted", user)
	req.dropSession()
	req.w.Header().Set("Clear-Site-Data", `"cache", "cookies", "storage"`)
	req.viewer, req.signed, req.as, req.known = social.User{}, false, nil, true
	return req.render(http.StatusOK, view.LeftPage(req.page("Your account is deleted"), user.Name))
}
