// Package blocklist has what must not sign up or post: words, the domains of links, and
// addresses. Moderators and operators decide; a block can have an end.
//
//  1. [List.Add] and [List.Remove] change the list, [List.All] reads it.
//  2. [List.CheckText] and [List.CheckAddress] are asked before an account is made, a profile is
//     changed or a post is written. They answer from memory: a change of another process counts
//     within a round trip.
package blocklist
