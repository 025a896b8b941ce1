// Package app puts Retwis together: [New] builds each part with what it needs, and an [App]
// has them under their names.
package app
