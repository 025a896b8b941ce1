package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/picture"
	"retwis/internal/redis/store"
	"retwis/internal/social/accounts"
	"retwis/internal/social/audit"
	"retwis/internal/social/auth"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/email"
	"retwis/internal/social/takeout"

	"retwis/internal/social/limits"
	"retwis/internal/social/media"
	"retwis/internal/social/moderation"
	"retwis/internal/social/notify"
	"retwis/internal/social/people"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"

	"retwis/internal/social/removal"
	"retwis/internal/social/search"

	"retwis/internal/social/site"

	"retwis/internal/social/timeline"

	"retwis/internal/social/work"
	"retwis/internal/watched"
)

// App is the Retwis application on one database. The exported fields are its parts. An App is safe
// for concurrent use.
type App struct {
	Users         *storage.Users
	Accounts      *accounts.Service
	Sessions      *auth.Sessions
	Auth          *auth.Service
	Passkeys      *auth.Passkeys
	Follows       *people.Follows
	Posts         *posts.Service
	Timelines     *timeline.Timelines
	Views         *timeline.Views
	Viewers       *timeline.Viewers
	Lists         *timeline.Lists
	Threads       *posts.Threads
	Tags          *posts.Tags
	Completions   *search.Completions
	Search        *search.Service
	SearchIndex   search.Indexes
	Suggestions   *people.Suggestions
	Notifications *notify.Service
	Reactions     *posts.Reactions
	Relations     *people.Relations
	Profiles      *accounts.Profiles
	Leaving       *accounts.Leaving
	SignUps       *accounts.SignUps
	Moderation    *moderation.Service
	Reports       *moderation.Reports
	Applications  *moderation.Applications // accounts waiting for approval
	Audit         *audit.Log
	Trends        *search.Trends
	TrendRules    *search.TrendRules
	Limits        *limits.Limits
	Site          *site.Settings
	Blocklist     *blocklist.List // words, domains and addresses that must not sign up or post
	Media         *media.Service
	Library       *people.Lists // lists of people and saved searches
	Imports       *takeout.Imports
	Archives      *takeout.Archives // archives of accounts elsewhere
	Email         *email.Service

	db          storage.Database
	parts       timeline.Parts // caches, and the display of posts and people
	directory   *storage.Directory
	fanOut      *posts.Engine
	lists       *collection.Timelines
	homes       *timeline.Homes // on a Cluster only, like celebrities
	celebrities *storage.Celebrities
	standings   *timeline.Standings
	removal     *removal.Engine
	names       *search.CompletionIndex
	counter     *search.TrendCounter
	library     *people.Store
	pictures    *media.Store
	addresses   *email.Store
	opt         Options

	unsubscribe func()
}

// New returns an App on the database of client, which the caller keeps and closes. Close stops the
// App.
func New(client rueidis.Client, opt Options) (*App, error) {
	if client == nil {
		return nil, errors.New("social: no client")
	}
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &App{opt: opt, db: storage.NewDatabase(client, opt.Invalidations != nil), Audit: audit.New(client)}
	for _, build := range []func() error{s.buildBase, s.buildTimelines, s.buildPeople, s.buildAccounts, s.buildModeration} {
		if err := build(); err != nil {
			s.closeParts()
			return nil, err
		}
	}
	s.fanOut.Start(!opt.NoJobs)
	s.unsubscribe = opt.Invalidations.Subscribe(s.db.Changed)
	return s, nil
}

// base returns the dependencies of nearly all parts.
func (s *App) base() storage.Parts { return storage.Parts{DB: s.db, Log: s.opt.Logger, Now: s.opt.Now} }

