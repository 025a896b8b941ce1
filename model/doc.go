// Package model stores Go structs in Redis, with indexes, queries and references.
//
// Storing a record in a hash is easy. The difficult part is to maintain the sorted sets of its
// indexes, the hash that reserves an email address for one owner, and the references from other
// records, and to keep all of these consistent when two writers collide, a writer is killed, or the
// record expires. In this package each write is one script: the record, the index entries added and
// removed, and the checks of unique values take effect together or not at all.
//
// New creates a Store from the tags of a struct:
//
//	type User struct {
//		ID      string    `redis:",id"`
//		Name    string    `redis:"name,index"`   // found by equality
//		Email   string    `redis:"email,unique"` // one owner
//		Age     int       `redis:"age,range"`    // found by range, and sortable
//		Version int64     `redis:",version"`     // Save does not overwrite a newer version
//		Expires time.Time `redis:",expires"`     // then deleted, with its index entries
//	}
//
//	users, err := model.New[User](ctx, client, model.Options{Name: "user"})
//	ann, err := users.Create(ctx, User{Name: "Ann", Email: "ann@example.com", Age: 36})
//	for user, err := range users.Find(model.AtLeast("age", 18)).OrderBy("age").All(ctx) {
//
// # Fields
//
// The name in a tag is the name of the field in Redis. The default is the Go name in lower case;
// "-" omits a field. The options:
//
//	id       the id: a string or an integer; part of the key, not a field
//	version  int64, incremented by every write
//	expires  time.Time at which the record expires
//	ttl      with expires: the lifetime of a record written with a zero time
//	created  time.Time of creation, by the clock of the server
//	updated  time.Time of the last write, by the clock of the server
//	index    found by equality; for a list, by each element
//	range    found by equality, ranges and prefixes, and sortable
//	unique   no two records have the same value
//	caseinsensitive   its indexes compare text without regard to case
//	counter  an integer that only Incr changes
//	unix     a time.Time stored in whole seconds
//	required the value must not be zero, and a list or map not empty
//	min, max bounds of a number, or of the length of a text, list or map: max=100
//	exists   the record that a Ref refers to must exist at the time of the write
//	restrict, cascade, clear   what happens to a Ref when its record is deleted
//
// Strings, numbers, bools, times, durations and []byte are stored as text; types with
// MarshalText or MarshalBinary are stored as these methods encode them; lists, maps and other
// structs are stored as JSON, whose text must be UTF-8 (invalid UTF-8 returns ErrValue). A
// decimal.Decimal is compared by value; in an index it has at most 27 digits before the point
// and 9 after it. Other types that marshal themselves are compared by their text, and have no
// order. Nil pointers, nil lists and zero times are not stored, and a record without a field is
// not in the index of that field.
//
// Unique values are compared as they are stored. An empty string is a value like any other; use a
// pointer for a value that can be absent.
//
// Before a write contacts the server, it checks required, min and max, and calls the method
// Validate() error of the type, if any. Violations return an *InvalidError, which names the
// fields.
//
// # Schema changes
//
// The indexes in the database are those of the declaration in force. If a program declares
// different indexes, Pending lists the difference, and Migrate builds them while the model is in
// use. Verify reports inconsistencies between records and indexes, for example after a record was
// changed by hand, and Repair corrects the indexes.
//
// # Cost and limits
//
// A write is one script, and a Get one command. A query takes two or three round trips per page,
// however many records there are. Each method documents its cost and limits.
//
// # Errors
//
// Use errors.Is to distinguish errors: ErrNotFound, ErrTaken, ErrConflict and the others below.
package model
