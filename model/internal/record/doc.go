// Package record reads and writes the records of a model: each write is one script that
// changes the record and all its index entries. It publishes the schema of the model,
// and deletes records by the rules of those that refer to them.
package record
