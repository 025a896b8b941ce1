package timeline

import (
	"retwis/internal/social/storage"
)

// Parts are what the application needs to show posts and people. All are required.
type Parts struct {
	storage.Parts
	Users     *storage.Users
	Views     *Views
	Viewers   *Viewers
	Lists     *Lists
	Timelines *Timelines
	Standings *Standings
}
