// Package schema describes the data of a model: its fields, indexes and keys. It reads
// declarations from Go structs, converts structs to stored texts, and computes the index
// entries of records. It does not access Redis.
package schema
