// Package nodes sends commands without a key to the nodes of a database.
//
// A Cluster client sends such a command to any node that it knows, even to a node of its URL that no
// longer exists. This package asks all nodes.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/internal/redis/rediserr"
)

// First asks every node concurrently and returns the first answer. If no node answers within limit,
// it returns the most specific error.
//
// It does not cancel the other requests before limit: a connection that is being opened is
// shared, and canceling would break it for later callers.
func First[T any](ctx context.Context, client rueidis.Client, limit time.Duration, ask func(context.Context, rueidis.Client) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	nodes := client.Nodes()
	answers := make(chan answer, len(nodes))
	var asked sync.WaitGroup
	for _, node := range nodes {
		asked.Go(func() {
			value, err := ask(asking, node)
			answers <- answer{value, err}
		})
	}
	go func() { asked.Wait(); cancel() }()
	var failed answer
	for range nodes {
		select {
		case a := <-answers:
			if a.err == nil {
				return a.value, nil
			}
			if failed.err == nil || rediserr.Of(failed.err) == rediserr.Unavailable {
				failed = a // an error reply is more specific than a lost connection
			}
		case <-ctx.Done():
			return failed.value, errors.Join(ctx.Err(), failed.err)
		}
	}
	return failed.value, failed.err
}

// Master is a server that owns keys.
type Master struct {
	Address string // "-" if not a Cluster
	Client  rueidis.Client
	slots   [][2]int64 // slot ranges of a master of a Cluster
}

// OwnKey returns name with a hash tag that puts the key into a random slot of the master, which must
// own slots of a Cluster.
func (m Master) OwnKey(name string) string {
	for n := rand.IntN(1 << 30); ; n++ {
		key := "{" + strconv.Itoa(n) + "}:" + name
		slot := int64(keys.Slot([]byte(key)))
		if slices.ContainsFunc(m.slots, func(r [2]int64) bool { return r[0] <= slot && slot <= r[1] }) {
			return key
		}
	}
}

// mastersLimit is how long to wait for a node that lists the masters.
const mastersLimit = 10 * time.Second

// Masters returns the servers that own keys, in the order of their addresses: the masters of a
// Cluster that own slots, or the single server. It prefers a node that knows the owners of all
// slots; if none does, it returns the masters that are known.
func Masters(ctx context.Context, client rueidis.Client) ([]Master, error) {
	if client.Mode() != rueidis.ClientModeCluster {
		return []Master{{Address: "-", Client: client}}, nil
	}
	var mu sync.Mutex
	var part []owner // the longest of the answers that lack slots
	found, err := First(ctx, client, mastersLimit, func(ctx context.Context, node rueidis.Client) ([]owner, error) {
		found, err := owners(ctx, node)
		if errors.Is(err, errPart) {
			mu.Lock()
			defer mu.Unlock()
			if len(found) > len(part) {
				part = found
			}
		}
		return found, err
	})
	switch {
	case err == nil:
	case ctx.Err() == nil && part != nil: // all nodes have answered
		found = part
	default:
		return nil, err
	}
	all := make([]Master, 0, len(found))
	known := client.Nodes()
	for _, o := range found {
		node, ok := known[o.address]
		if !ok {
			return nil, errors.New("the Cluster has just changed: " + o.address + " is new; try again in a moment")
		}
		all = append(all, Master{o.address, node, o.slots})
	}
	slices.SortFunc(all, func(a, b Master) int { return cmp.Compare(a.Address, b.Address) })
	return all, nil
}

// errPart means that a node has no owner for some slots. While a replica takes over, a node may
// already have removed the slots of the old master, but not yet assigned the slots to the replica.
var errPart = errors.New("some slots of the Cluster have no owner")

// owner is the address of a server and the slot ranges that it owns.
type owner struct {
	address string
	slots   [][2]int64
}

// owners asks a node for the owners of slots. With errPart it returns the owners that the node knows.
func owners(ctx context.Context, node rueidis.Client) ([]owner, error) {
	ranges, err := node.Do(ctx, node.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, err
	}
	var own string // the host of the node itself, which the reply may omit
	for address := range node.Nodes() {
		own, _, _ = net.SplitHostPort(address)
	}
	var all []owner
	owned := int64(0)
	for _, slots := range ranges {
		fields, err := slots.ToArray() // from, to, master, replicas ...
		if err != nil || len(fields) < 3 {
			continue
		}
		from, _ := fields[0].AsInt64()
		to, _ := fields[1].AsInt64()
		owned += to - from + 1
		master, err := fields[2].ToArray() // host, port, id ...
		if err != nil || len(master) < 2 {
			continue
		}
		host, _ := master[0].ToString()
		port, err := master[1].AsInt64()
		if host == "?" || err != nil {
			continue
		}
		address := net.JoinHostPort(cmp.Or(host, own), strconv.FormatInt(port, 10))
		at := slices.IndexFunc(all, func(o owner) bool { return o.address == address })
		if at < 0 {
			at, all = len(all), append(all, owner{address: address})
		}
		all[at].slots = append(all[at].slots, [2]int64{from, to})
	}
	if len(all) == 0 {
		return nil, rueidis.ErrNoSlot
	}
	if owned < keys.Slots {
		return all, errPart
	}
	return all, nil
}
