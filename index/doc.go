// Package index finds ids in Redis by values: secondary indexes.
//
// Redis finds a value by its key only. A program that wants the users of an age, the
// rooms below a price or the newest orders keeps sorted sets next to the objects, and
// has to keep them in agreement: when an object changes, its old entry must go in the
// moment in which the new one comes, and what has gone wrong must be found. This
// package does that, on every Redis and Valkey server from 6.2 on, without modules.
//
//   - [Numeric] finds ids by a number: a sorted set by score.
//   - [Composite] finds ids by the values of several typed columns: the tutorial's
//     composite lexicographic index, exact for every value.
//
// The packages suggest (completion), graph (triples) and space (points of many
// dimensions) are built on it. Rings, capped lists and random draws are in package
// collection.
//
// # Keys
//
// The index is at its key. key.content is its reverse index, a hash from id to entry,
// so that an entry can be moved or removed by its id. key.meta stores the declaration:
// a program that declares the index otherwise is refused with [ErrDeclared], in the
// script that would have written. A sorted set that was made by hand is refused with
// [ErrForeign]; Adopt turns it into an index.
//
// On a Cluster all keys of an index must be in one hash slot, so its key needs a hash
// tag, {rooms}. Or the index is spread by id over as many slots as Options.Partitions
// says (sharding): {rooms.0}, {rooms.1}, … Queries then read all partitions in parallel
// and merge the results, in order and with the same limit.
//
// # Consistency
//
// An entry and its reverse index change in one script. A script writes up to a hundred
// entries and takes less than half a millisecond. It does not write the object: a program that
// crashes between the two writes leaves them apart. Write the object first, then the entry; to delete, remove
// the object first, too. A reader then finds at worst an id without an object. The
// method Fetch compares entries with their hashes as they are read, and repairs them on
// request: read repair. Verify finds all disagreements, Repair corrects them, and
// Rebuild makes the index anew, in short steps while the index is in use. See package
// retwis/maintain.
//
// # Queries
//
// Queries are iterators, and [Page] selects a part of the result. They read in steps
// of a round trip, so that neither the program nor the server holds a large result. An
// entry has a Cursor, from which the next page continues while entries come and go.
//
// The design follows "Secondary indexing with Redis" in the Redis documentation.
package index
