// Package archive imports the archive of an account of Mastodon: its public posts and their
// pictures, with their times, and the replies of the account to itself.
//
// What is imported is at the end of the profile of its author and is found by a search. It is on
// no timeline and on no page of a tag, and nobody is notified.
//
//  1. [Open] opens an archive: a directory, a zip file, or a tar file compressed with gzip.
//  2. Archive.each reads the outbox, one activity after the other, and [plan] notes what will be
//     imported and where it is, in the order of time.
//  3. Service.assign gives each post its id. All new posts of an archive get ids that follow each
//     other, so that what is listed by id is listed by time; see fanout.Engine.Reserve.
//  4. Service.write makes the pictures of some posts, and fanout.Engine.Import writes the posts.
//
// Each post has the digest of the address of its original in the field `source`, also when it is
// deleted. So an import that was interrupted goes on with the ids that it has reserved, and one
// that is repeated finds what is there.
package archive
