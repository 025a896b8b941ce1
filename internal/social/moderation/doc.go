// Package moderation implements the work of moderators: roles, standings and hidden posts
// ([Service]), and reports by users ([Reports]). Decisions are recorded in the log of package
// audit.
package moderation
