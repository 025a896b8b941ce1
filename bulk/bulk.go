// Package bulk loads millions of commands into Redis as fast as the server accepts them
// (mass insertion), and reports exactly which of them succeeded.
//
// Sending a command and waiting for its reply, a million times, takes minutes: nearly all
// of it is waiting. [Load] does not wait. It writes as fast as the socket accepts data,
// reads the replies at the same time, and counts them; at the end it sends an ECHO, and
// when the echo arrives it has seen every reply. "redis-cli --pipe" works the same way.
// Load also checks each command before it sends it, attributes each error to its command,
// resumes after a lost connection, and follows a Cluster.
//
// # Where to begin
//
// [Load] takes the options of a client and files: [From] makes one of a reader, and
// [AppendOnlyFiles] lists those of a server. They hold Redis' protocol, commands as they are
// typed, a server's snapshot (RDB) or append-only file, CSV, TSV, NDJSON or a JSON array.
// For the last four [Options].Do has the commands to send for a record. [Emit] converts any
// of the formats to the protocol without a server. Package bulk/resp writes the protocol from
// Go values and reads it.
//
// It does not convert other kinds of files, transform records beyond a few filters, or read a
// database other than from its files: other programs do, and their output can be piped into it.
//
// Of a snapshot, Load sends the commands that create its keys, so that it can go into any
// server, older or newer. Each of its keys replaces the key of that name; keys that have
// expired are left out; values that only a module can read are errors. See docs/bulk.md.
//
// # Promises
//
// Commands that share a key are executed in the order of the input, on one connection or
// several, on one server or a Cluster whose slots are moving. A damaged input is rejected
// at the place of the damage: no part of a damaged command is sent, and the commands
// before it are loaded and counted. Nothing is sent from a file of another kind. Each
// command runs in the database that the input has selected: a SELECT that fails stops the
// load.
//
// When a connection breaks, the outcome of commands without a reply is unknown. Load
// sends them again if that is harmless (SET, HSET, SADD, ZADD, DEL, …), and stops with an
// error that names the command if it is not (INCR, LPUSH, …); see [Options.Resend]. Commands
// that a server refuses for a moment (LOADING, BUSY, READONLY, …) are sent again in their order;
// where a later one with the same key was executed and cannot be repeated, the refused one fails.
// No client can detect what a server loses after it has replied, because it was killed
// before it wrote its file or before its replica had the data.
//
// # Cost
//
// One round trip in all, and one for each SELECT, for each command that goes to all
// servers of a Cluster, and for each command whose keys belong to several of several
// connections. Memory is bounded by Options.MaxInflight and some buffers, 64 MiB in all
// for any length of input, plus a few times the size of the largest command or
// transaction, and for a stream in a snapshot 32 bytes for each pending message of a group.
package bulk

import (
	"context"
	"errors"
	"io"

	"github.com/redis/rueidis"

	"retwis/bulk/internal/input"
)

// Load sends the commands of some files to a server, given by the options of rueidis, with
// certificates, sentinels, or several nodes of a Cluster. It uses the fields InitAddress,
// Username, Password, SelectDB, TLSConfig, Dialer, DialCtxFn and Sentinel. If the server is a
// Cluster, each command goes to the master of its slot.
//
// The files are one input: the numbers of records go on, and a checkpoint is of all of them.
// Each has its own format, and its commands begin in the database of server. Options.Do is for
// those of them that are CSV, TSV, NDJSON or JSON.
//
// The error is nil if the whole input was sent and answered, even if some commands
// failed: Report.Errors counts these. Otherwise it is an *[InputError], [ErrLost],
// [ErrFailed], [ErrOptions], the context's error, or one of a file; the report counts what was
// loaded until then. When ctx ends, Load stops reading, waits up to 10 s for outstanding
// replies, and returns. A blocked Read goes on in the background until it ends.
func Load(ctx context.Context, server rueidis.ClientOption, opt Options, files ...File) (Report, error) {
	if err := opt.prepareFor(files); err != nil {
		return Report{}, err
	}
	if len(server.InitAddress) == 0 {
		return Report{}, errors.New("bulk: ClientOption.InitAddress is empty")
	}
	return newLoader(server, opt).run(ctx, files)
}

// Emit writes the commands of some files to w in Redis' protocol and sends nothing. With
// io.Discard as w it checks them. It uses only the options that describe the input, Cluster
// and OnProgress. The commands of each file begin in database 0.
func Emit(ctx context.Context, w io.Writer, opt Options, files ...File) (Report, error) {
	if err := opt.prepareFor(files); err != nil {
		return Report{}, err
	}
	if opt.Checkpoint != "" {
		return Report{}, input.WrongOption("Options.Checkpoint: Emit sends nothing that it could resume")
	}
	return emit(ctx, w, files, opt)
}
