// Package blocklist stores the words, the domains of links, and the addresses that are not allowed
// in sign-ups and posts. Moderators and operators maintain the list; a block can expire.
//
//  1. [List.Add] and [List.Remove] change the list, [List.All] reads it.
//  2. [List.CheckText] and [List.CheckAddress] are called before an account is created, a profile is
//     changed or a post is written. They answer from memory: a change by another process takes effect
//     within a round trip.
package blocklist
