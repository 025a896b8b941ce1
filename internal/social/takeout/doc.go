// Package takeout takes out what a user has written and done ([Export]), and takes in what the user
// has elsewhere: the posts of another account ([Archives]), and its follows, mutes, blocks and
// bookmarks ([Imports]).
//
// # Export
//
// An export has all that a user has written and done, in an archive: a zip file
// with a README, and each list twice, as JSON and as CSV.
//
// It reads the database in pages by cursor, and writes as it reads: the memory that it
// takes does not depend on how much a user has written. Each list is read twice, once
// for each format. The archive is not a snapshot: what happens meanwhile is in it or not.
//
// # Archives of Mastodon
//
// [Archives] imports the archive of an account of Mastodon: its public posts and their
// pictures, with their times, and the replies of the account to itself.
//
// What is imported is at the end of the profile of its author and is found by a search. It is on
// no timeline and on no page of a tag, and nobody is notified.
//
//  1. [Open] opens an archive: a directory, a zip file, or a tar file compressed with gzip.
//  2. Archive.each reads the outbox, one activity after the other, and [plan] notes what will be
//     imported and where it is, in the order of time.
//  3. Archives.assign gives each post its id. All new posts of an archive get ids that follow each
//     other, so that what is listed by id is listed by time; see posts.Imports.
//  4. writer.write makes the pictures of some posts, and posts.Imports writes the posts.
//
// Each post has the digest of the address of its original in the field `source`, also when it is
// deleted. So an import that was interrupted goes on with the ids that it has reserved, and one
// that is repeated finds what is there.
//
// # Lists of another account
//
// [Imports] does what the lists of another account say: follows, mutes, blocks and
// bookmarks, from the CSV files of Mastodon or of an archive of Retwis.
//
// A user has one import at a time: the hash storage.ImportKey says how far it is, and the list
// storage.ImportEntriesKey has its entries, each after a [Mark]. A [Store] changes both with one
// script. People are found by their names on this site, and posts by their addresses here.
//
//  1. [Parse] reads a file, and [Imports.Begin] stores its entries and notes a task.
//  2. Imports.task does one entry after the other, with the functions behind the buttons of the
//     site, as fast as limits.Import allows. Done again after a crash, an entry changes
//     nothing, and notifies nobody twice.
//  3. [Imports.Get] says how far it is, and [Imports.Stop] stops it.
//
// At the end only what could not be done is left, for the user to read, for a week.
package takeout