// buildBase builds the parts on which all other parts depend: users, limits and the fan-out.
func (s *App) buildBase() (err error) {
	client, opt := s.db.Client, s.opt
	s.directory = storage.NewDirectory(client)
	if s.Users, err = storage.New(s.db, s.directory); err != nil {
		return err
	}
	s.Site = site.New(s.db, s.Users, s.Audit)
	s.Blocklist = blocklist.New(s.db, s.Users, s.Audit, opt.Now)
	if s.Limits, err = limits.New(client, opt.Limits, opt.Logger); err != nil {
		return fmt.Errorf("social: Options.Limits: %w", err)
	}
	if s.lists, err = collection.NewTimelines(client, storage.TimelineCap); err != nil {
		return fmt.Errorf("social: %w", err)
	}
	if s.names, err = search.NewCompletionIndex(client, opt.Logger); err != nil {
		return err
	}
	if s.db.Cluster {
		s.celebrities = storage.NewCelebrities(s.db, opt.CelebrityFollowers)
		s.homes, err = timeline.NewHomes(timeline.HomeOptions{DB: s.db, Lists: s.lists, Celebrities: s.celebrities, Idle: opt.HomeIdle})
		if err != nil {
			return err
		}
	}
	s.library = people.NewStore(client, func(uid int64) { s.Viewers.Changed(uid) })
	s.pictures = media.NewStore(media.StoreOptions{Parts: s.base(), Files: opt.Media})
	words := search.NewPosts(client)
	s.fanOut = posts.NewEngine(client, posts.EngineOptions{
		Lists: s.lists, Celebrities: s.celebrities, Search: words, OnTags: s.names.Tagged,
		OnBlock: s.library.Separate, Pictures: s.pictures, Log: opt.Logger, Now: opt.Now,
	})
	s.SearchIndex = search.NewIndexes(words, search.NewPeople(client, s.fanOut.Tasks()))
	return nil
}

// buildTimelines builds the parts that read timelines and threads.
func (s *App) buildTimelines() (err error) {
	s.Timelines = timeline.NewTimelines(s.db, timeline.Options{Lists: s.lists, Homes: s.homes, Saw: s.fanOut.Saw})
	if s.Views, err = timeline.NewViews(s.db, s.Users, s.opt.ViewBytes); err != nil {
		return err
	}
	s.standings = timeline.NewStandings(s.db)
	if s.Viewers, err = timeline.NewViewers(s.db, s.standings, s.opt.Now); err != nil {
		return err
	}
	s.Lists = timeline.NewLists(s.Views, s.Viewers, s.Timelines)
	s.parts = timeline.Parts{
		Parts: s.base(), Users: s.Users, Views: s.Views, Viewers: s.Viewers, Lists: s.Lists, Timelines: s.Timelines, Standings: s.standings,
	}
	if s.Threads, err = posts.NewThreads(s.db, s.Views, s.Lists); err != nil {
		return err
	}
	s.Notifications, err = notify.NewService(s.parts)
	return err
}

// buildPeople builds the parts with which users interact with each other and with posts.
func (s *App) buildPeople() (err error) {
	s.Follows, err = people.NewFollows(people.Options{Parts: s.parts, Homes: s.fanOut.Homes, Notices: s.Notifications, Names: s.names})
	if err != nil {
		return err
	}
	s.Relations = people.NewRelations(s.Follows)
	s.TrendRules = search.NewTrendRules(s.db, s.Users, s.Audit, s.opt.Now)
	s.Completions = search.NewCompletions(s.parts, s.names, s.TrendRules)
	if s.Suggestions, err = people.NewSuggestions(s.parts); err != nil {
		return err
	}
	s.counter = search.NewTrendCounter(s.db.Client, s.opt.Logger, s.opt.Now)
	s.Trends = search.NewTrends(search.TrendsOptions{Parts: s.parts, Counter: s.counter, Rules: s.TrendRules, Blocklist: s.Blocklist})
	s.Search = search.New(search.Options{Parts: s.parts, Index: s.SearchIndex, Completions: s.Completions})
	s.Library = people.NewLists(people.ListsOptions{Parts: s.parts, Store: s.library})
	opt := posts.Options{
		Parts: s.parts, Blocklist: s.Blocklist, FanOut: s.fanOut, Notices: s.Notifications, Trends: s.counter,
		Pictures: s.pictures, MaxBacklog: s.opt.MaxBacklog,
	}
	s.Posts, s.Reactions, s.Tags = posts.New(opt), posts.NewReactions(opt), posts.NewTags(opt)
	s.Imports = takeout.NewImports(takeout.ImportsOptions{
		Parts: s.parts, Store: takeout.NewStore(s.db.Client), Tasks: s.fanOut.Tasks(), Follows: s.Follows,
		Relations: s.Relations, Reactions: s.Reactions, Limits: s.Limits,
	})
	return nil
}

