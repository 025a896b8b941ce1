// Package media keeps the pictures of posts and people: their files in a place that all
// processes share (package files), and a record of each ([Record]) of package model.
//
// Files are written before their record, and deleted before it, so that what is left of a deletion
// can be found. Only an upload that is cut short leaves files without a record: see
// [Store.Orphans]. What a post shows is in its field `media`, written with the post: a page reads
// nothing else. The record says whose picture it is and what uses it:
//
//  1. [Service.Upload] makes the sizes of a picture and stores them. Nothing uses it yet, and
//     only its owner sees it.
//  2. [Store.Claim] reserves pictures for a post that is about to be written; no other post
//     gets them. [Store.Attach], a part of the fan-out, which is repeated until it
//     succeeds, gives them to the post.
//  3. [Service.SetPortrait] makes one the avatar or the header of its owner. The one before can be
//     seen for [Replaced], and is deleted a day later.
//  4. [Service.Find] decides who sees a picture: those who see the post or the person.
//  5. [Store.Remove] deletes those of a deleted post, and [Store.Forget] those of an account:
//     both are parts of tasks.
//  6. [Store.Sweep] deletes what nothing uses a day after its upload.
package media
