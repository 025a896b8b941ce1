// Package people implements what users do with each other: [Follows], mutes and blocks
// ([Relations]), [Suggestions] of people to follow, and [Lists].
//
// # Suggestions
//
// [Suggestions] finds people for a viewer to follow: people followed by people that the
// viewer follows, and active accounts for a viewer who follows few or nobody.
//
// The path of a list of suggestions:
//
//  1. [Suggestions.Get] takes the candidates of the viewer from memory, drops the candidates who
//     must not be shown to the viewer now, and reads the remaining candidates and the followees who
//     follow these candidates.
//  2. Suggestions.find finds the candidates if those in memory are missing, or stale because the
//     viewer has followed or dismissed somebody. Its work is bounded, however many people the viewer
//     and the followees follow.
//  3. [Suggestions.Refresh] ranks the active accounts; one process calls it every few minutes.
//
// Suggestions never include the viewer, or users who are followed, muted or dismissed by the
// viewer, blocked by or blocking the viewer, limited, suspended or gone.
//
// # Lists
//
// [Lists] stores what users read besides their home timelines: lists of people, who need not be
// followed, and saved searches. Both are private.
//
// A user has one record ([Library]) of package model, with everything in it: up to 10,000 IDs,
// about 90 KB, for a user with 50 full lists. So limits and unique names are exact without an
// index, a home timeline reads one key to know whom to omit, and an account is deleted with one
// write.
//
//  1. [Lists.Create] creates a list, [Lists.Edit] renames it or omits its members from the home
//     timeline, [Lists.Delete] removes it.
//  2. [Lists.Put] puts people on lists, [Lists.Remove] removes them. A block removes two
//     people from each other's lists: [Store.Separate].
//  3. [Lists.Posts] reads a page of a list: it merges the newest posts of its members.
//  4. [Lists.SaveSearch] and [Lists.ForgetSearch] add and remove searches.
//  5. [Store.Forget] and [Store.RemoveMembers] remove a deleted account from the lists.
package people
