// Package collection keeps ids and items in Redis that are not looked up by a value
// but drawn, handed out in turn, or listed newest first.
//
//   - [Random] is a set from which ids are drawn at random: who is shown next, which
//     of many to check.
//   - [Ring] hands out items in rotation, and with a lease to one worker at a time:
//     feeds to fetch, servers to check. An item outlives the worker that took it.
//   - [Recent] keeps the newest items only: the last hundred orders, the posts on a
//     front page.
//   - [Timelines] keeps the newest ids of many lists and writes one id to thousands of
//     them: what each user of a social network sees (fan-out on write).
//
// Random is a plain set and each of Timelines a plain list; use them with other
// programs as you like. A Ring and a Recent keep a declaration at key.meta and
// refuse a key that holds something else, with [ErrDeclared] or [ErrForeign]. On a
// Cluster their key needs a hash tag, {feeds}.
//
// In the Redis documentation these are the rotation with RPOPLPUSH (today LMOVE) of
// the list commands, random sampling with SRANDMEMBER, and capped collections with
// LPUSH and LTRIM.
package collection
