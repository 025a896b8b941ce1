// Package posts publishes, edits and deletes posts ([Service]), records likes, bookmarks and
// followed tags ([Reactions], [Tags]), and shows conversations ([Threads]). An [Engine] puts each
// post on the timelines where it belongs (fan-out on write) and guarantees delivery: each post has
// a task from before its first write until every timeline has the post and the replicas have
// confirmed the writes. If a process dies in between, another process retries the task; see package
// work. A fan-out is idempotent.
//
// # The path of a post
//
//  1. web.handlers.createPost reads the form and calls [Service.PostOnce].
//  2. Service.clean cleans the text and checks it against the blocklist; Service.admit refuses the
//     post while the backlog is too long.
//  3. Service.createAs assigns an ID; a resubmitted form gets the same ID.
//  4. Engine.CreateAs writes the post and its task; from now on the fan-out will be completed.
//  5. Engine.Publish puts the post on timelines: writer.pushOwn on the author's timelines and the
//     public timeline, Engine.pushFirst on the timelines of the first thousand followers;
//     Engine.notify notifies the people whom the post mentions or replies to.
//  6. segments.pushTask puts the post on the other timelines, in any process.
//  7. work.Engine.End waits for the replicas and removes the task of the post.
//  8. work.Engine.work claims interrupted tasks, and Engine.postTask repeats the fan-out, in any
//     process.
//
// # The path of a like
//
//  1. web.handlers.postAction finds the post on the page and calls [Reactions.Like].
//  2. Reactions.target decides whether the user may see the post, from memory unless it is a
//     repost.
//  3. storage.Reactions.Like writes the like and its counter in one script; on a Cluster,
//     posts.Homes.Like makes the write a task.
//  4. timeline.Views.Touch makes the next page of this process read the post again.
//  5. notify.Service.Notify notifies the author.
package posts
