// Package index provides secondary indexes for Redis, which find ids by values.
//
// Redis looks up a value by its key only. A program that needs all users of an age, the rooms
// below a price or the newest orders has to maintain sorted sets next to its objects: when an
// object changes, its old entry must be replaced by the new entry in one step, and
// inconsistencies must be detected. This package maintains such sets on every Redis and Valkey
// server from 6.2 on, without modules.
//
//   - [Numeric] finds ids by a number: a sorted set ordered by score.
//   - [Composite] finds ids by the values of several typed columns: the tutorial's composite
//     lexicographic index, exact for every value.
//
// The following code indexes rooms by number and price, and selects the rooms with number 56
// that cost from 10 to 30:
//
//	rooms, err := index.NewComposite(client, "rooms", index.Options{Columns: []index.Column{
//		{Name: "room", Type: index.Int},
//		{Name: "price", Type: index.Decimal, Scale: 2},
//	}})
//	err = rooms.Put(ctx, "90", 56, "28.44")
//	for entry, err := range rooms.Select(ctx, index.Page{Limit: 20}, index.Eq("room", 56), index.Between("price", 10, 30)) {
//
// Other kinds of index have packages of their own: suggest (completion), graph (triples), space
// (multidimensional points) and text (full-text search). Rings, capped lists and random draws
// are in package collection.
//
// # Keys
//
// The index is stored at its key. key.content is the reverse index, a hash from id to entry, so
// that an entry can be moved or removed by id. key.meta stores the declaration: if a program
// declares the index differently, its scripts write nothing and return [ErrDeclared]. A sorted
// set created by hand is refused with [ErrForeign]; Adopt turns it into an index.
//
// On a Cluster all keys of an index must be in one hash slot, so its key needs a hash tag:
// {rooms}. To use more servers, Options.Partitions shards the index by id over several slots:
// {rooms.0}, {rooms.1}, … Queries then read all partitions in parallel and merge the results,
// with the same order and limit.
//
// # Consistency
//
// A script changes an entry and its reverse index atomically. It does not write the object, so
// a crash between the two writes leaves them inconsistent. Write the object first, then the
// entry; likewise delete the object first. Readers then at worst find an id without an object.
// The method Fetch compares entries with the hashes it reads and can repair them (read repair).
// Verify finds all disagreements, Repair corrects them, and Rebuild builds a new index, in
// short steps while the index is in use. See package retwis/maintain.
//
// # Queries
//
// Queries return iterators, and [Page] selects a part of the result. A query reads in steps of
// one round trip, so neither the program nor the server holds a large result in memory. Each
// entry has a Cursor. The next page can be read from a Cursor even if entries have been added or
// removed in between.
//
// # Cost and limits
//
// A Put or Get is one round trip, and a Put is O(log n). PutMany writes up to a hundred entries
// in a script, which takes the server less than half a millisecond. A query on the leading
// columns costs O(log n) plus the entries returned; conditions on other columns also cost the
// entries skipped. An id has at most 4 KB, an entry 64 KB; a Composite has at most 32 columns,
// and an index at most 1024 partitions.
//
// The design follows "Secondary indexing with Redis" in the Redis documentation.
package index
