// Package app puts Retwis together: [New] builds each part with what it needs, and an [App]
// has the parts under their names.
//
//   - Accounts, SignUps, Profiles and Leaving: users register, say who they are, and leave.
//     Users finds them.
//   - Auth and Sessions: they log in and out. Limits bounds how often anybody does anything.
//   - Follows, Relations and Completions: they follow, mute and block each other.
//   - Posts, Reactions, Tags and Threads: they write, answer, like and repeat posts.
//   - Lists, Timelines, Views and Viewers: what they see of that.
//   - Notifications: what others did with their posts.
//   - Moderation, Reports and Audit: what moderators decide, and the log of it.
//
// The methods of an App itself are about the whole: its health, its background work, the
// layout of its keys, and its end.
package app
