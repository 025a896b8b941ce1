// Package social is Retwis: the Twitter clone that keeps everything in Redis.
// It knows accounts, sessions, follows, posts, conversations, timelines and
// notifications, and no HTTP and no pages.
//
// # What it does
//
//   - A [User] registers under a name, logs in and out, and has up to
//     [MaxSessions] open sessions: Register, Login, Authenticate, SessionUser,
//     OpenSessions, Logout, LogoutEverywhere, UserByName, LatestUsers. A password is
//     changed by ChangePassword, or with a link of IssueReset; SetUpSecondFactor asks
//     for codes of an app at log-ins, which FinishLogin takes.
//   - Users follow each other: Follow, Unfollow, IsFollowing, Followers,
//     Following, Counts, CommonFollowers.
//   - A [Post] is a text of at most [MaxBody] characters. It appears on the
//     profile and the home timeline of its author, on the public timeline, and
//     on the home timelines of the author's followers: Post, Posts.
//   - A [Page] is a part of a timeline, newest first: Home, Profile, Everybody.
//   - People answer, repeat and change posts: Reply, Repost, Unrepost, Edit, Edits,
//     Delete, Thread. They mark them: Like, Unlike, Bookmark, Unbookmark, Likers,
//     Reposters, LikedPosts, BookmarkedPosts; and pin one of their own to their
//     profile: Pin, UserProfile, EditProfile.
//   - Tags in posts can be read and followed: TagPosts, FollowTag, FollowedTags.
//   - People keep others away: Mute, Block, RemoveFollower, Relation.
//   - What people do is limited: Allow, AllowLogin; see package limits.
//   - What others do with one's posts is notified: Notifications, Unread, MarkRead,
//     SetNotifyOff.
//   - Moderators decide about posts and people: SetRole, SetStanding, HidePost,
//     UnhidePost, RemovePost; and about what others have reported: ReportPost,
//     ReportUser, TakeReport, DecideReport, ReturnReport, OpenReports. Audit and AuditLog are the log of these decisions.
//   - A [Viewer] is a person who looks. [Visible] alone decides how they see a post;
//     a [Listing] is a page of posts as they see it: HomePosts, PublicPosts,
//     ProfilePosts, ProfileReplies, PostPage.
//
// All of these are methods of [Service].
//
// # Keys
//
// The keys are those of the Retwis tutorial (docs/keys.md lists every one), so
// a database that the original PHP program wrote opens unchanged. No write
// mixes keys that a Cluster could store on different servers, except follows on
// a single server (see package follow); a write that needs several keys is a
// sequence that can be repeated from its start without harm, and its comment
// says so.
//
// # Reads
//
// Reads are answered from the client's own memory where the server allows it
// (server-assisted client-side caching: the server reports which keys changed).
// On one server and in one process, a read that begins after a write has
// returned always sees that write, because the client is expected to use one
// connection to a server: the invalidation message arrives before the reply to
// a later command. Another process sees the write as soon as the message has
// arrived there; [WithFresh] makes a read that does not depend on it.
//
// # Packages
//
// limits bounds how often people do things; layout names the keys; reply, hash and mirror are small helpers; password hashes
// passwords; follow, reaction, relation and notify store follows, likes, mutes and
// blocks, and notifications; text finds links, mentions and tags; fanout puts posts on
// timelines, takes them off, and finishes what was interrupted, with package task;
// invite stores invitations, export writes archives of what users have written, and removal deletes accounts. On
// top of this package, check verifies and repairs a database, adopt opens
// databases of the original programs, and load writes many users and posts at
// once.
package social

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/store"
	"retwis/internal/social/audit"
	"retwis/internal/social/celebrity"
	"retwis/internal/social/completion"
	"retwis/internal/social/directory"
	"retwis/internal/social/fanout"
	"retwis/internal/social/follow"
	"retwis/internal/social/home"
	"retwis/internal/social/invite"
	"retwis/internal/social/layout"
	"retwis/internal/social/limits"
	"retwis/internal/social/password"
	"retwis/internal/social/reaction"
	"retwis/internal/social/relation"
	"retwis/internal/social/removal"
	"retwis/internal/social/report"
	"retwis/internal/social/secondfactor"
	"retwis/internal/social/session"
	"retwis/internal/watched"
)

// Options are the settings of a Service. The zero value is a good default.
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
	// on each; see package celebrity. Default: 5,000.
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
}

