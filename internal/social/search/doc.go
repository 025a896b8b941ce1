// Package search finds posts and people by their words ([Service]), completes names and tags while
// they are typed ([Completions]), and computes what many people write about today ([Trends]).
//
// # The path of a search
//
//  1. [Parse] parses the query: words for the index, and operators such as from:ada.
//  2. Service.resolve finds the users that the query names, and Service.days the posts with which
//     days begin.
//  3. Service.foundIn reads IDs from the index (text.Index.Search), newest first.
//  4. Service.found drops posts by authors who have opted out of search.
//  5. timeline.Lists.Page drops posts that the viewer must not see, and reads more.
//  6. [Marker.Find] finds the words in the texts that a page shows.
//
// # The indexes of words
//
// [Indexes] keeps the words of posts and of people in two indexes of the toolkit
// (see retwis/index/text).
//
// An index does not store texts. To change a document, a writer must know the text that the
// index has. So edits and deletions keep the earlier texts of a post until the index no longer
// needs them, and try one text after the other.
//
// # Completions
//
// A [CompletionIndex] finds names and tags while they are typed. It consists of two indexes of
// package index/suggest, whose terms are ranked by followers and by posts. A user has a term for
// the username and one for each of the first four words of the display name, which begins there:
// "Flora Wong @flora" and "Wong @flora".
//
// The users and the sets of tags are authoritative. A term is written before its user or tag
// exists, or in a task that is repeated after a crash, so that no term is missing. A term whose
// user or tag does not exist is omitted from results, and Rebuild removes it. Ranks are updated
// within a second or two, or, after an error, once writes succeed again. A crash can leave a
// rank outdated until the next change.
//
// # Trends
//
// [Trends] are tags, posts and links that many more people write about or like today than
// yesterday.
//
// A trend counts people, not posts: each person counts once. People who are limited or joined
// less than a day ago do not count. The path of a post to the page of trends:
//
//  1. [TrendCounter.Posted] and [TrendCounter.Reacted] record in memory who has used which tag or
//     link, or has liked, reposted or replied to which post.
//  2. [TrendCounter.Flush] adds the people to a HyperLogLog for each tag, post and link and hour,
//     and their number to the sorted set of the hour's tags, posts or links, every five seconds.
//  3. [Trends.Merge] reads these sets for two days, makes the server count the HyperLogLogs of
//     at most 200 candidates of each kind, and writes the result to one key. One process calls
//     it once a minute. A trend has at least five people, or fewer if fewer than a hundred
//     accounts are active.
//  4. [Trends.Top] reads the result, which each process keeps in memory, and applies the
//     moderators' decisions about tags; see [TrendRules].
//
// The result also has the posts with the most likes of the week. They are not counted by hours:
// the script of a like writes a post's number of likes in the last week to one sorted set, and
// the merge recounts the first posts of that set.
//
// Counts are estimates, and a process that dies loses the counts of its last seconds. Nothing else
// depends on counts, so a check only repairs keys that do not expire.
package search
