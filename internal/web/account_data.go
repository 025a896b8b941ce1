package web

import (
	"bufio"
	"errors"
	"net/http"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

func (h *handlers) dataSettings(req *request.Request) error {
	return req.Render(http.StatusOK, view.DataPage(req.Frame(req.T("Settings"))))
}

// exportData streams an archive of the viewer's data while reading the data from the database.
func (h *handlers) exportData(req *request.Request) error {
	header := req.W.Header()
	header["Content-Type"] = []string{"application/zip"}
	header["Cache-Control"] = []string{"no-store"}
	header["Content-Disposition"] = []string{`attachment; filename="retwis-` + fileName(req.User.Name) + `.zip"`}
	req.LogSecurity("export", req.User)
	req.Stream = func() {
		out := bufio.NewWriterSize(request.Download(req), 32<<10)
		err := h.app.Leaving.Export(req.R.Context(), req.User.ID, req.PublicURL(), out)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			if req.R.Context().Err() == nil {
				req.Log().Error("export interrupted", "error", err)
			}
			panic(http.ErrAbortHandler) // the browser reports a broken download
		}
	}
	return nil
}

// fileName returns a username as part of a file name. Usernames of the original program may contain
// any character.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
}

func (h *handlers) deleteAccountForm(req *request.Request) error {
	return h.showDeleteAccount(req, http.StatusOK, view.DeleteAccountForm{})
}

func (h *handlers) showDeleteAccount(req *request.Request, status int, form view.DeleteAccountForm) error {
	state, err := h.app.Auth.SecondFactor(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	form.SecondFactor = state.On
	return req.Render(status, view.LeavePage(req.Frame(req.T("Delete your account")), form))
}

// deleteAccount deletes the viewer's account after checking the password and, if the second factor
// is on, a code.
func (h *handlers) deleteAccount(req *request.Request) error {
	user := req.User
	switch err := h.app.Moderation.MayLeave(req.Ctx, user.ID); {
	case errors.Is(err, social.ErrForbidden):
		return h.showDeleteAccount(req, http.StatusForbidden, view.DeleteAccountForm{Field: "password", Problem: req.T("You are the only owner of this site. Make someone else an owner first.")})
	case err != nil:
		return err
	}
	if err := req.Allow(limits.Password); err != nil {
		return err
	}
	_, err := h.app.Auth.Login(req.Ctx, user.Name, req.R.PostFormValue("password"))
	var secondFactor *auth.SecondFactorError
	if errors.As(err, &secondFactor) {
		_, err = h.app.Auth.FinishLogin(req.Ctx, secondFactor.Secret, strings.TrimSpace(req.R.PostFormValue("code")))
	}
	request.GiveBackPassword(req, err)
	switch {
	case errors.Is(err, social.ErrBadLogin):
		req.LogSecurity("password not confirmed", user)
		return h.showDeleteAccount(req, http.StatusUnprocessableEntity, view.DeleteAccountForm{Field: "password", Problem: req.T("That password is wrong.")})
	case errors.Is(err, auth.ErrBadCode), errors.Is(err, auth.ErrNoLogin):
		req.LogSecurity("code failed", user)
		return h.showDeleteAccount(req, http.StatusUnprocessableEntity, view.DeleteAccountForm{Field: "code", Problem: req.T("That code is wrong or was already used.")})
	case errors.Is(err, auth.ErrTooManyCodes):
		req.LogSecurity("too many codes", user)
		return h.showDeleteAccount(req, http.StatusTooManyRequests, view.DeleteAccountForm{Field: "code", Problem: req.T("Too many codes were wrong. Use a recovery code, or try again later.")})
	case err != nil:
		return err
	}
	if err := h.app.Leaving.DeleteAccount(req.Ctx, user.ID); err != nil {
		return err
	}
	req.LogSecurity("account deleted", user)
	req.DropSession()
	req.ForgetUser()
	req.W.Header().Set("Clear-Site-Data", `"cache", "cookies", "storage"`)
	return req.Render(http.StatusOK, view.LeftPage(req.Frame(req.T("Account deleted")), user.Name))
}
