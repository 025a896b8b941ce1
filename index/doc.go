// Package index finds things in Redis by something else than their key.
//
// Redis finds a value by its key and by nothing else. Whoever wants the users of
// an age, the rooms below a price or the newest orders keeps sorted sets beside
// the objects, and has to see to it that they agree with them: when an object
// changes, its old entry has to go in the same moment in which the new one comes,
// and when something went wrong, somebody has to notice. This package does that,
// with nothing but what every Redis and Valkey server has, from 6.2 on.
//
//   - [Numeric] finds ids by a number: a sorted set by score.
//   - [Composite] finds ids by the values of several typed columns: the tutorial's
//     lexicographic index, exact for every value that it takes.
//   - [Lexical] is the ground of it, for encodings of your own.
//
// The packages below this one complete what people type (suggest), keep triples
// (graph) and find points (space). Rings, capped lists and random draws are in package
// collection.
//
// # What stands where
//
// An index is at its key. Beside it stand key.content, a hash with what is needed
// to move an entry by its id, and key.meta, which remembers the declaration: an
// index that was declared otherwise is refused with [ErrDeclared], in the script
// that would have written to it. A sorted set that somebody made by hand is refused
// with [ErrForeign]: Adopt makes an index of it. On a Cluster all of it has to be in
// one hash slot, so the key needs a hash tag, {rooms}; or the index is spread over as many
// slots as Options.Partitions says, by id: {rooms.0}, {rooms.1}, … Queries then
// ask all of them at once and merge the answers, still in order, still limited.
//
// # In step
//
// An entry and what stands beside it change in one script. A script takes up to a
// hundred entries, less than half a millisecond. Objects are in slots of their
// own; so a writer that dies between an object and its entry leaves them apart.
// Write the object first, then the entry, and when you remove, the object first
// again: then whoever reads finds at worst an id without an object, which [Fetch]
// tells of. Verify finds all that does not agree, Repair mends it, Rebuild makes
// an index anew, in short steps while others read and write; see [Upkeep].
//
// # Reading
//
// Queries are iterators, [Page] says which part of the answer is wanted. They
// read in steps of a round trip, so that nothing holds all of a large answer,
// neither here nor in the server. An entry knows its Cursor, from which the next
// page goes on, whatever came or went meanwhile.
//
// The design follows "Secondary indexing with Redis" of the Redis documentation.
package index
