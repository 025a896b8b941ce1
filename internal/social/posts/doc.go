// Package posts publishes, edits and deletes posts ([Service]), has what others do with them
// ([Reactions], [Tags]), and shows conversations ([Threads]).
//
// # The path of a post
//
//  1. web.handlers.createPost reads the form and calls [Service.PostOnce].
//  2. Service.clean cleans the text and compares it with what is blocked; Service.admit refuses it while too much waits.
//  3. Service.createAs gives it an id, which a repetition of the form gets too.
//  4. fanout.Engine.CreateAs writes the post and its task: it will be completed.
//  5. fanout.Engine.Publish puts it on timelines: writer.pushOwn on those of the author and of
//     the public, Engine.pushFirst on those of the first thousand followers.
//  6. fanout.segments.pushTask puts it on the others, in any process.
//  7. work.Engine.End waits for the replicas and removes the task of the post.
//  8. What was interrupted is taken by work.Engine.work, and fanout.Engine.postTask repeats it,
//     in any process.
//
// # The path of a like
//
//  1. web.handlers.postAction finds the post on the page and calls [Reactions.Like].
//  2. Reactions.target decides whether the user may see the post, from memory if it is no repost.
//  3. storage.Reactions.Like writes it, with its counter, in one script; on a Cluster,
//     fanout.Homes.Like makes that a task.
//  4. timeline.Views.Touch makes the next page of this process read the post again.
//  5. notify.Service.Notify notifies the author.
package posts
