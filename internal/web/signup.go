package web

import (
	"errors"
	"net/http"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/auth"
	"retwis/internal/social/email"
	"retwis/internal/social/limits"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

func (h *handlers) signUpForm(req *request.Request) error {
	if req.LoggedIn {
		return req.Redirect("/home")
	}
	return h.showSignUp(req, http.StatusOK, view.AccountForm{})
}

// showSignUp shows the sign-up form, or the reason why there is none.
func (h *handlers) showSignUp(req *request.Request, status int, form view.AccountForm) error {
	var err error
	if form.Mode, err = h.app.SignUps.SignUpMode(req.Ctx); err != nil {
		return err
	}
	return req.Render(status, view.RegisterPage(req.Frame(req.T("Sign up")), form))
}

func (h *handlers) signUp(req *request.Request) error {
	form := view.AccountForm{Username: social.TypedName(req.R.PostFormValue("username")), Invite: req.R.PostFormValue("invite"), Reason: req.R.PostFormValue("reason"), Email: strings.TrimSpace(req.R.PostFormValue("email"))}
	password := req.R.PostFormValue("password")
	// Browsers with scripts show the typed password and ask for the password only once.
	if repeated := req.R.PostForm["password2"]; len(repeated) > 0 && password != repeated[0] {
		form.Field, form.Problem = "password2", req.T("The passwords don't match.")
		return h.showSignUp(req, http.StatusUnprocessableEntity, form)
	}
	if form.Email != "" && h.app.Email.IsOn() {
		if err := email.Check(form.Email); err != nil {
			form.Field, form.Problem = "email", req.T("Use an email address such as name@example.com.")
			return h.showSignUp(req, http.StatusUnprocessableEntity, form)
		}
	}
	if err := req.Allow(limits.SignUp); err != nil {
		limit, ok := req.RetryAfter(err)
		if !ok {
			return err
		}
		form.Field, form.Problem = "username", req.Language.Say(request.TooOften(limit))
		return h.showSignUp(req, http.StatusTooManyRequests, form)
	}
	isListed := req.Allow(limits.Newcomer) == nil
	person := accounts.SignUp{Name: form.Username, Password: password, Invite: form.Invite, Reason: form.Reason, Unlisted: !isListed}
	giveBack := func() {
		req.GiveBack(limits.SignUp)
		if isListed {
			req.GiveBack(limits.Newcomer)
		}
	}
	session, event, err := h.register(req, person)
	var invalid *social.InvalidError
	switch {
	case errors.Is(err, social.ErrPending):
		req.LogSecurity("sign-up waits for an approval", social.User{Name: form.Username})
		return req.Render(http.StatusOK, view.PendingPage(req.Frame(req.T("Sign up")), form.Username))
	case errors.Is(err, social.ErrTaken):
		form.Field, form.Problem = "username", req.T("That username is taken.")
	case isNotInvited(err):
		if form.Invite == "" {
			return h.showSignUp(req, http.StatusForbidden, form)
		}
		return h.signUpRefused(req, err)
	case errors.As(err, &invalid):
		form.Field, form.Problem = invalid.Field, req.Language.Say(invalid.Reason)
	case errors.Is(err, auth.ErrBusy):
		giveBack()
		return err
	case err != nil:
		return err
	default:
		if event != newAccount {
			giveBack()
		}
		req.LogSecurity(event, session.User)
		req.StartSession(session)
		h.keepAddress(req, session.User, password, form.Email)
		return req.Changed("/home")
	}
	giveBack()
	return h.showSignUp(req, http.StatusUnprocessableEntity, form)
}

// keepAddress sets the email address from the sign-up form on a new account. If that fails, the
// account remains.
func (h *handlers) keepAddress(req *request.Request, user social.User, password, address string) {
	if address == "" || !h.app.Email.IsOn() {
		return
	}
	if err := h.app.Email.Set(req.Ctx, user, password, address); err != nil {
		req.Log().Warn("cannot set the e-mail address of a new account", "error", err)
		req.Tell("noaddress", "")
		return
	}
	req.Tell("address", "")
}

// checkName sends the problem with a name for a new account, or an empty string.
func (h *handlers) checkName(req *request.Request) error {
	name := social.TypedName(req.R.URL.Query().Get("q"))
	answer := struct {
		Problem string `json:"problem"`
	}{}
	var invalid *social.InvalidError
	if err := social.CheckName(name); errors.As(err, &invalid) {
		answer.Problem = req.Language.Say(invalid.Reason)
	} else if _, err := h.app.Users.UserByName(req.Ctx, name); err == nil {
		answer.Problem = req.T("That username is taken.")
	} else if !errors.Is(err, social.ErrNotFound) {
		return err
	}
	return request.SendJSON(req, answer)
}

// newAccount is the event of a sign-up in the security log.
const newAccount = "sign-up"

// register signs a person up, or logs the person in if the same form has already been sent. event
// is for the security log.
func (h *handlers) register(req *request.Request, person accounts.SignUp) (session auth.Session, event string, err error) {
	session, err = h.app.SignUps.SignUp(req.Ctx, person)
	if !errors.Is(err, social.ErrTaken) && !isNotInvited(err) {
		return session, newAccount, err
	}
	repeated, repeatErr := h.app.SignUps.Repeat(req.Ctx, person)
	switch {
	case repeatErr == nil:
		return repeated, "login", nil
	case errors.Is(repeatErr, social.ErrPending), errors.Is(repeatErr, auth.ErrBusy):
		err = repeatErr
	case errors.Is(repeatErr, social.ErrBadLogin):
		req.LogSecurity("login failed", social.User{})
	}
	return session, "", err
}

// invited shows the page of an invitation link.
func (h *handlers) invited(req *request.Request) error {
	if req.LoggedIn {
		return req.Redirect("/home")
	}
	if err := req.Allow(limits.Reset); err != nil { // guesses are limited
		return err
	}
	form := view.AccountForm{Invite: req.R.PathValue("token")}
	invite, err := h.app.SignUps.FindInvite(req.Ctx, form.Invite)
	switch {
	case isNotInvited(err):
		return h.signUpRefused(req, err)
	case err != nil:
		return err
	}
	req.GiveBack(limits.Reset)
	if form.Mode, err = h.app.SignUps.SignUpMode(req.Ctx); err != nil {
		return err
	}
	inviter, err := h.inviterOf(req, invite.By)
	if err != nil {
		return err
	}
	page, err := h.frontPage(req, form)
	if err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.InvitedPage(req.Frame(req.T("Sign up")), inviter, page))
}

