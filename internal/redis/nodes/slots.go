package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrSlotsMove: slots of a Cluster are on their way from one master to another.
var ErrSlotsMove = errors.New("slots of the Cluster are being moved to other servers")

// Slots returns the slots of each master of a Cluster, sorted, as in "0-5460 5462", and
// nothing without a Cluster. Two answers are the same if no slot has moved in between; a
// failover changes nothing. It returns ErrSlotsMove while a slot is being moved. It needs
// the right to CLUSTER NODES. One round trip for each master.
func Slots(ctx context.Context, masters []Master) ([]string, error) {
	var all []string
	for _, m := range masters {
		if m.Address == "-" {
			continue
		}
		text, err := m.Client.Do(ctx, m.Client.B().ClusterNodes().Build()).ToString()
		if err != nil {
			return nil, fmt.Errorf("CLUSTER NODES of %s: %w", m.Address, err)
		}
		slots := ownSlots(text)
		if strings.Contains(slots, "[") { // such as [93-<-67ed2db8], an open slot
			return nil, fmt.Errorf("%w: %s has %s", ErrSlotsMove, m.Address, slots)
		}
		all = append(all, slots)
	}
	slices.Sort(all)
	return all, nil
}

// ownSlots returns the slots in the line of a node about itself:
// id, address, flags, master, ping, pong, epoch, state, and then slots.
func ownSlots(text string) string {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 8 && slices.Contains(strings.Split(fields[2], ","), "myself") {
			return strings.Join(fields[8:], " ")
		}
	}
	return ""
}
