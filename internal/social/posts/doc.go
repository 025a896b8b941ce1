// Package posts publishes, edits and deletes posts ([Service]), has what others do with them
// ([Reactions], [Tags]), and shows conversations ([Threads]).
package posts
