package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// probes is how many keys of a Cluster are asked for: one in each 256 slots, so
// that every master with its share of the slots is asked.
const (
	probes        = 64
	slots         = 16384
	slotsPerProbe = slots / probes
)

// ErrPartly is wrapped where a part of a Cluster answers and another does not.
var ErrPartly = errors.New("a part of the Cluster does not answer")

// ProbeRead reports whether the database can be read, each part of a Cluster
// included. It asks for keys that do not exist, because what a server says to a
// PING differs: 6.2 refuses one when it cannot save, and a Cluster would be
// asked anywhere, also at a node that is gone. One round trip.
func ProbeRead(ctx context.Context, client rueidis.Client) error {
	return probe(ctx, client, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Exists().Key(key).Build()
	})
}

// ProbeWrite reports whether the database takes writes. It sends one that
// changes nothing: the server refuses it exactly when it refuses others. One
// round trip.
func ProbeWrite(ctx context.Context, client rueidis.Client) error {
	return probe(ctx, client, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Setrange().Key(key).Offset(0).Value("").Build()
	})
}

// ProbeScript reports whether the database runs scripts. One round trip.
func ProbeScript(ctx context.Context, client rueidis.Client) error {
	return probe(ctx, client, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Eval().Script("return 0").Numkeys(1).Key(key).Build()
	})
}

// Evicts returns the policy by which a server deletes keys without a time to
// live when it is full, or nothing where none does, or none says so: not every
// user may ask.
func Evicts(ctx context.Context, client rueidis.Client) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	nodes := client.Nodes()
	policies := make(chan string, len(nodes))
	for _, node := range nodes {
		go func() {
			info, _ := node.Do(ctx, node.B().Info().Section("memory").Build()).ToString()
			_, rest, _ := strings.Cut(info, "\nmaxmemory_policy:")
			policy, _, _ := strings.Cut(rest, "\r")
			policies <- policy
		}()
	}
	for range nodes {
		if policy := <-policies; strings.HasPrefix(policy, "allkeys-") {
			return policy
		}
	}
	return ""
}

func probe(ctx context.Context, client rueidis.Client, command func(rueidis.Builder, string) rueidis.Completed) error {
	if client.Mode() != rueidis.ClientModeCluster {
		if err := client.Do(ctx, command(client.B(), probeKey(0))).Error(); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	}
	var failed error
	answered := false
	for _, res := range client.DoMulti(ctx, spread(client.B(), command)...) {
		if err := res.Error(); err == nil {
			answered = true
		} else if failed == nil {
			failed = err
		}
	}
	switch {
	case failed == nil:
		return nil
	case answered:
		return fmt.Errorf("store: %w: %w", ErrPartly, failed)
	}
	return fmt.Errorf("store: %w", failed)
}

// spread returns a command for each probe, on keys all over the slots.
func spread(b rueidis.Builder, command func(rueidis.Builder, string) rueidis.Completed) rueidis.Commands {
	cmds := make(rueidis.Commands, 0, probes)
	var seen [probes]bool
	for n := 0; len(cmds) < probes; n++ {
		cmd := command(b, probeKey(n))
		if at := cmd.Slot() / slotsPerProbe; !seen[at] {
			seen[at] = true
			cmds = append(cmds, cmd)
		}
	}
	return cmds
}

// probeKey is a key that no program writes.
func probeKey(n int) string { return "retwis:probe:" + strconv.Itoa(n) }
