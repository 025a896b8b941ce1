// Package storage holds what all packages store and read in the same way: the database, whose reads
// the client answers from its cache if the server reports changes ([Database]); follows, likes and
// bookmarks, mutes and blocks; the authors whose posts are merged ([Celebrities]); and repeatable
// writes to a hash, or to two sorted sets on different servers. It names every key and defines how
// IDs, times and usernames are written in them; docs/keys.md lists what each key holds. [Users]
// finds users by ID and by name, lists them, and writes single fields of a user for other packages;
// package accounts creates users, and package removal deletes them.
package storage
