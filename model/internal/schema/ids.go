package schema

// IDs says where the id of a new record comes from.
type IDs string

// The sources of ids.
const (
	Counter        IDs = "counter" // 1, 2, 3, … from next_<name>_id
	ULID           IDs = "ulid"    // 26 letters and digits in order of time, without asking the server
	ClientAssigned IDs = "own"     // the caller sets them
)

// maxID is how many bytes an id has at most.
const maxID = 256
