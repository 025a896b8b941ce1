package web

import (
	"time"

	"retwis/internal/app"
	"retwis/internal/web/about"
	"retwis/internal/web/discover"
	"retwis/internal/web/email"
	"retwis/internal/web/pictures"
	"retwis/internal/web/reader"
)

// handlers are what responds to requests, by subject.
type handlers struct {
	timelines     *timelineHandlers
	posts         *postHandlers
	profiles      *profileHandlers
	relations     *relationHandlers
	people        *discover.People
	tags          *tagHandlers
	notifications *notificationHandlers
	completions   *completionHandlers
	search        *discover.Search
	feeds         *feedHandlers
	crawlers      *discover.Crawlers
	events        *eventHandlers
	signUps       *signUpHandlers
	logins        *loginHandlers
	settings      *settingsHandlers
	data          *dataHandlers
	invites       *inviteHandlers
	security      *securityHandlers
	passkeys      *passkeyHandlers
	reports       *reportHandlers
	moderation    *moderationHandlers
	overview      *overviewHandlers
	trends        *discover.Trends
	tagRules      *discover.TagRules
	lists         *discover.Lists
	about         *about.Pages
	site          *about.Settings
	applications  *about.SignUps
	blocks        *about.Blocks
	pictures      *pictures.Pictures
	imports       *discover.Imports
	email         *email.Pages
}

// newHandlers gives each subject the parts of the application that it needs.
func (s *Server) newHandlers(app *app.App) (*handlers, error) {
	crawlers, err := discover.NewCrawlers(app.Users, app.Site)
	if err != nil {
		return nil, err
	}
	read := reader.New(app)
	security := &securityHandlers{auth: app.Auth, passkeys: app.Passkeys, sessions: app.Sessions}
	logins := &loginHandlers{auth: app.Auth, limits: app.Limits, sessions: app.Sessions, users: app.Users}
	people := discover.NewPeople(read, app.Suggestions, app.Users)
	pictures := pictures.New(app.Media)
	return &handlers{
		timelines: &timelineHandlers{
			follows: app.Follows, lists: app.Lists, live: s.live, people: people, pictures: pictures, posts: app.Posts,
			reactions: app.Reactions, read: read, signUps: app.SignUps, tags: app.Tags, trends: app.Trends, viewers: app.Viewers,
			visitors: &s.visitors,
		},
		people: people,
		posts: &postHandlers{
			live: s.live, pictures: pictures, posts: app.Posts, profiles: app.Profiles, reactions: app.Reactions, read: read,
			threads: app.Threads,
		},
		profiles: &profileHandlers{
			follows: app.Follows, lists: app.Lists, live: s.live, moderation: app.Moderation,
			profiles: app.Profiles, reactions: app.Reactions, read: read, relations: app.Relations,
		},
		relations: &relationHandlers{
			follows: app.Follows, read: read, relations: app.Relations,
		},
		tags:          &tagHandlers{live: s.live, read: read, tags: app.Tags},
		notifications: &notificationHandlers{notifications: app.Notifications},
		search:        discover.NewSearch(app.Search, read),
		completions: &completionHandlers{
			completions: app.Completions,
		},
		feeds:    &feedHandlers{lists: app.Lists, read: read, tags: app.Tags},
		crawlers: crawlers,
		events:   &eventHandlers{live: s.live, write: 5 * time.Second},
		signUps: &signUpHandlers{
			read: read, signUps: app.SignUps, users: app.Users,
		},
		logins: logins,
		settings: &settingsHandlers{
			pictures: pictures, profiles: app.Profiles, read: read, relations: app.Relations,
		},
		data: &dataHandlers{
			auth: app.Auth, leaving: app.Leaving, moderation: app.Moderation,
		},
		invites:  &inviteHandlers{signUps: app.SignUps},
		security: security,
		passkeys: &passkeyHandlers{
			passkeys: app.Passkeys, security: security, logins: logins,
		},
		reports: &reportHandlers{
			read: read, reports: app.Reports,
		},
		moderation: &moderationHandlers{
			audit: app.Audit, completions: app.Completions, moderation: app.Moderation, read: read,
			reports: app.Reports, users: app.Users,
		},
		overview: &overviewHandlers{
			app: app, live: s.live, metrics: s.metrics, reports: app.Reports, version: s.version,
		},
		trends:       discover.NewTrends(read, app.Trends),
		tagRules:     discover.NewTagRules(app.TrendRules),
		lists:        discover.NewLists(app.Library, read, app.Tags, app.Users),
		about:        about.NewPages(app.Users, read),
		site:         about.NewSettings(app.Site, app.SignUps),
		applications: about.NewSignUps(app.Applications),
		blocks:       about.NewBlocks(app.Blocklist),
		pictures:     pictures,
		imports:      discover.NewImports(app.Imports),
		email:        email.New(app.Email),
	}, nil
}
