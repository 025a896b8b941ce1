// Package bulk loads millions of commands into Redis as fast as the server accepts them (mass
// insertion), and reports exactly which of them failed.
//
// # Problem
//
// Sending a million commands and waiting for each reply takes minutes, mostly spent waiting.
// [Load] does not wait. It writes as fast as the socket accepts data, and reads and counts the
// replies at the same time; at the end it sends an ECHO, and when the echo arrives, Load has read
// every reply. "redis-cli --pipe" works the same way. Load also checks each command before sending
// it, attributes each error to its command, resumes after a lost connection, and follows the slots
// of a Cluster.
//
// # Example
//
// This loads a CSV file, with two commands per record:
//
//	do := []string{"HSET user:{id} name {name}", "ZADD users.by.age {age|int} {id}"}
//	file, err := os.Open("people.csv") // id,name,age
//	…
//	server := rueidis.ClientOption{InitAddress: []string{"localhost:6379"}}
//	report, err := bulk.Load(ctx, server, bulk.Options{Do: do}, bulk.From(file))
//
// The input is the Redis protocol, commands as typed into redis-cli, a server's snapshot (RDB) or
// append-only file, CSV, TSV, NDJSON or a JSON array; Load detects the format. For the last four,
// [Options].Do lists the commands to send per record. [From] turns a reader into an input file, and
// [AppendOnlyFiles] lists the append-only files of a server. [Emit] converts any of the formats to
// the protocol without a server. Package bulk/resp writes the protocol from Go values and reads it.
//
// # Guarantees
//
// Commands that share a key are executed in the order of the input, on one connection or several,
// on one server or on a Cluster whose slots are moving. A damaged input is rejected at the place
// of the damage: no part of a damaged command is sent, and the commands before it are loaded and
// counted. Nothing is sent from a file of an unsupported kind. Each command runs in the database
// that the input has selected: a SELECT that fails stops the load.
//
// When a connection breaks, the outcome of commands without a reply is unknown. Load resends them
// if that is harmless (SET, HSET, SADD, ZADD, DEL, …), and stops with an error that names the
// command if it is not (INCR, LPUSH, …); see [Options.Resend]. Commands that a server temporarily
// refuses (LOADING, BUSY, READONLY, …) are resent in their order; if a later command with the same
// key was executed and cannot be repeated, the refused command fails.
//
// Load translates a snapshot into the commands that create its keys, so a server can load the
// snapshot of an older or newer server. Each key replaces an existing key with the same name;
// expired keys are left out; values that only a module can read are errors. See docs/bulk.md.
//
// # Cost
//
// One round trip for the whole load, plus one for each SELECT, for each command that goes to all
// servers of a Cluster, and, with several connections, for each command whose keys belong to more
// than one connection. Memory is bounded by Options.MaxInflight and some buffers, 64 MiB in all for
// any length of input, plus a few times the size of the largest command or transaction, plus 32
// bytes per pending entry of a consumer group for a stream in a snapshot.
//
// # Limits
//
// No client can detect data that a server loses after the reply, because the server was killed
// before it wrote its file or before its replica had the data. Load does not convert other kinds of
// files, transform records beyond a few filters, or read a running server: other programs do, and
// their output can be piped into Load.
package bulk

import (
	"context"
	"errors"
	"io"

	"github.com/redis/rueidis"

	"retwis/bulk/internal/input"
)

// Load sends the commands of files to the server given by rueidis options, including TLS
// certificates, sentinels, or several nodes of a Cluster. It uses the fields InitAddress,
// Username, Password, SelectDB, TLSConfig, Dialer, DialCtxFn and Sentinel. If the server is a
// Cluster, each command goes to the master of its slot.
//
// The files form one input: record numbers continue from file to file, and a checkpoint covers
// all files. Each file has its own format, and its commands start in the database that server
// selects. Options.Do applies to the files that are CSV, TSV, NDJSON or JSON.
//
// The error is nil if the whole input was sent and answered, even if some commands failed:
// Report.Errors counts the failed commands. Otherwise the error is an *[InputError], [ErrLost],
// [ErrFailed], [ErrOptions], the context's error, or the error of a file; the report counts what
// was loaded before the error. When ctx ends, Load stops reading, waits up to 10 s for outstanding
// replies, and returns. A blocked Read continues in the background until it returns.
func Load(ctx context.Context, server rueidis.ClientOption, opt Options, files ...File) (Report, error) {
	if err := opt.prepareFor(files); err != nil {
		return Report{}, err
	}
	if len(server.InitAddress) == 0 {
		return Report{}, errors.New("bulk: ClientOption.InitAddress is empty")
	}
	return newLoader(server, opt).run(ctx, files)
}

// Emit writes the commands of files to w in the Redis protocol, without a server. With io.Discard
// as w, Emit only checks the commands. It uses only the options that describe the input, Cluster
// and OnProgress. The commands of each file start in database 0.
func Emit(ctx context.Context, w io.Writer, opt Options, files ...File) (Report, error) {
	if err := opt.prepareFor(files); err != nil {
		return Report{}, err
	}
	if opt.Checkpoint != "" {
		return Report{}, input.WrongOption("Options.Checkpoint: Emit sends nothing to resume")
	}
	return emit(ctx, w, files, opt)
}
