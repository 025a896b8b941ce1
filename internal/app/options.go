package app

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/redis/rueidis"

	"retwis/internal/files"
	"retwis/internal/mail"
	"retwis/internal/redis/store"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/social/media"
)

// Options are the settings of an App. The zero value is a good default.
type Options struct {
	// Logger receives the events of the background: fan-outs that were
	// interrupted or repeated. Default: slog.Default().
	Logger *slog.Logger

	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// HashParams is the cost of a password hash. Default: 19 MiB, 2 passes,
	// 1 lane, the first of the settings that OWASP recommends.
	HashParams *argon2id.Params

	// Hashers bounds how many password hashes are computed at once, and with
	// that the memory they take. Default: the number of cores.
	Hashers int

	// Limits changes how often people may do things; see package limits. Default: the
	// limits there.
	Limits limits.Config

	// Server describes the database to package load, which then writes by mass
	// insertion, on its own connections. Default: it writes through the client.
	Server *rueidis.ClientOption

	// Invalidations reports which keys have changed; it belongs to the client.
	// Default: nothing decoded is kept in memory.
	Invalidations *store.Invalidations

	// SessionIdle is after which time without use a session ends. Default: 30 days.
	SessionIdle time.Duration

	// SessionMax is after which time a session ends in any case. Default: a year.
	SessionMax time.Duration

	// SecretKey encrypts the keys of authenticator apps in the database. Default: they
	// are stored as they are.
	SecretKey []byte

	// CelebrityFollowers is, on a Cluster, from how many followers on the posts of an
	// author are merged with home timelines when those are read, in place of being put
	// on each; see storage.Celebrities. Default: 5,000.
	CelebrityFollowers int64

	// HomeIdle is, on a Cluster, after which time without a view a home timeline
	// expires. The next view makes it again; see package home. Default: 30 days.
	HomeIdle time.Duration

	// ViewBytes bounds the posts that are kept in memory. Default: 64 MiB.
	ViewBytes int64

	// NoJobs leaves the work in the background to other processes.
	NoJobs bool

	// MaxBacklog is how many jobs may wait before posts to many followers are refused.
	// Default: 1,000; -1: any number.
	MaxBacklog int64

	// Media has the files of pictures. Default: pictures are neither taken nor shown, and
	// posts that have some are not deleted to their end.
	Media files.Store

	// Mail sends the mails of the site. Default: users have no addresses, and get none.
	Mail *mail.Server

	// MediaQuota is how many bytes the pictures of a user may take. Default: 1 GiB.
	MediaQuota int64
}

const (
	defaultSessionIdle        = 30 * 24 * time.Hour
	defaultSessionMax         = 365 * 24 * time.Hour
	defaultCelebrityFollowers = 5_000
	defaultHomeIdle           = 30 * 24 * time.Hour
	minHomeIdle               = time.Hour
	// defaultBacklog is about ten minutes of work for a process, if each job is a post to
	// 20,000 followers.
	defaultBacklog = 1000
)

// withDefaults returns the options with their defaults, or an error that names the field
// that is not allowed.
func (opt Options) withDefaults() (Options, error) {
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.MaxBacklog = cmp.Or(opt.MaxBacklog, defaultBacklog)
	opt.MediaQuota = cmp.Or(opt.MediaQuota, media.DefaultQuota)
	if opt.ViewBytes < 0 {
		return opt, fmt.Errorf("social: Options.ViewBytes: %d is negative", opt.ViewBytes)
	}
	if opt.CelebrityFollowers < 0 {
		return opt, fmt.Errorf("social: Options.CelebrityFollowers: %d is negative", opt.CelebrityFollowers)
	}
	opt.CelebrityFollowers = cmp.Or(opt.CelebrityFollowers, defaultCelebrityFollowers)
	for _, d := range []struct {
		name            string
		value           *time.Duration
		fallback, least time.Duration
	}{
		{"SessionIdle", &opt.SessionIdle, defaultSessionIdle, 2 * auth.SessionUseEvery},
		{"SessionMax", &opt.SessionMax, defaultSessionMax, 2 * auth.SessionUseEvery},
		{"HomeIdle", &opt.HomeIdle, defaultHomeIdle, minHomeIdle},
	} {
		*d.value = cmp.Or(*d.value, d.fallback)
		if *d.value < d.least {
			return opt, fmt.Errorf("social: Options.%s: %v is less than %v", d.name, *d.value, d.least)
		}
	}
	return opt, nil
}
