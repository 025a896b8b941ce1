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

// Options are the settings of an App. The zero value is usable.
type Options struct {
	// Logger receives background events, such as fan-outs that were interrupted or repeated.
	// Default: slog.Default().
	Logger *slog.Logger

	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// HashParams is the cost of a password hash. Default: 19 MiB, 2 passes, 1 lane, the first
	// setting that OWASP recommends.
	HashParams *argon2id.Params

	// Hashers limits how many password hashes are computed concurrently, and thus the memory for
	// hashing. Default: the number of cores.
	Hashers int

	// Limits overrides rate limits. Default: the limits of package limits.
	Limits limits.Config

	// Server describes the database to package load, which then writes by mass insertion on its own
	// connections. Default: package load writes through the client.
	Server *rueidis.ClientOption

	// Invalidations reports which keys have changed. It must belong to the client of the App.
	// Default: decoded values are not cached.
	Invalidations *store.Invalidations

	// SessionIdle is the time without use after which a session ends. Default: 30 days.
	SessionIdle time.Duration

	// SessionMax is the maximum lifetime of a session. Default: a year.
	SessionMax time.Duration

	// SecretKey encrypts the keys of authenticator apps in the database. Default: they are stored
	// unencrypted.
	SecretKey []byte

	// CelebrityFollowers is, on a Cluster, the number of followers from which the posts of an
	// author are merged into home timelines on read instead of being added to each timeline; see
	// storage.Celebrities. Default: 5,000.
	CelebrityFollowers int64

	// HomeIdle is, on a Cluster, the time without a view after which a home timeline expires. The
	// next view rebuilds it; see timeline.Homes. Default: 30 days.
	HomeIdle time.Duration

	// ViewBytes limits the memory for cached posts. Default: 64 MiB.
	ViewBytes int64

	// NoJobs leaves background work to other processes.
	NoJobs bool

	// MaxBacklog is how many jobs may wait before posts to many followers are refused. Default:
	// 1,000; -1 for no limit.
	MaxBacklog int64

	// Media stores the files of pictures. Default: pictures are neither accepted nor shown, and
	// posts with pictures are not deleted completely.
	Media files.Store

	// Mail sends the emails of the site. Default: users have no addresses and get no emails.
	Mail *mail.Server

	// MediaQuota limits the size of a user's pictures in bytes. Default: 1 GiB.
	MediaQuota int64
}

const (
	defaultSessionIdle        = 30 * 24 * time.Hour
	defaultSessionMax         = 365 * 24 * time.Hour
	defaultCelebrityFollowers = 5_000
	defaultHomeIdle           = 30 * 24 * time.Hour
	minHomeIdle               = time.Hour
	// defaultBacklog is about ten minutes of work for a process, if each job is a post to 20,000
	// followers.
	defaultBacklog = 1000
)

// withDefaults returns the options with their defaults, or an error that names the invalid field.
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
		name          string
		value         *time.Duration
		fallback, min time.Duration
	}{
		{"SessionIdle", &opt.SessionIdle, defaultSessionIdle, 2 * auth.SessionUseEvery},
		{"SessionMax", &opt.SessionMax, defaultSessionMax, 2 * auth.SessionUseEvery},
		{"HomeIdle", &opt.HomeIdle, defaultHomeIdle, minHomeIdle},
	} {
		*d.value = cmp.Or(*d.value, d.fallback)
		if *d.value < d.min {
			return opt, fmt.Errorf("social: Options.%s: %v is less than %v", d.name, *d.value, d.min)
		}
	}
	return opt, nil
}
