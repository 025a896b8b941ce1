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

// probes is the number of keys that are read from a Cluster: one per 256 slots, so that every
// master with a usual share of slots is asked.
const (
	probes        = 64
	slots         = 16384
	slotsPerProbe = slots / probes
)

// ErrPartly is wrapped if only part of a Cluster answers.
var ErrPartly = errors.New("a part of the Cluster does not answer")

// ProbeRead checks that the database can be read, including each part of a Cluster. It reads keys
// that do not exist instead of sending PING: Redis 6.2 rejects PING when it cannot save, and a
// Cluster client sends PING to any node, even to a node that no longer exists. ProbeRead takes one
// round trip.
func ProbeRead(ctx context.Context, client rueidis.Client) error {
	return probe(ctx, client, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Exists().Key(key).Build()
	})
}

// ProbeWrite checks that the database accepts writes. It sends a write that changes nothing: the
// server rejects it exactly when it rejects other writes. It takes one round trip.
func ProbeWrite(ctx context.Context, client rueidis.Client) error {
	return probe(ctx, client, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Setrange().Key(key).Offset(0).Value("").Build()
	})
}

// ProbeScript checks that the database executes scripts, in one round trip.
func ProbeScript(ctx context.Context, client rueidis.Client) error {
	return probe(ctx, client, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Eval().Script("return 0").Numkeys(1).Key(key).Build()
	})
}

// Evicts returns the policy by which a full server deletes keys without a time to live, or "" if
// no server does so or the user may not ask.
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
	cmds := rueidis.Commands{command(client.B(), probeKey(0))}
	if client.Mode() == rueidis.ClientModeCluster {
		cmds = spread(client.B(), command)
	}
	var failed error
	answered := false
	for _, err := range each(ctx, client, cmds) {
		if err == nil {
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

// each sends each command separately, and returns the errors once all commands have an answer or
// ctx has ended, which the client can notice late. Answers that have arrived by then count. With
// DoMulti, the client would return all answers only after the last answer, and reject all commands
// if one of them is for a slot without a server, as after the death of a master.
func each(ctx context.Context, client rueidis.Client, cmds rueidis.Commands) []error {
	answers := make(chan error, len(cmds))
	for _, cmd := range cmds {
		go func() { answers <- client.Do(ctx, cmd).Error() }()
	}
	errs := make([]error, 0, len(cmds))
	for range cmds {
		select {
		case err := <-answers:
			errs = append(errs, err)
			continue
		default:
		}
		select {
		case err := <-answers:
			errs = append(errs, err)
		case <-ctx.Done():
			return append(errs, ctx.Err())
		}
	}
	return errs
}

// spread returns a command for each probe, with keys spread over the slots.
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

// probeKey returns a key that no program writes.
func probeKey(n int) string { return "retwis:probe:" + strconv.Itoa(n) }
