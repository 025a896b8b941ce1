//go:build !programs

package main

// programs says that curl and sqlite3 are there, which documents use.
const programs = false
