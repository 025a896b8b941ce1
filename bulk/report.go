package bulk

// Report is the result of a load.
type Report struct {
	Commands int64 `json:"commands"` // commands of the input that were sent
	Replies  int64 `json:"replies"`  // commands that are known to have succeeded or failed
	Errors   int64 `json:"errors"`   // error replies
	Records  int64 `json:"records"`  // records of CSV, TSV, NDJSON and JSON that were read, and keys of snapshots
	Skipped  int64 `json:"skipped"`  // records skipped by Options.SkipIfMissing, and expired keys of snapshots
	Bad      int64 `json:"bad"`      // records written to Options.BadTo
	Resent   int64 `json:"resent"`   // commands that were resent

	Kinds    map[string]int64 `json:"errors_by_kind"` // number of errors by their first word: WRONGTYPE, OOM, …
	Failures []Failure        `json:"failures"`       // the first failures, at most Options.ShowErrors

	// Truncated describes what was left out at the end of append-only files.
	Truncated []string `json:"truncated,omitempty"`

	Bytes   int64   `json:"bytes"`   // protocol bytes, sent or emitted
	Input   int64   `json:"input"`   // bytes read, before decompression
	From    int64   `json:"from"`    // byte offset in the decompressed input at which a checkpoint resumed the load
	Seconds float64 `json:"seconds"` // duration
	Rate    float64 `json:"rate"`    // commands per second

	Nodes []Node `json:"nodes"` // the servers, in the order of the first connection
}

// Node counts the commands and replies of one server.
type Node struct {
	Addr     string `json:"addr"`
	Commands int64  `json:"commands"`
	Replies  int64  `json:"replies"`
	Errors   int64  `json:"errors"`
	Bytes    int64  `json:"bytes"`
}

// Failure is a command that a server answered with an error.
type Failure struct {
	File    string `json:"file,omitempty"`   // name of the input file, if there are several
	Command int64  `json:"command"`          // number of the command, starting at 1
	Line    int64  `json:"line,omitempty"`   // line in the input, in line-based formats
	Offset  int64  `json:"offset,omitempty"` // offset of the command in the input, in other formats
	Text    string `json:"text"`             // the command, shortened and escaped
	Error   string `json:"error"`            // the server's error
	Node    string `json:"node"`             // address of the server
}
