// Package imports does what the lists of another account say: follows, mutes, blocks and
// bookmarks, from the CSV files of Mastodon or of an archive of Retwis.
//
// A user has one import at a time: the hash layout.ImportKey says how far it is, and the list
// layout.ImportEntriesKey has its entries, each after a [Mark]. A [Store] changes both with one
// script. People are found by their names on this site, and posts by their addresses here.
//
//  1. [Parse] reads a file, and [Service.Begin] stores its entries and notes a task.
//  2. Service.task does one entry after the other, with the functions behind the buttons of the
//     site, as fast as limits.Import allows. Done again after a crash, an entry changes
//     nothing, and notifies nobody twice.
//  3. [Service.Get] says how far it is, and [Service.Stop] stops it.
//
// At the end only what could not be done is left, for the user to read, for a week.
package imports
