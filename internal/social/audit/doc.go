// Package audit stores the log of decisions by operators and moderators.
package audit
