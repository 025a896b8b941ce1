package bulk

import (
	"io"
	"time"

	"retwis/bulk/internal/input"
)

// Resend says which of the commands in flight are sent again after a connection broke.
type Resend int

// The choices.
const (
	ResendHarmless Resend = iota // commands that have the same result when executed twice
	ResendAlways                 // all: some commands may be executed twice
	ResendNever                  // none: the load stops
)

// Format is the format of an input.
type Format = input.Format

// The formats.
const (
	Auto     = input.Auto     // detected by the first bytes; unrecognized input is refused
	RESP     = input.RESP     // Redis' protocol
	Commands = input.Commands // one command a line, as typed into redis-cli
	CSV      = input.CSV      // RFC 4180
	TSV      = input.TSV      // one record a line, with tabs, and \t \n \r \0 \\ in the fields
	NDJSON   = input.NDJSON   // one JSON object a line
	JSON     = input.JSON     // one JSON array of objects
	RDB      = input.RDB      // a snapshot, or an append-only file that begins with one
)

// Options are the settings of a load. The zero value is a good default.
type Options struct {
	// Format of the input. Default: detected by the first bytes. Compression with gzip
	// or zstd is always detected.
	Format Format
	// Do lists the commands to send for each record of CSV, TSV, NDJSON and JSON, such as
	// "HSET user:{id} name {name}". Each is split into words like a line of redis-cli, so
	// that {name} is one argument whatever it contains. {field} is a field of the record,
	// {#} the number of the record, starting at 1; {{ and }} are literal braces. Filters
	// after a | change a value, from left to right:
	//
	//	lower, upper, trim   as their names say, in UTF-8
	//	int                  an integer of 64 bits; otherwise the record is an error
	//	float                a finite number; otherwise the record is an error
	//	default:TEXT         TEXT if the field is missing or empty
	//
	// In "user:{{{id}}}" the outer braces are a hash tag, which keeps the keys of one user
	// in one slot of a Cluster.
	Do []string
	// Columns are the names of the columns of CSV and TSV. Default: the first record.
	Columns []string
	// SkipIfMissing skips records in which one of these fields is missing or empty.
	SkipIfMissing []string

	// Database, if set, is the only database of a snapshot to load: its keys go into the
	// database that the server's options select, and the rest is left out. Default: each
	// key goes into the database of its number.
	Database *int

	// Connections to a single server. Default: 1. Commands that share a key stay in
	// order. A Cluster always has one for each master.
	Connections int
	// MaxInflight bounds the bytes that are buffered or sent and not answered. A smaller
	// value lets the server answer other clients sooner, a larger one is of little use.
	// Default: 4 MiB; at least 64 KiB.
	MaxInflight int
	// Rate limits the commands per second. Default: 0, unlimited.
	Rate int
	// Coalesce sends consecutive plain SETs as one MSET, which has the same result in
	// less time. The SETs of an MSET fail together.
	Coalesce bool

	// RetryFor bounds the attempts to reconnect after a connection broke, and to send again
	// what a server refuses for a moment. Default: 30 s. Negative: none. The first connection
	// is tried once, unless the server is busy.
	RetryFor time.Duration
	// Resend says what is sent again after that. Default: ResendHarmless.
	Resend Resend
	// Checkpoint is a file that records the progress of the load, so that a later load of
	// the same input with the same options resumes there.
	Checkpoint string

	// ShowErrors bounds the failed commands in the report. Default: 20. Negative: none.
	ShowErrors int
	// ErrorsTo, if set, receives every failed command in the protocol, with a SELECT where
	// the database changes, so that they can be loaded again. It does not receive a SELECT
	// that failed and stopped the load.
	ErrorsTo io.Writer
	// FailFast stops the load at the first command that fails.
	FailFast bool
	// BadTo, if set, receives the records that cannot be loaded, one in JSON a line with its
	// place, the reason and the record, and the load goes on after them: records that are malformed or that a template
	// cannot convert, typed commands with an open quote, commands that a load refuses, and
	// keys of a snapshot that only a module can read. Nothing of a bad record is sent. A
	// fault after which it is unknown where the next record begins still ends the load, as
	// does a refused command in a transaction.
	BadTo io.Writer
	// MaxBad bounds the bad records; one more ends the load. Default: 10,000.
	MaxBad int

	// Cluster makes Emit reject what a Cluster rejects. Load asks the server.
	Cluster bool
	// OnProgress, if set, is called a few times a second and at the end, one call at a
	// time.
	OnProgress func(Report)

	templates []*input.Template // of Do
}

// minInflight is two chunks.
const minInflight = 2 * chunkSize

// Check returns an error if the options cannot be used for any input. Load and Emit call it.
func (o Options) Check() error { return o.prepare() }

// prepare validates the options and sets defaults.
func (o *Options) prepare() error {
	if err := checkFormat(o.Format); err != nil {
		return err
	}
	switch {
	case o.Connections < 0 || o.Connections > 64:
		return input.WrongOption("Options.Connections: %d is not between 1 and 64", o.Connections)
	case o.MaxInflight != 0 && o.MaxInflight < minInflight/2 || o.MaxInflight > 1<<30:
		return input.WrongOption("Options.MaxInflight: %d is not between 64 KiB and 1 GiB", o.MaxInflight)
	case o.Rate < 0:
		return input.WrongOption("Options.Rate: %d is negative", o.Rate)
	case o.MaxBad < 0:
		return input.WrongOption("Options.MaxBad: %d is negative", o.MaxBad)
	case o.Resend < ResendHarmless || o.Resend > ResendNever:
		return input.WrongOption("Options.Resend: %d is not one of the choices", o.Resend)
	}
	o.templates = nil
	for i, text := range o.Do {
		t, err := input.ParseTemplate(text)
		if err != nil {
			return input.WrongOption("Options.Do: %d: %v", i+1, err)
		}
		o.templates = append(o.templates, t)
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
	if o.MaxBad == 0 {
		o.MaxBad = 10_000
	}
	if o.ShowErrors == 0 {
		o.ShowErrors = 20
	}
	return nil
}

// checkFormat returns an error if there is no such format.
func checkFormat(f Format) error {
	switch f {
	case Auto, RESP, RDB, Commands, CSV, TSV, NDJSON, JSON:
		return nil
	}
	return input.WrongOption("Options.Format: there is no format %q; use resp, rdb, commands, csv, tsv, ndjson or json", f)
}

// input returns the options of the input.
func (o *Options) input() input.Options {
	return input.Options{
		Format: o.Format, Do: o.templates, Columns: o.Columns, SkipIfMissing: o.SkipIfMissing,
		Digest: o.Checkpoint != "", Database: o.Database,
	}
}
