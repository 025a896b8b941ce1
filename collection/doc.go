// Package collection keeps IDs and items in Redis that are not looked up by a value but drawn at
// random, handed out in turn, or listed newest first.
//
// # Problem
//
// The list and set commands of Redis make good rotations (RPOPLPUSH, today LMOVE), random samples
// (SRANDMEMBER) and capped collections (LPUSH with LTRIM); the Redis documentation describes all
// three. The commands alone leave gaps: an item that was popped is lost if its worker crashes, two
// programs may trim one list differently, and a fan-out to thousands of lists that is interrupted
// cannot simply be repeated. This package closes these gaps:
//
//   - [Random] is a set from which IDs are drawn at random: which user to show next,
//     which of many records to check.
//   - [Ring] hands out items in rotation and, with a lease, to one worker at a time:
//     feeds to fetch, servers to check.
//   - [Recent] keeps only the newest items: the last hundred orders, the posts on a
//     front page.
//   - [Timelines] keeps many lists of the newest IDs and writes one ID to thousands of
//     lists: the posts that each user of a social network sees (fan-out on write).
//
// # Example
//
//	feeds, err := collection.NewRing(client, "feeds")
//	…
//	lease, err := feeds.Take(ctx, time.Minute) // no other worker gets the item for a minute
//	…
//	err = lease.Return(ctx) // the item goes to the end of the ring
//
// # Guarantees
//
// An item of a Ring outlives the worker that took it: if the worker crashes, the item is handed
// out again after the lease. Puts can be repeated after an error: Random, Ring and Timelines add
// an ID or item only once. Pages of Timelines stay stable while IDs are added. Random is a plain
// set and each list of Timelines a plain list, so other programs can use them, too. A Ring and a
// Recent keep a declaration at key.meta and reject a key that holds something else, with
// [ErrDeclared] or [ErrForeign].
//
// # Cost
//
// Every call on a single item or list takes one round trip. The first call on a Ring or Recent takes
// one more to check the declaration. Calls with many items take one round trip per 500 IDs of a
// Random, per 100 items of a Ring, per 200 items of a Recent, and per 64 lists of Timelines.
//
// # Limits
//
// An ID of a Random or an item of a Ring has at most [MaxID] bytes, an item of a Recent
// [MaxItem]. A Recent keeps at most a million items, and each list of Timelines at most 10,000
// IDs, which are numbers that grow with time. On a Cluster the keys of a Ring and a Recent need a
// hash tag, {feeds}. Leases follow the clock of the server: if the clock is set forward, leases end
// early.
package collection
