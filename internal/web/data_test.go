package web_test

import (
	"archive/zip"
	"encoding/json"
	"io"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/storage"
)

// An admin creates an invitation with a limited number of uses on a site where nobody else can sign
// up.
func TestInvitation(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.DB(t).Client(t))
	ada := s.signedUp("ada")
	if err := s.social.Moderation.SetRole(t.Context(), social.Operator, 1, social.Admin, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.social.SignUps.SetSignUpMode(t.Context(), social.Operator, accounts.SignUpInvite); err != nil {
		t.Fatal(err)
	}
	page := ada.send("/settings/invites", "uses", "1", "hours", "168", "note", "for Ben").want(200)
	link := regexp.MustCompile(`/invite/([A-Za-z0-9_-]{20,})`).FindStringSubmatch(page.body)
	if link == nil {
		t.Fatalf("no link: %s", shorten(page.body))
	}
	ada.get("/settings/invites").want(200, "for Ben").wantNot(link[1]) // it is shown once
	join := func(v *visitor, name, token string) *response {
		return v.send("/register", "username", name, "password", password, "password2", password, "invite", token)
	}
	join(s.visitor(), "eve", "").want(403)
	join(s.visitor(), "eve", strings.Repeat("x", len(link[1]))).want(403)
	ben := s.visitor()
	form := ben.get(link[0]).want(200, `name="invite"`, link[1])
	if got := form.header.Get("Referrer-Policy"); got != "strict-origin" {
		t.Errorf("Referrer-Policy of an invitation: %q, want strict-origin", got)
	}
	ben.send("/register", "username", "ada", "password", "another horse", "password2", "another horse", "invite", link[1]).
		want(422, "taken", link[1]) // the form keeps the token
	join(ben, "ben", link[1]).want(303, "/home")
	ben.get("/home").want(200, `href="/u/ben"`)
	s.visitor().get(link[0]).want(403)
	join(s.visitor(), "eve", link[1]).want(403)
	repeated := s.visitor() // after a lost response
	join(repeated, "ben", link[1]).want(303, "/home")
	repeated.get("/home").want(200, `href="/u/ben"`)
}

// A sign-up that fails after the account was created uses up the invitation; a sign-up that fails
// earlier gives the use back. The form names the page to which errors lead back.
func TestInvitationOfFailure(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := on(t, client)
	s.signedUp("ada")
	token, invite, err := s.social.SignUps.CreateInvite(t.Context(), accounts.NewInvite{Uses: 1, For: time.Hour})
	if err == nil {
		err = s.social.SignUps.SetSignUpMode(t.Context(), social.Operator, accounts.SignUpInvite)
	}
	if err != nil {
		t.Fatal(err)
	}
	set := func(key string) {
		t.Helper()
		if err := client.Do(t.Context(), client.B().Set().Key(key).Value("damaged").Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(key string) {
		t.Helper()
		if err := client.Do(t.Context(), client.B().Del().Key(key).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	left := func(want int64) {
		t.Helper()
		if all, err := s.social.SignUps.Invites(t.Context()); err != nil || len(all) != 1 || all[0].ID != invite.ID || all[0].Left != want {
			t.Errorf("invitations = %+v, %v; want one with %d uses left", all, err, want)
		}
	}
	join := func(v *visitor) *response {
		return v.send("/register", "username", "ben", "password", password, "password2", password, "invite", token, "back", "/invite/"+token)
	}
	ben := s.visitor()
	ben.get("/invite/"+token).want(200, `name="back" value="/invite/`+token+`"`)
	set(storage.NextUserID) // fails before the account is created
	join(ben).want(500)
	left(1)
	remove(storage.NextUserID)
	set(storage.SessionsKey(2)) // fails after the account is created
	join(ben).want(500)
	left(0)
	remove(storage.SessionsKey(2))
	join(ben).want(303, "/home")
	left(0)
}

// People can download what they wrote; others cannot.
func TestExportDownload(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.DB(t).Client(t))
	ada := s.signedUp("ada")
	ada.send("/post", "status", "in the archive").want(303)
	s.signedUp("ben").send("/post", "status", "of somebody else").want(303)
	s.visitor().send("/settings/export").want(303, "/login")
	got := ada.send("/settings/export").want(200)
	for name, want := range map[string]string{
		"Content-Type": "application/zip", "Content-Disposition": `attachment; filename="retwis-ada.zip"`, "Cache-Control": "no-store",
	} {
		if have := got.header.Get(name); have != want {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
	archive, err := zip.NewReader(strings.NewReader(got.body), int64(len(got.body)))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range archive.File {
		in, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		texts[file.Name] = string(text)
		if strings.Contains(string(text), "of somebody else") || strings.Contains(string(text), "argon2") {
			t.Errorf("%s contains data of others or secrets: %s", file.Name, text)
		}
	}
	if posts := texts[path.Join("retwis", "posts.json")]; !strings.Contains(posts, "in the archive") || !json.Valid([]byte(posts)) {
		t.Errorf("posts.json: %q", posts)
	}
}

// Deleting an account requires the password. It ends the session and removes the pages, and the
// name stays reserved.
func TestLeave(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.DB(t).Client(t))
	ada := s.signedUp("ada")
	ada.send("/post", "status", "to be deleted").want(303)
	ada.get("/settings/delete").want(200, `action="/settings/delete"`, `name="password"`)
	s.visitor().send("/settings/delete", "password", password).want(303, "/login")
	ada.send("/settings/delete", "password", "wrong horse").want(422, "That password is wrong.")
	ada.get("/u/ada").want(200, "to be deleted")
	left := ada.send("/settings/delete", "password", password).want(200, "ada")
	if !strings.Contains(left.header.Get("Clear-Site-Data"), `"cookies"`) {
		t.Errorf("Clear-Site-Data: %q", left.header.Get("Clear-Site-Data"))
	}
	ada.get("/home").want(303, "/login")
	s.visitor().get("/u/ada").want(404)
	s.visitor().get("/timeline").want(200).wantNot("to be deleted")
	s.visitor().send("/login", "username", "ada", "password", password).want(422)
	s.visitor().send("/register", "username", "Ada", "password", password, "password2", password).want(422, "taken")
}
