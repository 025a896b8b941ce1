package bulk

import (
	"io"
	"time"

	"retwis/bulk/internal/input"
)

// Resend selects which commands in flight are resent after a connection breaks.
type Resend int

// Values of Resend.
const (
	ResendHarmless Resend = iota // commands that have the same result when executed twice
	ResendAlways                 // all commands: some may be executed twice
	ResendNever                  // no commands: the load stops
)

// Format is the format of an input.
type Format = input.Format

// The input formats.
const (
	Auto     = input.Auto     // detected from the first bytes; unrecognized input is rejected
	RESP     = input.RESP     // the Redis protocol
	Commands = input.Commands // one command per line, as typed into redis-cli
	CSV      = input.CSV      // RFC 4180
	TSV      = input.TSV      // one record per line, separated by tabs, with \t \n \r \0 \\ escapes
	NDJSON   = input.NDJSON   // one JSON object per line
	JSON     = input.JSON     // one JSON array of objects
	RDB      = input.RDB      // a snapshot, or an append-only file that begins with one
)

// Options configure a load. The zero value is a good default.
type Options struct {
	// Format is the format of the input. Default: detected from the first bytes. Compression with
	// gzip or zstd is always detected.
	Format Format
	// Do lists the commands to send for each record of CSV, TSV, NDJSON and JSON, such as "HSET
	// user:{id} name {name}". Each command is split into words like a line of redis-cli, so {name}
	// is one argument whatever it contains. {field} is a field of the record, and {#} is the number
	// of the record, starting at 1; {{ and }} are literal braces. Filters after a | change a value,
	// from left to right:
	//
	//	lower, upper, trim   change case or trim space, in UTF-8
	//	int                  a 64-bit integer; anything else is an error of the record
	//	float                a finite number; anything else is an error of the record
	//	default:TEXT         TEXT if the field is missing or empty
	//
	// In "user:{{{id}}}" the outer braces are a hash tag, which keeps the keys of one user in one
	// slot of a Cluster.
	Do []string
	// Columns are the column names of CSV and TSV. Default: the first record.
	Columns []string
	// SkipIfMissing skips records in which any of these fields is missing or empty.
	SkipIfMissing []string

	// Database, if set, is the only database of a snapshot to load: its keys are loaded into the
	// database that the server's options select, and all other databases are skipped. Default: each
	// key is loaded into the database with the same number.
	Database *int

	// Connections is the number of connections to a single server. Default: 1. Commands that
	// share a key stay in order. A Cluster always has one connection per master.
	Connections int
	// MaxInflight limits the bytes that are buffered, or sent and not yet answered. A smaller value
	// lets the server answer other clients sooner; a larger value is of little use. Default: 4 MiB;
	// at least 64 KiB.
	MaxInflight int
	// Rate limits the commands per second. Default: 0, unlimited.
	Rate int
	// Coalesce sends consecutive plain SETs as one MSET, which has the same result and is faster.
	// The SETs of an MSET fail together.
	Coalesce bool

	// RetryFor limits how long Load retries to reconnect after a connection breaks, and to resend
	// commands that a server temporarily refuses. Default: 30 s. Negative: no retries. The first
	// connection is tried once, unless the server is busy.
	RetryFor time.Duration
	// Resend selects the commands to resend after reconnecting. Default: ResendHarmless.
	Resend Resend
	// Checkpoint is a file that records the progress of the load, so that a later load of the
	// same input with the same options resumes at the recorded position.
	Checkpoint string

	// ShowErrors limits the failed commands in the report. Default: 20. Negative: none.
	ShowErrors int
	// ErrorsTo, if set, receives every failed command in the protocol, with a SELECT where the
	// database changes, so that they can be loaded again. It does not receive a failed SELECT,
	// which stops the load.
	ErrorsTo io.Writer
	// FailFast stops the load at the first command that fails.
	FailFast bool
	// BadTo, if set, receives the records that cannot be loaded, one JSON object per line with
	// place, reason and record, and the load continues. Such records are malformed records, records
	// that a template cannot convert, typed commands with an open quote, commands that a load
	// rejects, and keys of a snapshot that only a module can read. No part of a bad record is sent.
	// A fault that hides where the next record begins still ends the load, as does a rejected
	// command in a transaction.
	BadTo io.Writer
	// MaxBad limits the number of bad records; a further bad record ends the load. Default: 10,000.
	MaxBad int

	// Cluster makes Emit reject what a Cluster would reject. Load asks the server instead.
	Cluster bool
	// OnProgress, if set, is called a few times a second and at the end, never concurrently.
	OnProgress func(Report)

	templates []*input.Template // parsed from Do
}

// minInflight is the size of two chunks.
const minInflight = 2 * chunkSize

// Check returns an error if the options are invalid for every input. Load and Emit call it.
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
		return input.WrongOption("Options.Resend: %d is not a valid choice", o.Resend)
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

// checkFormat returns an error if f is not a known format.
func checkFormat(f Format) error {
	switch f {
	case Auto, RESP, RDB, Commands, CSV, TSV, NDJSON, JSON:
		return nil
	}
	return input.WrongOption("Options.Format: there is no format %q; use resp, rdb, commands, csv, tsv, ndjson or json", f)
}

// input returns the options for package input.
func (o *Options) input() input.Options {
	return input.Options{
		Format: o.Format, Do: o.templates, Columns: o.Columns, SkipIfMissing: o.SkipIfMissing,
		Digest: o.Checkpoint != "", Database: o.Database,
	}
}
