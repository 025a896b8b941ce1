// Package media stores the pictures of posts and people: their files in a store that all processes
// share (package files), and a record of each ([Record]) of package model.
//
// Files are written before their record, and deleted before it, so that the remains of a deletion
// can be found. Only an interrupted upload leaves files without a record: see [Store.Orphans]. What
// a post shows is in its field `media`, written with the post: a page reads nothing else. The
// record says whose picture it is and what uses it:
//
//  1. [Service.Upload] creates the sizes of a picture and stores them. At first it is unused, and only
//     its owner sees it.
//  2. [Store.Claim] reserves pictures for a post that is about to be written; no other post gets them.
//     [Store.Attach], a part of the fan-out, which is retried until it succeeds, assigns them to the
//     post.
//  3. [Service.SetPortrait] makes one the avatar or the header of its owner. The previous one remains
//     visible for [Replaced], and is deleted a day later.
//  4. [Service.Find] decides who sees a picture: those who see the post or the person.
//  5. [Store.Remove] deletes the pictures of a deleted post, and [Store.Forget] those of an account:
//     both are parts of tasks.
//  6. [Store.Sweep] deletes unused pictures a day after their upload.
package media
