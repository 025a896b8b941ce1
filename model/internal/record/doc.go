// Package record reads and writes the records of a model: each write is one script that changes
// the record and all its index entries. Deletions follow the rules of the fields that refer to
// a record. Package rows reads the stored fields, and package registry publishes the schema.
package record
