// Package bulk puts millions of commands into Redis as fast as the server takes
// them, and says at the end exactly what went in.
//
// To send a command and wait for its answer, a million times, takes minutes: nearly
// all of it is waiting. [Load] does not wait. It writes as fast as the socket takes,
// reads the answers at the same time, and counts them; at the end it sends an ECHO,
// and when that comes back every answer has been seen. This is what "redis-cli --pipe"
// does. Load also checks each command before it is sent, names the command to which an
// error belongs, goes on after a lost connection, and follows a Cluster.
//
// # Where to begin
//
// [Load] takes a URL and a reader, which gives the protocol itself, as in the append-only
// file of a server, commands as they are typed, CSV, TSV or NDJSON. For the last three a [Template] says which commands
// are sent for a record. [Encoder] writes the protocol from Go values, [Scanner] reads
// it, [Emit] turns any of the formats into it without a server.
//
// # Promises
//
// Commands that have a key in common are executed in the order of the input, on one
// connection or several, on one server or a Cluster whose slots are moving. A damaged
// input is refused where the damage begins: no half of a command is ever sent, and what
// stands before it is in the database, and counted. Of a file of another kind nothing is
// sent. Each command runs in the database that the input has selected: at a SELECT that
// fails the load stops.
//
// When a connection breaks, commands that were sent and not answered are in doubt. Load
// sends them again if that does no harm (SET, HSET, SADD, ZADD, DEL, …), and stops with
// an error that names the command if it would (INCR, LPUSH, …); see [Options.Resend].
// What a server forgets after it has answered, because it was killed before its file was
// written or before its replica had it, no client can know.
//
// # Cost
//
// One round trip in all, and one for each SELECT, for each command that goes to all
// servers of a Cluster, and for each command whose keys belong to several of several
// connections. Memory is bounded by Options.MaxInflight and some buffers, 64 MiB in all
// however long the input is, and some times the size of the largest single command or
// transaction.
package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redisurl"
)

// Errors that a caller can act on. An *[InputError] is a third.
var (
	// ErrLost is a connection that was lost for good, or lost while commands were
	// under way that cannot be sent twice.
	ErrLost = errors.New("the connection was lost")
	// ErrOptions is an option that is out of range, or does not go with the input.
	ErrOptions = errors.New("an option is wrong")
	// ErrFailed is what Load returns when a command failed and Options.FailFast is set,
	// or when a SELECT failed.
	ErrFailed = errors.New("a command failed")
)

// Resend says what is sent again after a connection broke, of what was sent and not
// answered.
type Resend int

// What is sent again.
const (
	ResendHarmless Resend = iota // commands that do no harm when they are executed twice
	ResendAlways                 // everything: some commands may be executed twice
	ResendNever                  // nothing: the load stops
)

// Format is what an input looks like.
type Format string

// The formats.
const (
	Auto     Format = ""         // by the first bytes; what is not recognized is refused
	RESP     Format = "resp"     // Redis' protocol
	Commands Format = "commands" // one command a line, as typed into redis-cli
	CSV      Format = "csv"      // RFC 4180
	TSV      Format = "tsv"      // the same with tabs
	NDJSON   Format = "ndjson"   // one JSON object a line
)

// Options are the settings of a load. The zero value is a good default.
type Options struct {
	// Format of the input. Default: told by the first bytes. Input that was
	// compressed with gzip or zstd is told by its first bytes, whatever the format.
	Format Format
	// Do says which commands are sent for each record of CSV, TSV and NDJSON.
	Do []*Template
	// Columns are the names of the columns of CSV and TSV. Default: the first record.
	Columns []string
	// SkipIfMissing passes over records that have no such field, or an empty one.
	SkipIfMissing []string

	// Connections to a single server. Default: 1. Commands that share a key stay in
	// order. A Cluster always has one for each master.
	Connections int
	// MaxInflight is how many bytes may be sent and unanswered, or on their way to
	// be sent. Less makes the server answer others sooner, more is of little use.
	// Default: 4 MiB; at least 64 KiB.
	MaxInflight int
	// Rate is how many commands are sent a second at most. Default: 0, as many as
	// the server takes.
	Rate int
	// Coalesce sends plain SETs that follow each other as one MSET, which makes the
	// same database in less time. What fails, fails together.
	Coalesce bool

	// RetryFor is how long it is tried to go on after a connection broke. Default:
	// 30 s. Negative: not at all. The first connection is tried once.
	RetryFor time.Duration
	// Resend is what is sent again then. Default: ResendHarmless.
	Resend Resend
	// Checkpoint is a file that records how far the load has come, so that a later
	// one with the same input and the same options goes on from there.
	Checkpoint string

	// ShowErrors is how many failed commands are kept for the report. Default: 20.
	// Negative: none.
	ShowErrors int
	// ErrorsTo, when set, is given every failed command in the protocol, so that it
	// can be loaded again, with a SELECT where the database changes. A SELECT that
	// failed, at which the load stops, is not among them.
	ErrorsTo io.Writer
	// FailFast stops the load at the first command that fails.
	FailFast bool

	// Cluster makes Emit refuse what a Cluster refuses. Load asks the server.
	Cluster bool
	// OnProgress, when set, is called a few times a second and at the end, one call
	// at a time.
	OnProgress func(Report)
}

