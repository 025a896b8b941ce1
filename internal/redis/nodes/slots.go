package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// Slots is what each master of a Cluster says of its slots, by its address, as in
// "0-5460 5462 [93-<-67ed2db8]": the last one is on its way to this master, and "->-" to
// another one. A server without a Cluster has "".
type Slots map[string]string

// OwnSlots asks masters for their slots. It needs the right to CLUSTER NODES. One round trip
// each: only the master itself knows at once what has moved, and what is on its way.
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

// ownLine returns the slots in the line of a node about itself:
// id, address, flags, master, ping, pong, epoch, state, and then slots.
func ownLine(text string) string {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 8 && slices.Contains(strings.Split(fields[2], ","), "myself") {
			return strings.Join(fields[8:], " ")
		}
	}
	return ""
}

// IsSame reports whether a master has the slots that it had before.
func (s Slots) IsSame(m Master, before Slots) bool {
	was, known := before[m.Address]
	return known && was == s[m.Address]
}

// Importing reports whether a slot is on its way to a master.
func (s Slots) Importing(m Master) bool { return strings.Contains(s[m.Address], "-<-") }

// Moving reports whether a slot is on its way from one master to another.
func (s Slots) Moving() bool {
	for _, slots := range s {
		if strings.Contains(slots, "[") {
			return true
		}
	}
	return false
}

// Same reports whether the slots are divided as before, also after a failover.
func (s Slots) Same(before Slots) bool {
	return slices.Equal(slices.Sorted(maps.Values(s)), slices.Sorted(maps.Values(before)))
}

// RunID returns the id of a server process: another one after a restart, and "" where INFO
// does not have it. One round trip.
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