// buildAccounts builds accounts and log-ins.
func (s *App) buildAccounts() (err error) {
	opt := s.opt
	s.Sessions, err = auth.NewSessions(auth.SessionOptions{
		Parts: s.base(), Users: s.Users, Directory: s.directory, Idle: opt.SessionIdle, Max: opt.SessionMax,
	})
	if err != nil {
		return err
	}
	s.addresses = email.NewStore(s.db.Client)
	outbox := email.NewOutbox(s.db.Client, s.addresses, s.fanOut.Tasks(), opt.Now)
	var warner auth.Warner
	if opt.Mail != nil {
		warner = outbox
	}
	s.Auth, err = auth.New(s.Sessions, auth.Options{
		HashParams: opt.HashParams, Hashers: opt.Hashers, SecretKey: opt.SecretKey,
		Limits: s.Limits, Audit: s.Audit, Warner: warner,
	})
	if err != nil {
		return err
	}
	s.Email = email.New(email.Options{
		Parts: s.parts, Store: s.addresses, Outbox: outbox, Server: opt.Mail, Auth: s.Auth, Limits: s.Limits,
		Notices: s.Notifications, Site: s.Site, Audit: s.Audit,
	})
	s.Passkeys = auth.NewPasskeys(s.Auth)
	s.Accounts = accounts.New(accounts.Options{
		Parts: s.parts, Directory: s.directory, Auth: s.Auth, Sessions: s.Sessions, Names: s.names, Search: s.SearchIndex.People,
	})
	s.Profiles = accounts.NewProfiles(accounts.ProfileOptions{
		Parts: s.parts, Names: s.Completions, Search: s.SearchIndex.People, Blocklist: s.Blocklist,
	})
	s.Media = media.New(media.Options{
		Parts: s.parts, Store: s.pictures, Maker: picture.New(picture.Options{}), Tasks: s.fanOut.Tasks(), Quota: opt.MediaQuota,
		Changed: s.Profiles.TouchPosts,
	})
	s.Archives = takeout.NewArchives(takeout.ArchivesOptions{Parts: s.base(), FanOut: s.fanOut, Media: s.Media, Blocklist: s.Blocklist})
	return nil
}

// buildModeration builds moderation and the deletion of accounts.
func (s *App) buildModeration() (err error) {
	opt := s.opt
	s.Moderation = moderation.New(moderation.Options{Parts: s.parts, Sessions: s.Sessions, FanOut: s.fanOut, Audit: s.Audit, Notices: s.Notifications})
	s.SignUps = accounts.NewSignUps(s.Accounts, accounts.SignUpOptions{
		Audit: s.Audit, Blocklist: s.Blocklist, Limits: s.Limits, Log: opt.Logger, FollowStanding: s.Moderation.FollowStanding,
	})
	if s.Reports, err = moderation.NewReports(s.Moderation); err != nil {
		return err
	}
	s.removal = removal.New(removal.Options{
		Parts: s.base(), Directory: s.directory, FanOut: s.fanOut, Names: s.names,
		Steps: []removal.Step{
			{Name: "invitations", Run: s.SignUps.RemoveInvites},
			{Name: "moderation", Run: s.Moderation.Forget},
			{Name: "home timelines", Run: s.celebrities.Remove},
			{Name: "active accounts", Run: s.Suggestions.Forget},
			{Name: "reports", Run: s.Reports.ForgetReports},
			{Name: "search", Run: s.SearchIndex.People.Update},
			{Name: "lists", Run: s.library.Forget},
			{Name: "pictures", Run: s.pictures.Forget},
			{Name: "e-mail", Run: s.addresses.Forget},
		},
		RemoveMembers: s.library.RemoveMembers,
	})
	s.Leaving = accounts.NewLeaving(s.db, s.Users, s.removal, s.Moderation.FollowStanding, s.pictures)
	s.Applications = moderation.NewApplications(s.Moderation, s.directory, s.Leaving.DeleteAccount)
	return nil
}

