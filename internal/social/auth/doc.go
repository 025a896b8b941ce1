// Package auth logs users in: passwords, second factors and reset links ([Service]), and the
// sessions that a log-in opens ([Sessions]).
package auth
