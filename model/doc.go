// Package model keeps Go structs in Redis, with their indexes, finders and
// associations.
//
// A record in a hash is easy; what is hard is all that belongs to it: the sorted
// sets that lead to it, the hash that keeps an e-mail address to one owner, the
// references of others, and that all of these agree when two writers meet, one is
// killed, or the record expires. Here each write is one script: the record, every
// index entry that it leaves and every one that it enters, and the checks of what
// is unique, all or nothing.
//
// A Store is made by New from the tags of a struct:
//
//	type User struct {
//		ID      string    `redis:",id"`
//		Name    string    `redis:"name,index"`   // found by equality
//		Email   string    `redis:"email,unique"` // one owner
//		Age     int       `redis:"age,range"`    // found by range, and in its order
//		Version int64     `redis:",version"`     // Save refuses what has changed
//		Expires time.Time `redis:",expires"`     // gone with every trace
//	}
//
// The name in a tag is that of the field in Redis; without one it is the name in
// Go, in lower case, and "-" leaves a field out. The options:
//
//	id       the id: a string or an integer; part of the key, not a field
//	version  int64, one more with every write
//	expires  time.Time at which the record ends
//	index    found by equality; of a list, by each element
//	range    found by equality, ranges and prefixes, and in order
//	unique   no two records have the same value
//	fold     its indexes compare text without regard to case
//	counter  an integer that only Incr changes
//	unix     a time.Time that is stored in whole seconds
//	restrict, cascade, clear   what becomes of a Ref whose record is deleted
//
// Strings, numbers, bools, times, durations and []byte are stored as text, types
// with MarshalText or MarshalBinary as these say, lists, maps and other structs as
// JSON. A nil pointer, nil list and zero time are not stored, and a record has no
// place in an index of a field that it does not have.
//
// What is in the indexes belongs to a declaration that is in force. Where a program
// declares other indexes, Pending tells which, and Migrate builds them while others
// read and write. Verify tells where records and indexes do not agree, as after
// somebody has changed a record by hand, and Repair mends it.
//
// A write is one script, and a Get one command. A query takes two or three round
// trips for a page, however many records there are; each method says what it costs.
// Errors can be told apart by errors.Is: ErrNotFound, ErrTaken, ErrConflict and the
// others below.
//
// The values of unique fields are kept as they are stored; an empty string is a
// value like any other. Use a pointer where there may be none.
package model
