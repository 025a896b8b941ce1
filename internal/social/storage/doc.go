// Package storage is the database as all subjects use it: reads that the client answers from
// its memory, where the server reports changes.
package storage
