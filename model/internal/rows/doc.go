// Package rows reads the stored fields of records: whole records or some fields, one or
// many in a pipeline, from the memory of the client if the model is cached.
package rows
