package app

import (
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/store"
	"retwis/internal/social/email"
	"retwis/internal/social/media"
	"retwis/internal/social/people"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"
)

// Internals holds the dependencies, besides the parts, of packages that work on the whole database:
// check, load and live. internal/arch keeps other packages from using it.
type Internals struct {
	Client        rueidis.Client
	Server        *rueidis.ClientOption // may be nil, see Options.Server
	Invalidations *store.Invalidations  // may be nil, see Options.Invalidations
	Log           *slog.Logger
	Now           func() time.Time

	FanOut      *posts.Engine
	Directory   *storage.Directory
	Lists       *collection.Timelines // timelines stored as lists
	Celebrities *storage.Celebrities  // nil on a single server
	Library     *people.Store
	Pictures    *media.Store
	Addresses   *email.Store
}

// Internals returns the internals of the application.
func (s *App) Internals() Internals {
	return Internals{
		Client: s.db.Client, Server: s.opt.Server, Invalidations: s.opt.Invalidations, Log: s.opt.Logger, Now: s.opt.Now,
		FanOut: s.fanOut, Directory: s.directory, Lists: s.lists, Celebrities: s.celebrities,
		Library: s.library, Pictures: s.pictures, Addresses: s.addresses,
	}
}
