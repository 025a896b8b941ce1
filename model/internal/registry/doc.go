// Package registry publishes the schema of a model in the database, and reads what other
// programs have published there: the numbers of the indexes, how far they are built, and
// the other models with their keys.
package registry