// optionError is an ErrOptions that says what is wrong.
type optionError struct{ text string }

func (e *optionError) Error() string        { return "bulk: " + e.text }
func (e *optionError) Is(target error) bool { return target == ErrOptions }

// wrongOption words an optionError.
func wrongOption(format string, args ...any) error { return &optionError{fmt.Sprintf(format, args...)} }

// minInflight is two chunks.
const minInflight = 2 * chunkSize

func (o *Options) prepare() error {
	switch o.Format {
	case Auto, RESP, Commands, CSV, TSV, NDJSON:
	default:
		return wrongOption("Options.Format: there is no format %q; use resp, commands, csv, tsv or ndjson", o.Format)
	}
	switch {
	case o.Connections < 0 || o.Connections > 64:
		return wrongOption("Options.Connections: %d is not between 1 and 64", o.Connections)
	case o.MaxInflight != 0 && o.MaxInflight < minInflight/2 || o.MaxInflight > 1<<30:
		return wrongOption("Options.MaxInflight: %d is not between 64 KiB and 1 GiB", o.MaxInflight)
	case o.Rate < 0:
		return wrongOption("Options.Rate: %d is negative", o.Rate)
	case o.Resend < ResendHarmless || o.Resend > ResendNever:
		return wrongOption("Options.Resend: %d is none of the choices", o.Resend)
	}
	for i, t := range o.Do {
		if t == nil {
			return wrongOption("Options.Do: template %d is nil", i+1)
		}
	}
	if o.Connections == 0 {
		o.Connections = 1
	}
	if o.MaxInflight == 0 {
		o.MaxInflight = 4 << 20
	}
	if o.RetryFor == 0 {
		o.RetryFor = 30 * time.Second
	}
	if o.ShowErrors == 0 {
		o.ShowErrors = 20
	}
	return nil
}

// Load sends the commands of r to the server that a URL names: redis://, unix://,
// redis+sentinel:// or redis+cluster://, or these over TLS with the parameters ca, cert
// and key, as docs/operations.md lists them. Where the server is a Cluster, each command
// goes to the master of its slot.
//
// The error is nil if the whole input was sent and answered, also when some commands
// failed: Report.Errors counts these. Otherwise it is an *[InputError], [ErrLost],
// [ErrFailed], the context's error, or one of the reader; what was loaded until then is
// in the report. When ctx ends, Load stops reading, waits for the answers that are on
// their way, for some seconds at most, and returns. A Read of r that blocks is left
// behind then; it ends when r ends.
func Load(ctx context.Context, url string, r io.Reader, opt Options) (Report, error) {
	config, err := redisurl.Parse(url)
	if err != nil { // which shows no password
		return Report{}, fmt.Errorf("bulk: %w", err)
	}
	if config.Kind == redisurl.Embedded {
		return Report{}, fmt.Errorf("bulk: embedded:%s names a server that only retwis runs; name its socket: unix:///path", config)
	}
	server, err := config.ClientOption()
	if err != nil {
		return Report{}, fmt.Errorf("bulk: %w", err)
	}
	return LoadInto(ctx, server, r, opt)
}

// LoadInto is Load for a server that is described as rueidis describes them, with
// certificates, sentinels, or several nodes of a Cluster. Of the description it heeds
// InitAddress, Username, Password, SelectDB, TLSConfig, Dialer, DialCtxFn and Sentinel.
func LoadInto(ctx context.Context, server rueidis.ClientOption, r io.Reader, opt Options) (Report, error) {
	if err := opt.prepare(); err != nil {
		return Report{}, err
	}
	if len(server.InitAddress) == 0 {
		return Report{}, errors.New("bulk: no server is named")
	}
	return newLoader(server, opt).run(ctx, r)
}

// Emit writes the commands of r to w in Redis' protocol and sends nothing. With
// io.Discard as w it checks an input. Only the options that say what the input looks
// like are heeded, and Cluster and OnProgress.
func Emit(ctx context.Context, w io.Writer, r io.Reader, opt Options) (Report, error) {
	if err := opt.prepare(); err != nil {
		return Report{}, err
	}
	if opt.Checkpoint != "" {
		return Report{}, wrongOption("Options.Checkpoint: there is nothing to go on with when nothing is sent")
	}
	return emit(ctx, w, r, opt)
}
