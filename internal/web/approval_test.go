package web_test

import (
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
)

// New users give a reason, are told to wait, and can log in once a moderator approves them.
func TestApproval(t *testing.T) {
	t.Parallel()
	s := setup(t)
	mia, ada := s.signedUpAs("mia", social.Moderator), s.signedUp("ada")
	if err := s.social.SignUps.SetSignUpMode(t.Context(), social.Operator, accounts.SignUpApproval); err != nil {
		t.Fatal(err)
	}
	v := s.visitor()
	v.get("/").want(200, `name="reason"`)
	v.get("/register").want(200, "Why do you want to join?")
	sign := func(name, reason string) *response {
		t.Helper()
		return v.send("/register", "username", name, "password", password, "password2", password, "reason", reason)
	}
	sign("ben", "").want(422, "Say in a few words why you want to join.", `value="ben"`)
	for _, name := range []string{"ben", "ben", "cem", "dan"} { // ben sends the form twice
		sign(name, "I like <lighthouses>").want(200, "Thank you, "+name, "will review your sign-up")
	}
	v.get("/home").want(303, "/login")
	v.send("/login", "username", "ben", "password", password).want(403, "Thank you, ben", "you can&#39;t log in")
	v.send("/login", "username", "ben", "password", "wrong password").want(422, "Wrong username or password.")
	for _, viewer := range []*visitor{v, ada} {
		viewer.get("/u/ben").want(404, "This account doesn&#39;t exist").wantNot("suspended")
		viewer.get("/timeline").want(200).wantNot("/u/ben")
		viewer.get("/suggest?q=%40be").want(200).wantNot("ben")
	}

	ada.get("/moderation/signups").want(404)
	ada.send("/moderation/signups", "user", "3", "action", "approve").want(404)
	mia.get("/moderation").want(200, `href="/moderation/signups"`, "3<span class=\"unseen\"> to decide</span>")
	mia.get("/moderation/signups").want(200, "@ben", "I like &lt;lighthouses&gt;", "127.0.0.1", "All waiting sign-ups from 127.0.0.1")
	mia.get("/moderation/people").want(200, "@ben", "pending")
	mia.send("/moderation/signups", "user", "3", "action", "fly").want(422)
	mia.send("/moderation/signups", "user", "x", "action", "approve").want(404)
	mia.send("/moderation/signups", "user", "3", "action", "approve").want(303, "/moderation/signups?approve")
	mia.send("/moderation/signups", "user", "3", "action", "refuse").want(303) // already decided
	v.send("/login", "username", "ben", "password", password).want(303, "/home")
	ada.get("/u/ben").want(200)
	mia.get("/moderation/signups?approve").want(200, "Sign-up approved.", "@cem").wantNot("@ben")
	mia.send("/moderation/signups", "place", "127.0.0.1", "action", "refuse").want(303, "/moderation/signups?refuse-all")
	mia.get("/moderation/signups?refuse-all").want(200, "Sign-ups rejected.")
	mia.get("/moderation/signups").want(200, "No sign-ups waiting.").wantNot("to decide")
	s.visitor().send("/login", "username", "cem", "password", password).want(422, "Wrong username or password.")
	mia.get("/moderation/audit").want(200, "approved the account", "rejected the account").wantNot("lighthouses")
}
