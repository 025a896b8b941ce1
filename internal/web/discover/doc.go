// Package discover has the pages on which people find something to read: search, trends, who
// to follow, and their lists.
package discover