// Close stops the fan-outs that run in the background and waits for them. Unfinished fan-outs are
// recorded in the database; other processes finish them. The client stays open.
func (s *App) Close() error {
	s.unsubscribe()
	s.closeParts()
	return nil
}

// closeParts stops the background work of the parts built so far.
func (s *App) closeParts() {
	if s.standings != nil {
		s.standings.Close()
	}
	if s.removal != nil {
		s.removal.Close()
	}
	if s.fanOut != nil {
		s.fanOut.Close()
	}
	if s.names != nil {
		s.names.Close()
	}
	if s.counter != nil {
		s.counter.Close()
	}
}

// Ping reports whether the database can be read, including every part of a Cluster. The error wraps
// store.ErrPartly if only some parts answer. It takes one round trip.
func (s *App) Ping(ctx context.Context) error {
	if err := s.db.Link.Probe(ctx); err != nil {
		return fmt.Errorf("social: the database cannot be read: %w", err)
	}
	return nil
}

// Confirm waits until this process has received the changes that other processes made more than a
// second ago. Call it before rendering a page. While only part of a Cluster can be reached, Confirm
// does not wait, and the App serves cached data for the unreachable part; usedStale reports whether
// the App did so under the returned context. Confirm rarely takes a round trip.
func (s *App) Confirm(ctx context.Context) (_ context.Context, usedStale *atomic.Bool, err error) {
	if err := s.db.Link.Confirm(ctx); err != nil {
		return ctx, nil, fmt.Errorf("social: wait for the changes of other processes: %w", err)
	}
	ctx, usedStale = watched.WithNote(ctx)
	return ctx, usedStale, nil
}

// Outdated reports whether only part of the database was recently reachable, and how often this
// process has served cached data for the other part.
func (s *App) Outdated() (partly bool, uses int64) {
	return s.db.Link.Partly(), s.db.Link.Served()
}

// PingWrite reports whether the database accepts writes. It changes nothing and takes one round
// trip.
func (s *App) PingWrite(ctx context.Context) error {
	if err := store.ProbeWrite(ctx, s.db.Client); err != nil {
		return fmt.Errorf("social: the database rejects writes: %w", err)
	}
	return nil
}

// RetryTasks finishes tasks, such as fan-outs, that were interrupted when a process died. A task
// that cannot be finished is logged and retried by a later call; the error has the number of such
// tasks.
func (s *App) RetryTasks(ctx context.Context) error { return s.fanOut.Tasks().RunAll(ctx) }

// Maintain sends the heartbeats of this process and, unless Options.NoJobs is set, does the periodic
// work, until ctx ends.
func (s *App) Maintain(ctx context.Context) {
	var periodic sync.WaitGroup
	defer periodic.Wait()
	if !s.opt.NoJobs {
		all := []work.Periodic{
			{Name: "standings", Every: 15 * time.Second, Do: s.Moderation.LiftEnded},
			{Name: "trends", Every: time.Minute, Do: s.Trends.Merge},
			{Name: "active-accounts", Every: 5 * time.Minute, Do: s.Suggestions.Refresh},
			{Name: "completions", Every: time.Minute, Do: s.names.Build},
			{Name: "search-index", Every: time.Minute, Do: s.SearchIndex.Build},
		}
		if s.Email.IsOn() {
			all = append(all, work.Periodic{Name: "daily-mails", Every: time.Minute, Do: s.Email.SendDigests})
		}
		if s.Media.IsOn() {
			all = append(all, work.Periodic{Name: "unused-pictures", Every: time.Hour, Do: s.Media.Sweep})
		}
		periodic.Go(func() { s.fanOut.Tasks().Repeat(ctx, all...) })
	}
	s.fanOut.Tasks().Beat(ctx)
}
