// Package audit is the log of what operators and moderators have decided.
package audit
