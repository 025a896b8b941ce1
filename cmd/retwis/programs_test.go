//go:build programs

package main

// programs reports whether curl and sqlite3, which documents use, are available.
const programs = true
