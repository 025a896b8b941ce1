// Package graph stores facts and finds them by any of their parts: a hexastore.
//
// A relation between two things is easy to store in Redis, and hard to query from
// the other end: which people does matteo follow, who follows matteo, how do these
// two know each other. Each question needs its own key, and all keys must change
// together.
// Here a fact is a Triple of subject, predicate and object, and one sorted set has
// six entries for each, one for each order of the three parts:
//
//	spo:matteojcollina:is-friend-of:antirez
//	sop:matteojcollina:antirez:is-friend-of
//	pso:is-friend-of:matteojcollina:antirez
//	pos:is-friend-of:antirez:matteojcollina
//	osp:antirez:matteojcollina:is-friend-of
//	ops:antirez:is-friend-of:matteojcollina
//
// Whichever parts are known, there is an order that begins with them, so that the
// answer is one lexicographic range of the set, already sorted. This is the hexastore
// of Weiss, Karras and Bernstein (VLDB 2008), with the entries of the Redis tutorial
// on secondary indexes. It needs no Redis module.
//
// Put and Remove write all orders in one script: no reader sees part of a triple, and a
// writer that crashes leaves none. Select yields the triples of a pattern, and Query joins
// several patterns and paths:
//
//	q, err := graph.Parse(`?x likes beer . ?x lives-in barcelona . matteo friend-of ?x`)
//	for b, err := range g.Query(ctx, q) {
//		fmt.Println(b.Get("x"))
//	}
//
// It reads and writes lines of three names (ParseTSV), and no formats of RDF. A path repeats
// one predicate: there are no alternatives, inverses and sequences in it. To remove what a
// pattern matches, select it and remove the triples.
//
// # Names
//
// A name is 1 to MaxName bytes of any value. In an entry a colon in a name is escaped
// as ";:" and a semicolon as ";;", so that no two names have the same entry. Entries
// are in byte order, which orders names part by part, with the end of a name between
// '9' and ':'. So "b" comes before "bc" and after "b-c", whereas byte order has "b-c"
// last; this follows from the format of the tutorial's entries.
//
// # Cost
//
// A triple takes six entries of about 110 bytes plus their names. With Options.Compact
// it takes three, enough to answer every pattern from one range. Reading a pattern
// takes O(log n + answer).
package graph
