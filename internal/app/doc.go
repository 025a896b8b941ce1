// Package app assembles Retwis: [New] builds each part with its dependencies, and an [App] exposes
// the parts as fields.
//
//   - Accounts, SignUps, Profiles and Leaving: users register, edit their profiles and leave.
//     Users finds them.
//   - Auth and Sessions: users log in and out. Limits limits how often users act.
//   - Follows, Relations and Completions: users follow, mute and block each other.
//   - Posts, Reactions, Tags and Threads: users write, reply to, like and repost posts.
//   - Lists, Timelines, Views and Viewers: users see posts.
//   - Notifications: users learn what other users did.
//   - Moderation, Reports and Audit: the decisions of moderators and their log.
//
// The methods of App itself concern the application as a whole: its health, its background work,
// its totals and its shutdown.
package app
