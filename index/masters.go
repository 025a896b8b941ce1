package index

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/nodes"
)

// walked is the cursor behind everything.
const walked = "end"

// startOf finds where a walk goes on: at which master and with which cursor of
// SCAN.
func startOf(masters []nodes.Master, after string) (at int, cursor uint64, err error) {
	if after == "" {
		return 0, 0, nil
	}
	if after == walked {
		return len(masters), 0, nil
	}
	address, text, _ := strings.Cut(after, " ")
	at = slices.IndexFunc(masters, func(m nodes.Master) bool { return m.Address == address })
	if at < 0 {
		return 0, 0, fmt.Errorf("index: the cursor %q is of a server that is not there: begin anew", after)
	}
	if cursor, err = strconv.ParseUint(text, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("index: %q is not a cursor of this source", after)
	}
	return at, cursor, nil
}
