// Package server talks to one of the servers that decide about a lock: it makes an Op a
// command or a call of a script, and the result a Reply. A Server is a real one, Redis, or a
// simulated one of a test.
//
// The path of a batch:
//
//  1. Redis.Run connects if necessary, and
//  2. Redis.bootAsk determines whether the server must be asked if it votes,
//  3. Redis.command builds the commands,
//  4. Redis.decodeAll reads the replies, and sends the scripts that the server lacked,
//  5. Redis.complete rejects the locks of a server that does not vote.
//
// What a majority of the servers decides is the business of package redlock.
package server
