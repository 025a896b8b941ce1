// Package blocklist stores what must not sign up or post: words, the domains of links, and
// addresses. Moderators and operators maintain it; a block can expire.
//
//  1. [List.Add] and [List.Remove] change the list, [List.All] reads it.
//  2. [List.CheckText] and [List.CheckAddress] are called before an account is created, a profile is
//     changed or a post is written. They answer from memory: a change by another process takes effect
//     within a round trip.
package blocklist
