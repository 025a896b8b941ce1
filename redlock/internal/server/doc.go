// Package server talks to one of the servers that vote on a lock: it turns an Op into a command or a
// script call, and the result into a Reply. A Server is a Redis or, in tests, a simulated server.
//
// The path of a batch:
//
//  1. Redis.Run connects if necessary.
//  2. Redis.bootRequest determines whether to ask the server if it votes.
//  3. Redis.command builds the commands.
//  4. Redis.decodeAll reads the replies, and sends the scripts that the server lacked.
//  5. Redis.complete rejects the locks of a server that does not vote.
//
// Package redlock decides by majority.
package server
