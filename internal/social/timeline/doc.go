// Package timeline is the reading side: what pages show.
//
//   - [Timelines] returns the ids of a timeline: of a user, of everybody, of a profile.
//   - [Views] keeps posts in memory that were shown lately, and [Viewers] those who look.
//   - [Lists] puts them together: pages of posts as a viewer sees them.
//   - [Standings] knows who is limited or suspended.
//
// # Home timelines on a Cluster
//
// [Homes] reads home timelines on a Cluster, where they differ from those of a
// single server in two ways:
//
//   - Authors with very many followers (storage.Celebrities) do not put their posts on the
//     home timelines of those. A page is the list of the reader merged with the latest
//     posts of such authors that the reader follows. Both are in memory, decoded, as long
//     as the server reports no change: an author's posts are read again at most once a
//     second.
//   - A home timeline that nobody views expires. A post is put only on home timelines
//     that exist; the next view of one that does not makes it again, within the request,
//     from the posts of the people that the reader follows.
//
// A list `posts:<uid>` ends with 0 once it is complete, as long as there is room: it then
// exists although nothing is on it. While it is being made, it ends with a negative
// number. One without an end is completed when it is read: it comes from a single server.
package timeline
