// Package schema describes what a model stores: its fields, indexes and keys. It reads
// declarations from Go structs, converts structs to stored texts, and computes what a
// record has in each index. It sends nothing to Redis.
package schema
