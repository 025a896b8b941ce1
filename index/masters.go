package index

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/nodes"
)

// master is a server that has keys of its own.
type master struct {
	address string
	client  rueidis.Client
}

// mastersOf returns the masters of a client, in the order of their addresses.
func mastersOf(ctx context.Context, client rueidis.Client) ([]master, error) {
	known, err := nodes.Masters(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	all := make([]master, len(known))
	for i, m := range known {
		all[i] = master{m.Address, m.Client}
	}
	return all, nil
}

// walked is the cursor behind everything.
const walked = "end"

// startOf finds where a walk goes on: at which master and with which cursor of
// SCAN.
func startOf(masters []master, after string) (at int, cursor uint64, err error) {
	if after == "" {
		return 0, 0, nil
	}
	if after == walked {
		return len(masters), 0, nil
	}
	address, text, _ := strings.Cut(after, " ")
	at = slices.IndexFunc(masters, func(m master) bool { return m.address == address })
	if at < 0 {
		return 0, 0, fmt.Errorf("index: the cursor %q is of a server that is not there: begin anew", after)
	}
	if cursor, err = strconv.ParseUint(text, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("index: %q is not a cursor of this source", after)
	}
	return at, cursor, nil
}
