// Package graph stores facts and finds them by any of their parts: a hexastore.
//
// A relation between two things is easy to store in Redis, but hard to query from the other
// end: whom does matteo follow, who follows matteo, how do two people know each other? Each
// question needs its own key, and all keys must change together. In this package a fact is a
// Triple of subject, predicate and object. A sorted set has six entries per triple, one for
// each order of the three parts:
//
//	spo:matteojcollina:is-friend-of:antirez
//	sop:matteojcollina:antirez:is-friend-of
//	pso:is-friend-of:matteojcollina:antirez
//	pos:is-friend-of:antirez:matteojcollina
//	osp:antirez:matteojcollina:is-friend-of
//	ops:antirez:is-friend-of:matteojcollina
//
// Whichever parts are known, one order begins with them, so the answer is a single
// lexicographic range of the set, already sorted. This is the hexastore of Weiss, Karras and
// Bernstein (VLDB 2008), with the entries of the Redis tutorial on secondary indexes. It needs
// no Redis module.
//
// Put and Remove write all orders in one script: no reader sees part of a triple, and a crash
// leaves no partial triple behind. Select yields the triples of a pattern, and Query joins
// several patterns and paths:
//
//	q, err := graph.Parse(`?x likes beer . ?x lives-in barcelona . matteo friend-of ?x`)
//	for b, err := range g.Query(ctx, q) {
//		fmt.Println(b.Get("x"))
//	}
//
// Verify, Repair and Rebuild check, correct and rebuild a graph while it is in use. Adopt
// accepts a sorted set created by hand. See package retwis/maintain.
//
// # Limits
//
// Triples are imported and exported as lines of three names (ParseTSV); RDF formats are not
// supported. A path repeats a single predicate; it supports no alternatives, inverses or
// sequences. There is no delete by pattern: select the triples and remove them.
//
// # Names
//
// A name is 1 to MaxName arbitrary bytes. In an entry, a colon in a name is escaped as ";:" and
// a semicolon as ";;", so that entries are unambiguous. Entries are in byte order, which sorts
// names part by part, with the end of a name between '9' and ':'. So "b" sorts before "bc" and
// after "b-c", although "b-c" comes after "b" in byte order. This follows from the format of
// the tutorial's entries.
//
// # Cost
//
// A triple takes six entries of about 110 bytes plus the names. With Options.Compact it takes
// three, which still answer every pattern with one range. Reading a pattern costs O(log n)
// plus the triples returned.
package graph
