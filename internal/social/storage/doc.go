// Package storage stores and reads the data that several packages share: the database, whose reads
// the client answers from its cache if the server reports changes ([Database]); follows, likes and
// bookmarks, mutes and blocks; the authors whose posts are merged ([Celebrities]); and repeatable
// writes to a hash, or to two sorted sets on different servers. It names every key and defines the
// formats of IDs, times and usernames; docs/keys.md lists the contents of each key. [Users] finds
// users by ID and by name, lists users, and writes single fields of a user for other packages.
// Package accounts creates users, and package removal deletes them.
package storage
