// Package search finds posts and people by their words ([Service]), completes names and tags while
// they are typed ([Completions]), and computes what many people write about today ([Trends]).
//
// # The path of a search
//
//  1. [Parse] parses the query: words for the index, and operators such as from:ada.
//  2. Service.resolve finds the users that it names, and the posts with which days begin.
//  3. Service.foundIn asks the index (text.Index.Search) for IDs, newest first.
//  4. Service.found drops authors who have opted out of search.
//  5. timeline.Lists.Page drops what the viewer must not see, and reads on.
//  6. [Marker.Find] finds the words in the texts that a page shows.
//
// # The indexes of words
//
// [Indexes] keeps the words of posts and of people in two indexes of the toolkit
// (see retwis/index/text).
//
// An index does not store texts. To change a document, a writer must know which text the
// index has: so whatever edits or deletes a post keeps its earlier texts until the index no
// longer needs them, and tries one after the other.
//
// # Completions
//
// A [CompletionIndex] finds names and tags while they are typed: two indexes of
// package index/suggest, whose terms are ranked by followers and by posts.
//
// The users and the sets of tags are authoritative. A term is written before what it
// leads to exists, or in work that is repeated after a crash, so that none is missing;
// one that leads nowhere is left out of answers and removed by Rebuild. Ranks follow
// within a second or two, after an error once writes succeed again; a crash can leave one as it
// was until the next change.
//
// # Trends
//
// [Trends] are what many people write about and like today that they did not
// yesterday: tags, posts and links.
//
// People are counted, not posts: each once, however often they post. Those who are limited
// or joined less than a day ago do not count. The path of a post to the page of trends:
//
//  1. [TrendCounter.Posted] and [TrendCounter.Reacted] record in memory who has used which tag or link,
//     or has liked, reposted or replied to which post.
//  2. [TrendCounter.Flush] adds the people to a HyperLogLog for each tag, post and link and hour,
//     and their number to a sorted set of what people count for in that hour, every five seconds.
//  3. [Trends.Merge] reads these sets, of two days, makes the server count the HyperLogLogs of
//     at most 200 candidates of each kind, and writes the result to one key. One process does
//     that once a minute. A trend has five people, fewer where fewer than a hundred are active.
//  4. [Trends.Top] reads the result, which each process keeps in memory, and applies what
//     moderators have decided about tags: see [TrendRules].
//
// The posts with most likes of the week are in the result too. They are not counted by hours: the
// script of a like writes how many likes of the last week a post has to one sorted set, and the
// merge counts the first of them again.
//
// Counts are estimates, and a process that dies loses those of its last seconds. Nothing else
// depends on them, so nothing is repaired but a key that does not expire.
package search
