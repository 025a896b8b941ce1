// Package graph keeps facts and finds them by any part: a hexastore.
//
// A relation between two things is easy to write down in Redis, and hard to ask
// from the other end: whom does matteo follow, who follows matteo, how do these
// two know each other. Each of these questions wants a key of its own, and each
// of the keys has to be kept in step. Here a fact is a Triple of subject,
// predicate and object, and all of them are in one sorted set, each six times,
// once for each order of its three parts:
//
//	spo:matteojcollina:is-friend-of:antirez
//	sop:matteojcollina:antirez:is-friend-of
//	pso:is-friend-of:matteojcollina:antirez
//	pos:is-friend-of:antirez:matteojcollina
//	osp:antirez:matteojcollina:is-friend-of
//	ops:antirez:is-friend-of:matteojcollina
//
// So whatever parts are known, there is an order in which they come first, and
// what is asked for is one range of the set, already in order. This is the
// hexastore of Weiss, Karras and Bernstein (VLDB 2008), as the Redis tutorial on
// secondary indexes has it. It needs no Redis module.
//
// Put and Del write all orders in one script: no reader sees a part of a
// triple, and a writer that dies leaves none. Match answers with the triples of
// a pattern, Query joins several patterns, From walks from name to name:
//
//	q, err := graph.Parse(`?x likes beer . ?x lives-in barcelona . matteo friend-of ?x`)
//	for b, err := range g.Query(ctx, q) {
//		fmt.Println(b.Get("x"))
//	}
//
// # Names
//
// A name is from 1 to MaxName bytes, any bytes. In an entry a colon in a name is
// written ";:" and a semicolon ";;", so that no name can pass for two, or for
// another; every other byte is as it is. Entries are in byte order, and that is
// the order of the names part by part, where a name that ends counts as a byte
// between '9' and ':'. So "b" is before "bc" and behind "b-c", which the plain
// order of bytes has before it; the entries of the tutorial leave no other way.
//
// # Cost
//
// A triple is six entries: about 110 bytes each and those of its names. With
// Options.Compact it is three, enough to look up every pattern by one range. A
// lookup is a search in the set and a walk along the answer: O(log n + answer).
package graph
