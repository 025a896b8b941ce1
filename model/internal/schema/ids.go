package schema

// IDs selects where the id of a new record comes from.
type IDs string

// The sources of ids.
const (
	Counter        IDs = "counter" // 1, 2, 3, … from next_<name>_id
	ULID           IDs = "ulid"    // 26 letters and digits in time order, without a round trip
	ClientAssigned IDs = "own"     // set by the caller
)

// maxID is the maximum length of an id, in bytes.
const maxID = 256
