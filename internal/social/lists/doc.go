// Package lists keeps what users read besides their home timelines: lists of people, who
// need not be followed, and saved searches. Both are private.
//
// A user has one record ([Library]) of package model, with everything in it: up to 10,000 ids,
// about 90 KB, for one with 50 full lists. So limits and unique names are exact without an
// index, a home timeline asks one key for who is left out, and an account is deleted with one
// write.
//
//  1. [Service.Create] makes a list, [Service.Edit] renames it or leaves its members out of the
//     home timeline, [Service.Delete] removes it.
//  2. [Service.Put] puts people on lists, [Service.Remove] removes them. A block removes two
//     people from each other's lists: [Store.Separate].
//  3. [Service.Posts] reads a page of a list: it merges the newest posts of its members.
//  4. [Service.SaveSearch] and [Service.ForgetSearch] keep searches.
//  5. [Store.Forget] and [Store.RemoveMembers] delete an account.
package lists
