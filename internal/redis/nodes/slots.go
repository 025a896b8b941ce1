package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// Slots are the slots that each master of a Cluster reports, by address, such as "0-5460 5462
// [93-<-67ed2db8]": the last slot is being moved to this master, and "->-" marks a slot that is
// being moved away. A server outside a Cluster reports "".
type Slots map[string]string

// OwnSlots asks masters for their slots. It needs permission for CLUSTER NODES and takes one round
// trip per master: only the master itself immediately knows which slots have moved or are moving.
func OwnSlots(ctx context.Context, masters []Master) (Slots, error) {
	all := Slots{}
	for _, m := range masters {
		if m.Address == "-" {
			all[m.Address] = ""
			continue
		}
		text, err := m.Client.Do(ctx, m.Client.B().ClusterNodes().Build()).ToString()
		if err != nil {
			return nil, fmt.Errorf("CLUSTER NODES of %s: %w", m.Address, err)
		}
		all[m.Address] = ownLine(text)
	}
	return all, nil
}

// ownLine returns the slots in a node's line about itself: id, address, flags, master, ping,
// pong, epoch, state, and then slots.
func ownLine(text string) string {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 8 && slices.Contains(strings.Split(fields[2], ","), "myself") {
			return strings.Join(fields[8:], " ")
		}
	}
	return ""
}

// IsSame reports whether a master has the same slots as before.
func (s Slots) IsSame(m Master, before Slots) bool {
	was, known := before[m.Address]
	return known && was == s[m.Address]
}

// Importing reports whether a slot is being moved to a master.
func (s Slots) Importing(m Master) bool { return strings.Contains(s[m.Address], "-<-") }

// Moving reports whether a slot is being moved from one master to another.
func (s Slots) Moving() bool {
	for _, slots := range s {
		if strings.Contains(slots, "[") {
			return true
		}
	}
	return false
}

// Same reports whether the slots are divided as before, even after a failover.
func (s Slots) Same(before Slots) bool {
	return slices.Equal(slices.Sorted(maps.Values(s)), slices.Sorted(maps.Values(before)))
}

// RunID returns the ID of a server process, which changes with a restart, or "" if INFO does not
// contain it. It takes one round trip.
func RunID(ctx context.Context, node rueidis.CoreClient) (string, error) {
	info, err := node.Do(ctx, node.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(info) {
		if id, ok := strings.CutPrefix(line, "run_id:"); ok {
			return strings.TrimSpace(id), nil
		}
	}
	return "", nil
}
