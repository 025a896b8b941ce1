// Package social says what Retwis is: the Twitter clone that keeps everything in Redis.
//
// It has the nouns and the rules that need no database:
//
//   - A [User] has a name ([CheckName]), a [Role] and a [Standing]: what moderators have
//     decided about them. An [Actor] is somebody who decides.
//   - A [Post] is a text of at most [MaxBody] characters ([CleanBody]), a reply to another
//     post, or a repost of one.
//   - A [Viewer] is a person who looks. [Visible] alone decides how they see a post: every
//     page, list, notification and feed asks it.
//   - Errors that a caller can act on, and [InvalidError] for input that was rejected.
//
// Everything else is below it, by subject, each with its rules and its storage:
//
//   - accounts: sign-up, invitations, profiles, and the end of an account. auth: sessions,
//     log-ins, passwords, second factors.
//   - people: follows, mutes, blocks, followers in common, completion of names. suggestions:
//     who to follow. lists: lists of people, saved searches.
//   - posts: posts, replies, reposts, likes, bookmarks, tags and conversations.
//   - timeline: what pages show: timelines, lists of posts, viewers, and posts in memory.
//   - notify: notifications. live: pages that change while they are shown.
//   - moderation: roles, standings, approvals, hidden posts and reports. audit: the log of
//     decisions. blocklist: what must not sign up or post.
//   - site: what the operators say about the site.
//
// Several of them share users, which finds users by id and by name; storage, the database with
// follows, likes, mutes and blocks; fanout, which puts posts on timelines; and task, which
// finishes work that was interrupted. check, adopt, backup, load, removal and export work on
// all data. Package app puts them together.
//
// # Keys
//
// The keys are those of the Retwis tutorial (docs/keys.md lists every one), so a database
// that the original PHP program wrote opens unchanged. No write mixes keys that a Cluster
// could store on different servers, except follows and likes on a single server (see
// storage.Follows and storage.Reactions); a write that needs several keys is a sequence that
// can be repeated from its start without harm, and its comment says so.
//
// # Reads
//
// Reads are answered from the client's own memory where the server allows it
// (server-assisted client-side caching: the server reports which keys changed). On one server
// and in one process, a read that begins after a write has returned always sees that write,
// because the client is expected to use one connection to a server: the invalidation message
// arrives before the reply to a later command. Another process sees the write as soon as the
// message has arrived there; [WithFresh] makes a read that does not depend on it.
package social
