// Package record reads and writes the records of a model: each write is one script that
// changes the record and all its index entries. It deletes records by the rules of those
// that refer to them. The stored fields are read by package rows, and the schema is
// published by package registry.
package record
