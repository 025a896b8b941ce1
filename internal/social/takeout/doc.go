// Package takeout exports what a user has written and done ([Write]), and imports the data of an
// account elsewhere: its posts ([Archives]), and its follows, mutes, blocks and bookmarks
// ([Imports]).
//
// # Export
//
// An export contains everything that a user has written and done: a zip file with a README, and each
// list twice, as JSON and as CSV.
//
// It reads the database in pages by cursor, and writes as it reads, so its memory does not depend on
// how much a user has written. Each list is read twice, once for each format. The archive is not a
// snapshot: concurrent changes may or may not be in it.
//
// # Archives of Mastodon
//
// [Archives] imports the archive of a Mastodon account: its public posts and their pictures, with
// their times, and the account's replies to itself.
//
// Imported posts are at the end of their author's profile, and a search finds them. They are on no
// timeline and on no tag page, and nobody is notified.
//
//  1. [Open] opens an archive: a directory, a zip file, or a gzip-compressed tar file.
//  2. Archive.each reads the outbox, one activity after the other, and [plan] records the posts to
//     import and their positions, in order of time.
//  3. Archives.assign gives each post its ID. All new posts of an archive get consecutive IDs, so
//     that lists sorted by ID are sorted by time; see posts.Imports.
//  4. writer.write creates the pictures of some posts, and posts.Imports writes the posts.
//
// The field `source` of each post, even of a deleted one, has the digest of the address of its
// original. So an interrupted import continues with the IDs that it has reserved, and a repeated
// import finds the posts that already exist.
//
// # Lists of another account
//
// [Imports] imports the lists of another account: follows, mutes, blocks and bookmarks, from the CSV
// files of Mastodon or of a Retwis archive.
//
// A user has one import at a time: the hash storage.ImportKey has its progress, and the list
// storage.ImportEntriesKey its entries, each after a [Mark]. A [Store] changes both with one script.
// People are found by their names on this site, and posts by their addresses here.
//
//  1. [Parse] reads a file, and [Imports.Begin] stores its entries and records a task.
//  2. Imports.task processes one entry after the other, with the same functions as the pages of the
//     site, as fast as limits.Import allows. Repeating an entry after a crash changes nothing, and
//     notifies nobody twice.
//  3. [Imports.Get] returns the progress, and [Imports.Stop] stops the import.
//
// After an import, the entries that could not be imported are kept for a week, for the user to
// read.
package takeout
