// Package timeline reads the posts and timelines that pages show.
//
//   - [Timelines] returns the IDs of a home timeline, the public timeline or a profile.
//   - [Views] caches recently shown posts, and [Viewers] recent viewers.
//   - [Lists] combines these into pages of posts as a viewer sees them.
//   - [Standings] keeps the limited and suspended users in memory.
//
// # Home timelines on a Cluster
//
// [Homes] reads home timelines on a Cluster, where they differ from those of a single server in two
// ways:
//
//   - Posts of authors with very many followers (storage.Celebrities) are not pushed to the home
//     timelines of those followers. A page is the list of the reader merged with the latest posts
//     of such authors that the reader follows. Both are in memory, decoded, as long as the server
//     reports no change; an author's posts are reread at most once a second.
//   - A home timeline that nobody views expires. Posts are pushed only to existing home timelines.
//     The next view rebuilds a missing timeline, within the request, from the posts of the people
//     that the reader follows.
//
// A list `posts:<uid>` ends with 0 once it is complete, unless it is full, so that the list exists
// even if it has no posts. While the list is being built, it ends with a negative number. A list
// without an end mark comes from a single server, and is completed when it is read.
package timeline
