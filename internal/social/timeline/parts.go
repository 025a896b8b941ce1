package timeline

import (
	"retwis/internal/social/storage"
)

// Parts are the dependencies for showing posts and people. All are required.
type Parts struct {
	storage.Parts
	Users     *storage.Users
	Views     *Views
	Viewers   *Viewers
	Lists     *Lists
	Timelines *Timelines
	Standings *Standings
}
