package bulk

// Report counts what a load has done.
type Report struct {
	Commands int64 `json:"commands"` // commands of the input that were sent
	Replies  int64 `json:"replies"`  // commands that are known to have succeeded or failed
	Errors   int64 `json:"errors"`   // error replies
	Records  int64 `json:"records"`  // records of CSV, TSV, NDJSON and JSON that were read, and keys of snapshots
	Skipped  int64 `json:"skipped"`  // records skipped by Options.SkipIfMissing, and keys of snapshots that had expired
	Bad      int64 `json:"bad"`      // records that were written to Options.BadTo
	Resent   int64 `json:"resent"`   // commands that were sent again, after a lost connection or elsewhere

	Kinds    map[string]int64 `json:"errors_by_kind"` // errors by their first word: WRONGTYPE, OOM, …
	Failures []Failure        `json:"failures"`       // the first ones, at most Options.ShowErrors

	// Truncated describes what was left out at the end of append-only files.
	Truncated []string `json:"truncated,omitempty"`

	Bytes   int64   `json:"bytes"`   // of the protocol, sent or emitted
	Input   int64   `json:"input"`   // bytes read, compressed if the input is
	From    int64   `json:"from"`    // where a checkpoint resumed the load: a byte of the decompressed input
	Seconds float64 `json:"seconds"` // duration
	Rate    float64 `json:"rate"`    // commands per second

	Nodes []Node `json:"nodes"` // the servers, in the order of connecting
}

// Node counts what one server received.
type Node struct {
	Addr     string `json:"addr"`
	Commands int64  `json:"commands"`
	Replies  int64  `json:"replies"`
	Errors   int64  `json:"errors"`
	Bytes    int64  `json:"bytes"`
}

// Failure is a command that a server answered with an error.
type Failure struct {
	File    string `json:"file,omitempty"`   // of the input, if there are several
	Command int64  `json:"command"`          // its number, starting at 1
	Line    int64  `json:"line,omitempty"`   // of the input, in formats with lines
	Offset  int64  `json:"offset,omitempty"` // of its first byte, in the protocol
	Text    string `json:"text"`             // the command, shortened and escaped
	Error   string `json:"error"`            // the server's error
	Node    string `json:"node"`             // the server
}
