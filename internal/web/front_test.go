package web_test

import (
	"fmt"
	"testing"
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
	ada.get("/u/ada/following").want(200, "You aren't following anyone yet.", `<a href="/explore/people">Find people to follow</a>`)
	ben.get("/u/ada/following").want(200, "ada isn't following anyone yet.")
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
