// Package model stores Go structs in Redis, with indexes, queries and references.
//
// A record in a hash is easy. Hard is everything that belongs to it: the sorted sets of
// its indexes, the hash that reserves an e-mail address for one owner, the references of
// other records, and that all of these agree when two writers meet, one is killed, or the
// record expires. Here each write is one script: the record, every index entry that it
// leaves or enters, and the checks of unique values, all or nothing.
//
// New makes a Store from the tags of a struct:
//
//	type User struct {
//		ID      string    `redis:",id"`
//		Name    string    `redis:"name,index"`   // found by equality
//		Email   string    `redis:"email,unique"` // one owner
//		Age     int       `redis:"age,range"`    // found by range, and in its order
//		Version int64     `redis:",version"`     // Save refuses to overwrite a newer version
//		Expires time.Time `redis:",expires"`     // then deleted, with its index entries
//	}
//
// The name in a tag is the name of the field in Redis; the default is the Go name in
// lower case, and "-" leaves a field out. The options:
//
//	id       the id: a string or an integer; part of the key, not a field
//	version  int64, incremented by every write
//	expires  time.Time at which the record expires
//	ttl      with expires: how long a record lives that is written with a zero time
//	created  time.Time of the creation, by the clock of the server
//	updated  time.Time of the last write, by the clock of the server
//	index    found by equality; for a list, by each element
//	range    found by equality, ranges and prefixes, and in order
//	unique   no two records have the same value
//	caseinsensitive   its indexes compare text without regard to case
//	counter  an integer that only Incr changes
//	unix     a time.Time that is stored in whole seconds
//	required the value cannot be zero, nor a list or map empty
//	min, max bounds of a number, of the length of a text, list or map: max=100
//	exists   the record of a Ref must exist when it is written
//	restrict, cascade, clear   what happens to a Ref whose record is deleted
//
// Strings, numbers, bools, times, durations and []byte are stored as text, types with
// MarshalText or MarshalBinary as these define, lists, maps and other structs as JSON, whose
// text must be UTF-8 (other bytes return ErrValue). A decimal.Decimal is compared by its value,
// in an index with up to 27 digits before the point and 9 after it; other types that marshal
// themselves by their text, without an order. A nil pointer, nil list and zero time are not stored, and a record is not in an index of
// a field that it does not have.
//
// Every write checks these bounds, and calls the method Validate() error of the type if it
// has one, before it asks the server. It returns an *InvalidError, which names the fields.
//
// The indexes in the database are those of the declaration in force. If a program
// declares other indexes, Pending lists the difference, and Migrate builds them while
// the model is in use. Verify reports where records and indexes disagree, for example
// after a record was changed by hand, and Repair corrects the indexes.
//
// A write is one script, and a Get one command. A query takes two or three round trips
// for a page, however many records there are; each method documents its cost. Use
// errors.Is to distinguish errors: ErrNotFound, ErrTaken, ErrConflict and the others
// below.
//
// Unique values are compared as they are stored; an empty string is a value like any
// other. Use a pointer for a value that can be absent.
package model
