// Package trends finds what many people write about and like today that they did not
// yesterday: tags, posts and links.
//
// People are counted, not posts: each once, however often they post. Those who are limited
// or joined less than a day ago do not count. The path of a post to the page of trends:
//
//  1. [Counter.Posted] and [Counter.Reacted] note in memory who has used which tag or link,
//     or has liked, reposted or answered which post.
//  2. [Counter.Flush] adds the people to a HyperLogLog for each tag, post and link and hour,
//     and their number to a sorted set of what people count for in that hour, every five seconds.
//  3. [Trends.Merge] reads these sets, of two days, makes the server count the HyperLogLogs of
//     at most 200 candidates of each kind, and writes the result to one key. One process does
//     that once a minute.
//  4. [Trends.Top] reads the result, which each process keeps in memory, and applies what
//     moderators have decided about tags: see [Rules].
//
// Counts are estimates, and a process that dies loses those of its last seconds. Nothing else
// depends on them, so nothing is repaired but a key that does not expire.
package trends
