// Package social defines the domain of Retwis, the Twitter clone that keeps everything in Redis.
//
// It has the types and rules that need no database:
//
//   - A [User] has a name ([CheckName]), a [Role], and a [Standing], which moderators decide.
//     An [Actor] makes such decisions.
//   - A [Post] is a text of at most [MaxBody] characters ([CleanBody]), a reply to another
//     post, or a repost of one.
//   - A [Viewer] is a person who looks at posts. [Visible] alone decides how they see a post:
//     every page, list, notification and feed calls it.
//   - Errors that a caller can act on, and [InvalidError] for input that was rejected.
//
// The subdirectories have one subject each, with its rules and its storage:
//
//   - accounts: sign-up, invitations, profiles, and account deletion. auth: sessions,
//     log-ins, passwords, second factors. email: addresses, and emails to them.
//   - people: follows, mutes, blocks, followers in common, suggestions of people to follow,
//     lists of people.
//   - posts: posts, replies, reposts, likes, bookmarks, tags, conversations, and the fan-out
//     that puts posts on timelines. text: links, mentions and tags in a post. media: pictures.
//   - timeline: what pages show: timelines, lists of posts, viewers, and posts in memory.
//   - search: posts, people, completion of names and tags, trends.
//   - notify: notifications. live: updates of open pages.
//   - moderation: roles, standings, approvals, hidden posts and reports. audit: the log of
//     decisions. blocklist: blocked words, domains and addresses. limits: rate limits.
//   - site: the settings of the site, such as its name and its rules.
//
// Several of them share storage, which reads and writes users, follows, likes, mutes and blocks,
// and work, which finishes interrupted tasks. check, adopt, backup, import2009, load, removal and
// takeout process whole databases or accounts. Package app puts the packages together.
//
// # Keys
//
// The keys are those of the Retwis tutorial (docs/keys.md lists every one), so a database
// that the original PHP program wrote opens unchanged. No write mixes keys that a Cluster
// could store on different servers, except follows and likes on a single server (see
// storage.Follows and storage.Reactions). A write that needs several keys is a sequence that
// can safely be repeated from its start, and its comment says so.
//
// # Reads
//
// Reads are answered from the client's own memory if the server supports server-assisted
// client-side caching, in which it reports which keys changed. On one server and in one process, a
// read that begins after a write has returned always sees that write: the client is expected to use
// one connection per server, so the invalidation message arrives before the reply to a later
// command. Another process sees the write as soon as that message reaches it; use [WithFresh] for a
// read that must not be stale.
package social
