// Package moderation is what moderators do: roles, standings and hidden posts ([Service]),
// and what others have reported ([Reports]). What they decide is in the log of package audit.
package moderation
