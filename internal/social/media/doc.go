// Package media stores the pictures of posts and people. The files of a picture are in a store that
// all processes share (package files), and each picture has a record of package model ([Record]).
//
// Files are written before the record and deleted before the record, so that an interrupted
// deletion leaves a record that leads to the files. Only an interrupted upload leaves files without
// a record; see [Store.Orphans]. The field `media` of a post, written with the post, has everything
// that a page needs. The record has the owner and the use of the picture:
//
//  1. [Service.Upload] creates the sizes of a picture and stores them. The picture is unused at
//     first, and only its owner sees it.
//  2. [Store.Claim] reserves pictures for a post that is about to be written; no other post gets
//     them. [Store.Attach], a part of the fan-out, which is retried until it succeeds, assigns them
//     to the post.
//  3. [Service.SetPortrait] makes a picture the avatar or the header of its owner. The previous
//     picture remains visible for [Replaced], and is deleted a day later.
//  4. [Service.Find] returns a picture to the viewers who see the post or the user.
//  5. [Store.Remove] deletes the pictures of a deleted post, and [Store.Forget] those of an
//     account. Tasks call both.
//  6. [Store.Sweep] deletes unused pictures a day after their upload.
package media
