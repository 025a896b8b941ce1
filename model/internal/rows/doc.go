// Package rows reads the stored fields of records: whole records or some fields, one record or
// many in a pipeline, from the client-side cache if the model is cached.
package rows
