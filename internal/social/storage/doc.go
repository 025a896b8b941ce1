// Package storage is what all subjects store and read in the same way: the database, whose
// reads the client answers from its memory where the server reports changes ([Database]);
// follows, likes and bookmarks, mutes and blocks; the authors whose posts are merged
// ([Celebrities]); and writes to a hash, or to two sorted sets on different servers, that can
// be repeated. It names every key, and has how ids, times and usernames are written in them;
// docs/keys.md lists what each key holds. [Users] finds users, by id and by name, lists them, and
// writes single fields of a user for other packages; accounts creates users, and removal deletes them.
package storage