// defaultBacklog is the default of Options.MaxBacklog: about ten minutes of work for a
// process, if each job is a post to 20,000 followers.
const defaultBacklog = 1000

// Service is Retwis on one database; see the package comment for its methods.
// It is safe for concurrent use.
type Service struct {
	*users
	*accounts
	*follows
	*posts
	*timelines
	*listings
	*threads
	*tags
	*completions
	*notifications
	*reactions
	*relations
	*profiles
	*leaving
	*signUps
	*limited
	*moderation
	*reports

	client      rueidis.Client
	fanOut      *fanout.Engine
	celebrities *celebrity.Set // nil on a single server
	opt         Options

	unsubscribe func()
}

const (
	defaultCelebrityFollowers = 5_000
	defaultHomeIdle           = 30 * 24 * time.Hour
	minHomeIdle               = time.Hour
)

// cachedPairs bounds the immutable pairs kept in memory, about 150 bytes each.
const cachedPairs = 200_000

// New returns a Service on the database behind client, which stays the
// caller's. Close ends it.
func New(client rueidis.Client, opt Options) (*Service, error) {
	if client == nil {
		return nil, errors.New("social: no client")
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.ViewBytes == 0 {
		opt.ViewBytes = defaultViewBytes
	}
	if opt.ViewBytes < 0 {
		return nil, fmt.Errorf("social: Options.ViewBytes: %d is negative", opt.ViewBytes)
	}
	for _, d := range []struct {
		name     string
		value    *time.Duration
		fallback time.Duration
	}{{"SessionIdle", &opt.SessionIdle, defaultSessionIdle}, {"SessionMax", &opt.SessionMax, defaultSessionMax}} {
		if *d.value == 0 {
			*d.value = d.fallback
		}
		if *d.value < 2*session.UseEvery {
			return nil, fmt.Errorf("social: Options.%s: %v is less than %v", d.name, *d.value, 2*session.UseEvery)
		}
	}
	if opt.CelebrityFollowers == 0 {
		opt.CelebrityFollowers = defaultCelebrityFollowers
	}
	if opt.CelebrityFollowers < 0 {
		return nil, fmt.Errorf("social: Options.CelebrityFollowers: %d is negative", opt.CelebrityFollowers)
	}
	if opt.HomeIdle == 0 {
		opt.HomeIdle = defaultHomeIdle
	}
	if opt.HomeIdle < minHomeIdle {
		return nil, fmt.Errorf("social: Options.HomeIdle: %v is less than %v", opt.HomeIdle, minHomeIdle)
	}
	box, err := secondfactor.NewBox(opt.SecretKey)
	if err != nil {
		return nil, err
	}
	hasher, err := password.NewHasher(opt.HashParams, opt.Hashers)
	if err != nil {
		return nil, err
	}
	ids, err := newPairs()
	if err != nil {
		return nil, err
	}
	tokens, err := newTokens()
	if err != nil {
		return nil, err
	}
	db := database{client: client, cluster: client.Mode() == rueidis.ClientModeCluster, link: watched.NewLink(opt.Invalidations != nil, func(ctx context.Context) error { return store.ProbeRead(ctx, client) })}
	lists, err := collection.NewTimelines(client, layout.TimelineCap)
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	bounds, err := limits.New(client, opt.Limits, opt.Logger)
	if err != nil {
		return nil, fmt.Errorf("social: Options.Limits: %w", err)
	}
	users := &users{database: db, ids: ids, directory: directory.New(client)}
	s := &Service{users: users, client: client, opt: opt, fanOut: fanout.New(client, lists, opt.Logger, opt.Now)}
	s.limited = &limited{users: users, limits: bounds, now: opt.Now}
	stored := &session.Store{Client: client, Directory: users.directory, Idle: opt.SessionIdle, Max: opt.SessionMax}
	s.accounts = &accounts{sessions: &sessions{users: users, store: stored, now: opt.Now, tokens: tokens}, hasher: hasher, factors: &secondfactor.Store{Client: client, Box: box}, now: opt.Now}
	s.follows = &follows{users: users, store: follow.New(client), fanOut: s.fanOut, now: opt.Now}
	s.posts = &posts{users: users, fanOut: s.fanOut, log: opt.Logger, now: opt.Now, maxBacklog: cmp.Or(opt.MaxBacklog, defaultBacklog)}
	s.timelines = &timelines{database: db, lists: lists, saw: s.fanOut.Saw}
	s.posts.published, s.posts.removed = s.timelines.Published, s.timelines.removed
	if opt.Invalidations != nil {
		s.timelines.public = newRecent(db.link, s.timelines.readPublic)
		users.newest = newRecent(db.link, users.readNewest)
		if s.follows.common, err = newCommons(); err != nil {
			return nil, err
		}
	}
	if db.cluster {
		s.celebrities = celebrity.New(client, opt.CelebrityFollowers, opt.Invalidations != nil, users.directory.Spread)
		s.timelines.homes, err = home.New(home.Options{
			Client: client, Lists: lists, Celebrities: s.celebrities, Idle: opt.HomeIdle, Watched: opt.Invalidations != nil,
		})
		if err != nil {
			return nil, err
		}
		s.fanOut.OnCelebrities(s.celebrities)
	}
	views, err := newViews(users, opt.ViewBytes)
	if err != nil {
		return nil, err
	}
	standings := newStandings(db)
	viewers, err := newViewers(db, standings, opt.Now)
	if err != nil {
		return nil, err
	}
	s.posts.allViews, s.posts.allViewers = views, viewers
	s.listings = &listings{views: views, viewers: viewers, timelines: s.timelines}
	s.tags = &tags{database: db, lists: s.listings, fanOut: s.fanOut, now: opt.Now}
	names, err := completion.New(client, opt.Logger)
	if err != nil {
		return nil, err
	}
	s.completions = &completions{users: users, index: names}
	s.accounts.names, s.follows.names = names, names
	s.fanOut.OnTags(names.Tagged)
	if s.threads, err = newThreads(db, s.listings); err != nil {
		return nil, err
	}
	s.notifications, err = newNotifications(users, s.listings, opt.Logger)
	if err != nil {
		return nil, err
	}
	s.reactions = &reactions{lists: s.listings, follows: s.follows, inboxes: s.notifications, store: reaction.New(client), now: opt.Now}
	s.relations = &relations{follows: s.follows, store: relation.New(client)}
	s.profiles = &profiles{users: users, names: s.completions, lists: s.listings}
	s.signUps = &signUps{log: &auditLog{audit.New(client)}, accounts: s.accounts, invites: invite.New(client)}
	s.leaving = &leaving{users: users, removal: removal.New(removal.Options{
		Client: client, Directory: users.directory, FanOut: s.fanOut, Names: names, Log: opt.Logger, Now: opt.Now,
	})}
	s.leaving.removal.Also("invitations", func(ctx context.Context, uid int64, _ string) error {
		return s.signUps.invites.RemoveAll(ctx, uid)
	})
	s.posts.notices, s.follows.notices = s.notifications, s.notifications
	s.moderation = &moderation{
		auditLog: &auditLog{audit.New(client)}, client: client, users: users, logins: s.accounts, follows: s.follows,
		lists: s.listings, fanOut: s.fanOut, tasks: s.fanOut.Tasks(), standings: standings, log: opt.Logger, now: opt.Now,
	}
	s.leaving.removal.Also("moderation", s.forget)
	s.leaving.removal.Also("home timelines", func(ctx context.Context, uid int64, _ string) error { return s.celebrities.Remove(ctx, uid) })
	s.leaving.removal.Also("reports", func(ctx context.Context, uid int64, _ string) error { return s.ForgetReports(ctx, uid) })
	store, err := report.New(client)
	if err != nil {
		return nil, err
	}
	s.reports = &reports{store: store, m: s.moderation}
	s.leaving.hide, s.accounts.staff = s.followStanding, s.Staff
	s.tasks.Handle(strings.TrimSuffix(roleTask, ":"), s.copyRole)
	s.tasks.Handle(strings.TrimSuffix(standingTask, ":"), s.followStanding)
	s.fanOut.Start(!opt.NoJobs)
	s.unsubscribe = opt.Invalidations.Subscribe(s.invalidated)
	return s, nil
}

// invalidated notes that a key has changed; any key may have if it is empty. It must
// not wait: the connection of the client calls it.
func (s *Service) invalidated(key string) {
	switch key {
	case "":
		s.users.link.Lost()
		s.standings.changed(true)
		s.celebrities.Changed()
		s.timelines.homes.Changed("", 0)
		return
	case layout.Celebrities:
		s.celebrities.Changed()
		return
	case layout.Standings:
		s.standings.changed(false)
		return
	}
	prefix, id, ok := layout.ParseKey(key)
	if !ok {
		return
	}
	switch prefix {
	case layout.PostPrefix:
		s.views.invalidate(id)
	case layout.MutedPrefix, layout.BlockedPrefix, layout.BlockersPrefix,
		layout.LikedPrefix, layout.RepostedPrefix, layout.BookmarksPrefix:
		s.viewers.invalidate(id, prefix)
	case layout.InboxPrefix, layout.NotificationsPrefix, layout.UserPrefix:
		s.notifications.invalidate(id)
	case layout.FollowingPrefix, layout.ProfilePrefix:
		s.timelines.homes.Changed(prefix, id)
	}
}

func newPairs() (*otter.Cache[string, int64], error) {
	pairs, err := otter.New(&otter.Options[string, int64]{MaximumSize: cachedPairs})
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	return pairs, nil
}

// Close stops the fan-outs that run in the background and waits for them. The
// database knows which are unfinished; other processes finish them. The client
// stays open.
func (s *Service) Close() error {
	s.unsubscribe()
	s.standings.close()
	s.leaving.removal.Close()
	s.fanOut.Close()
	s.completions.index.Close()
	return nil
}

// Ping reports whether the database can be read, every part of a Cluster
// included. An error wraps store.ErrPartly where another part answers. One round
// trip.
func (s *Service) Ping(ctx context.Context) error {
	if err := s.users.link.Probe(ctx); err != nil {
		return fmt.Errorf("social: the database cannot be read: %w", err)
	}
	return nil
}

// Confirm waits until this process has in memory what others changed more than a second
// ago. Call it before a page is made. While only a part of a Cluster can be reached, it
// does not wait, and of the other part the Service uses what it has in memory; usedOld reports
// whether it did with the context. Rarely a round trip.
func (s *Service) Confirm(ctx context.Context) (_ context.Context, usedOld *atomic.Bool, err error) {
	if err := s.users.link.Confirm(ctx); err != nil {
		return ctx, nil, fmt.Errorf("social: read which changes have arrived: %w", err)
	}
	ctx, usedOld = watched.WithNote(ctx)
	return ctx, usedOld, nil
}

// Outdated reports whether only a part of the database could be reached lately, and how
// often this process has used what it had in memory of the other part.
func (s *Service) Outdated() (partly bool, uses int64) {
	return s.users.link.Partly(), s.users.link.Served()
}

// PingWrite reports whether the database takes writes. It changes nothing. One
// round trip.
func (s *Service) PingWrite(ctx context.Context) error {
	if err := store.ProbeWrite(ctx, s.client); err != nil {
		return fmt.Errorf("social: the database takes no writes: %w", err)
	}
	return nil
}

// Resume repeats the fan-out of a post from its beginning to its end; see
// fanout.Engine. It returns ErrNotFound where there is no such post.
func (s *Service) Resume(ctx context.Context, post int64) error {
	err := s.fanOut.Resume(ctx, post)
	if errors.Is(err, fanout.ErrNoPost) {
		return ErrNotFound
	}
	return err
}

// ResumeFanOuts finishes the posts whose fan-out was interrupted when a process
// died, in this process. A post that cannot be finished is logged and tried again by a
// later call; the error reports how many there are.
func (s *Service) ResumeFanOuts(ctx context.Context) error { return s.fanOut.ResumeAll(ctx) }

// sweepEvery is how often to look for work in the background that was lost.
const sweepEvery = 3 * time.Second

// RecoverFanOuts looks for interrupted work and queues it again, every three seconds or
// more often, until ctx ends. All processes of a site call it; a lock lets one of them do
// that. Other maintenance is done every so often.
func (s *Service) RecoverFanOuts(ctx context.Context, every time.Duration) error {
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { s.completions.index.Maintain(ctx, every) })
	others.Go(func() { s.liftAll(ctx, liftEvery) })
	return s.fanOut.Recover(ctx, min(every, sweepEvery))
}

// Celebrities are the authors whose posts are merged with home timelines when those are
// read; nil on a single server.
func (s *Service) Celebrities() *celebrity.Set { return s.celebrities }

// Client is the client of the database.
func (s *Service) Client() rueidis.Client { return s.client }

// Directory finds users by their names.
func (s *Service) Directory() *directory.Directory { return s.users.directory }

// Lists are the timelines that are lists.
func (s *Service) Lists() *collection.Timelines { return s.timelines.lists }

// FanOut is the engine that puts posts on timelines.
func (s *Service) FanOut() *fanout.Engine { return s.fanOut }

// Options returns the settings of the service, with their defaults.
func (s *Service) Options() Options { return s.opt }
