package web

import (
	"retwis/internal/social/people"
	"retwis/internal/social/timeline"
	"retwis/internal/social/users"
)

// reader reads what several pages show, and finds the users and posts that addresses name.
type reader struct {
	lists     *timeline.Lists
	relations *people.Relations
	users     *users.Users
	views     *timeline.Views
}
