// Package query plans and runs the queries of a model: it resolves conditions, chooses
// the index with the fewest entries, scans it with select.lua, and reads the records.
package query
