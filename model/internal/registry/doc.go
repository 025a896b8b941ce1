// Package registry publishes the schema of a model in the database, and reads data published by
// other programs: the numbers and states of indexes, and other models with their keys.
package registry
