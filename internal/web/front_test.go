package web_test

import (
	"fmt"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	siteinfo "retwis/internal/social/site"
)

// An empty page suggests what to do.
func TestEmptyPages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.visitor().get("/").want(200).wantNot("Latest posts")
	s.visitor().get("/timeline").want(200, "No posts yet.", `<a href="/register">Sign up to write the first one</a>`)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ada.get("/timeline").want(200, `<a href="/home">Write the first one</a>`)
	ada.get("/home").want(200, "No posts yet.", `<a href="/explore/people">find people to follow</a>`)
	ada.get("/u/ada").want(200, "You haven&#39;t posted yet.", `<a href="/home#status">Write your first post</a>`)
	ben.get("/u/ada").want(200, "ada hasn&#39;t posted yet.").wantNot("Write your first post")
	ada.get("/u/ada/following").want(200, "You aren&#39;t following anyone yet.", `<a href="/explore/people">Find people to follow</a>`)
	ben.get("/u/ada/following").want(200, "ada isn&#39;t following anyone yet.")
}

// No page links to the sign-up form if nobody can sign up. The form names the rules that users
// agree to.
func TestSignUpLinks(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.visitor()
	v.get("/register").want(200).wantNot("you agree")
	if _, err := s.social.Site.Set(t.Context(), social.Operator, map[siteinfo.Field]string{siteinfo.Rules: "Be kind."}, nil); err != nil {
		t.Fatal(err)
	}
	const agree = `By signing up you agree to the <a target="_blank" href="/rules">rules</a> of this site.`
	until(t, "the rules are known", func() bool { return strings.Contains(v.get("/register").body, agree) })
	v.get("/").want(200, agree, `href="/register"`)
	v.get("/login").want(200, `href="/register"`)
	for _, mode := range []accounts.SignUpMode{accounts.SignUpInvite, accounts.SignUpClosed} {
		if err := s.social.SignUps.SetSignUpMode(t.Context(), social.Operator, mode); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/login", "/timeline", "/none"} {
			until(t, "the mode is known", func() bool { return !strings.Contains(v.get(path).body, `href="/register"`) })
		}
	}
}

// A path with a trailing slash redirects to the path without it.
func TestSlashAtTheEnd(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.signedUp("ada")
	v := s.visitor()
	for path, to := range map[string]string{"/u/ada/": "/u/ada", "/timeline/": "/timeline", "/u/ada/followers/": "/u/ada/followers"} {
		v.get(path).want(303, to)
	}
	for _, path := range []string{"/none/", "/u/ada/1/2/3/", "/.//evil.example/"} {
		if to := v.get(path).header.Get("Location"); strings.Contains(to, "//") {
			t.Errorf("%s redirects to %q", path, to)
		}
	}
	v.get("/none/").want(404)
}

// The front page shows the latest posts.
func TestFrontPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	for i := range 4 {
		v.send("/post", "status", fmt.Sprint("number ", i)).want(303)
	}
	s.visitor().get("/").want(200, "Latest posts", "number 3", "number 1").wantNot("number 0")
}