// inviterOf returns the user who created an invitation, or the zero User if the viewer cannot see
// that user.
func (h *handlers) inviterOf(req *request.Request, uid int64) (social.User, error) {
	v, err := req.Viewer()
	if err != nil || uid == 0 || !v.Lists(uid) {
		return social.User{}, err
	}
	found, err := h.app.Users.ByID(req.Ctx, []int64{uid})
	return found[uid], err
}

func isNotInvited(err error) bool {
	return errors.Is(err, social.ErrSignUpClosed) || errors.Is(err, accounts.ErrNoInvite) ||
		errors.Is(err, accounts.ErrInviteUsedUp) || errors.Is(err, accounts.ErrInviteExpired)
}

// signUpRefused shows why a person cannot sign up.
func (h *handlers) signUpRefused(req *request.Request, err error) error {
	why := req.T("This invitation doesn't exist, or was revoked. Ask for a new one.")
	switch {
	case errors.Is(err, social.ErrSignUpClosed):
		why = req.T("Nobody can sign up at the moment.")
	case errors.Is(err, accounts.ErrInviteUsedUp):
		why = req.T("This invitation has been used up. Ask for a new one.")
	case errors.Is(err, accounts.ErrInviteExpired):
		why = req.T("This invitation has expired. Ask for a new one.")
	}
	return req.Render(http.StatusForbidden, view.RefusedPage(req.Frame(req.T("Sign up")), why))
}
