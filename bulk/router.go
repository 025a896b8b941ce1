package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"retwis/bulk/internal/input"
	"retwis/bulk/internal/server"
	"retwis/bulk/resp"
	"retwis/internal/redis/keys"
	"retwis/internal/sleep"
)

// router opens the connections and maps each slot to its connection.
type router struct {
	dialer      server.Dialer
	connections int // to a single server
	retryFor    time.Duration
	count       *counts
	db          *database
	judge       *judge
	events      chan event

	cluster bool
	pipes   []*pipe // one per connection to a single server, or per master of a Cluster
	owners  []*pipe // by slot of a Cluster; nil if the owner is unknown
	owned   int     // number of slots that had an owner at the last request
	addrs   []string
}

// errMoved is the reason for reconnecting when no connection broke.
var errMoved = errors.New("the Cluster has changed")

// pipeFor returns the pipe to the owner of a slot, or nil if the slot has no owner at the moment.
func (r *router) pipeFor(slot int) *pipe {
	switch {
	case r.cluster:
		return r.owners[slot]
	case len(r.pipes) == 1:
		return r.pipes[0]
	}
	return r.pipes[slot%len(r.pipes)]
}

// needsSlots reports whether the route of a command depends on its keys.
func (r *router) needsSlots() bool { return r.cluster || r.connections > 1 }

// open determines whether the server is a Cluster and opens the connections. It retries only
// while the server does not accept commands yet, so that a mistake in a URL is reported
// immediately.
func (r *router) open(ctx context.Context) error {
	began := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := r.openOnce(ctx)
		left := r.retryFor - time.Since(began)
		if err == nil || !server.IsTemporary(err) || left <= 0 || !sleep.For(ctx, min(wait, left)) {
			return err
		}
	}
}

func (r *router) openOnce(ctx context.Context) error {
	if !r.dialer.Sentinel() {
		c, err := r.dialer.Any(ctx, r.dialer.Options.InitAddress)
		if err != nil {
			return lost(err)
		}
		ranges, err := server.SlotRanges(c)
		c.Close()
		if err != nil && (!server.IsReply(err, "") || server.IsTemporary(err)) {
			return lost(fmt.Errorf("%s: %w", c.Addr, err))
		}
		if r.cluster = err == nil; r.cluster && len(ranges) == 0 {
			return lost(fmt.Errorf("%s is part of a Cluster without any assigned slot", c.Addr))
		}
	}
	if r.cluster && r.connections > 1 {
		return input.WrongOption("Options.Connections: the server is a Cluster, which has one connection for each master")
	}
	if !r.cluster {
		r.pipes = make([]*pipe, r.connections)
	}
	if err := r.connect(ctx); err != nil {
		return lost(err)
	}
	return nil
}

// connect opens the missing connections. It asks a Cluster for the owners of its slots.
func (r *router) connect(ctx context.Context) error {
	if r.cluster {
		return r.connectCluster(ctx)
	}
	for i, p := range r.pipes {
		if p != nil {
			continue
		}
		addr, err := r.dialer.Master(ctx)
		if err != nil {
			return err
		}
		r.db.known = nil // the server may have restarted with fewer databases
		if r.pipes[i], err = r.newPipe(ctx, addr); err != nil {
			r.pipes[i] = nil
			return err
		}
	}
	return nil
}

func (r *router) newPipe(ctx context.Context, addr string) (*pipe, error) {
	c, err := r.dialer.Open(ctx, addr, r.db.selected)
	if err != nil {
		return nil, err
	}
	return startPipe(c, r.count.node(addr), r.judge, r.events), nil
}

// connectCluster asks for the owners of the slots and connects to all owners.
func (r *router) connectCluster(ctx context.Context) error {
	c, err := r.dialer.Any(ctx, r.knownAddrs())
	if err != nil {
		return err
	}
	ranges, err := server.SlotRanges(c)
	c.Close()
	if err != nil {
		return err
	}
	// During a failover, a server may already report that the old master has no slots, but not yet
	// report the new master. A command for all servers would miss the new master.
	owned := 0
	for _, slots := range ranges {
		owned += slots.To - slots.From + 1
	}
	if owned < r.owned {
		return fmt.Errorf("%d slots of the Cluster have no owner", r.owned-owned)
	}
	r.owned = owned
	r.owners, r.addrs = make([]*pipe, keys.Slots), r.addrs[:0]
	var failed []error
	for _, slots := range ranges {
		p, err := r.pipeTo(ctx, slots.Addr)
		if err != nil { // a failover may be about to replace the master
			failed = append(failed, err)
			continue
		}
		for s := slots.From; s <= slots.To; s++ {
			r.owners[s] = p
		}
		if !slices.Contains(r.addrs, slots.Addr) {
			r.addrs = append(r.addrs, slots.Addr)
		}
	}
	return errors.Join(failed...)
}

// knownAddrs returns the addresses of all known servers.
func (r *router) knownAddrs() []string { return slices.Concat(r.addrs, r.dialer.Options.InitAddress) }

// pipeTo returns the pipe to a node of a Cluster.
func (r *router) pipeTo(ctx context.Context, addr string) (*pipe, error) {
	for _, p := range r.pipes {
		if p.conn.Addr == addr && p.failed == nil {
			return p, nil
		}
	}
	p, err := r.newPipe(ctx, addr)
	if err != nil {
		return nil, err
	}
	r.pipes = append(r.pipes, p)
	return p, nil
}

// anySlot stands for the slot of commands that can use any connection.
const anySlot = -1

// connected reports whether all connections to a single server are open, or the connection to the
// owner of a slot of a Cluster.
func (r *router) connected(slot int) bool {
	if r.cluster {
		return slot == anySlot || r.owners[slot] != nil
	}
	return !slices.Contains(r.pipes, nil)
}

// reconnect connects, retrying for Options.RetryFor since began.
func (r *router) reconnect(ctx context.Context, began time.Time, cause error) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := r.connect(ctx)
		if err == nil || ctx.Err() != nil {
			return errors.Join(ctx.Err())
		}
		if cause == nil {
			cause = errMoved
		}
		left := r.retryFor - time.Since(began)
		if server.IsPermanent(err) || left <= 0 {
			return lost(fmt.Errorf("%w; then %w", cause, err))
		}
		if !sleep.For(ctx, min(wait, left)) {
			return ctx.Err()
		}
	}
}

// dropFailedPipes stops the pipes whose connections broke. Without a Cluster, it also stops the
// pipes whose server temporarily refused commands. It calls abandon for each stopped pipe, and
// returns the error of the first broken connection.
func (r *router) dropFailedPipes(abandon func(*pipe)) (cause error) {
	keep := r.pipes[:0]
	for i, p := range r.pipes {
		if p != nil && (p.failed != nil || p.troubled && !r.cluster) {
			if cause == nil && p.failed != nil {
				cause = fmt.Errorf("%s: %w", p.conn.Addr, p.failed)
			}
			p.stop()
			abandon(p)
			p = nil
			for s, owner := range r.owners {
				if owner == r.pipes[i] {
					r.owners[s] = nil
				}
			}
		}
		if p != nil || !r.cluster {
			keep = append(keep, p)
		}
		if p != nil {
			p.troubled = false
		}
	}
	r.pipes = keep
	return cause
}

// close ends all connections.
func (r *router) close() {
	for i, p := range r.pipes {
		if p != nil {
			p.stop()
			r.pipes[i] = nil
		}
	}
	if r.cluster {
		r.pipes, r.owners = nil, make([]*pipe, keys.Slots)
	}
}

// askKeys asks a node of a Cluster for the keys of a command that is not in the table.
func (r *router) askKeys(ctx context.Context, f *resp.Frame, name string) ([][]byte, error) {
	args := make([]string, f.Len())
	for i := range args {
		args[i] = string(f.Arg(i))
	}
	keys, err := r.dialer.KeysOf(ctx, r.addrs, args)
	if err != nil {
		return nil, fmt.Errorf("%s: the server does not report its keys: %w", name, err)
	}
	return keys, nil
}

// redis6Args is the maximum number of arguments of a command in Redis 6.2.
const redis6Args = 1 << 20

// checkArgs returns an error if a command has more arguments than the server accepts. If the
// version is unknown, the server decides.
func (r *router) checkArgs(ctx context.Context, n int) error {
	if n <= redis6Args {
		return nil
	}
	if version := r.version(ctx); strings.HasPrefix(version, "6.") {
		return fmt.Errorf("it has %d arguments; the server is Redis %s, and versions before 7.0 accept at most %d", n, version, redis6Args)
	}
	return nil
}

// version returns the version of the server, or "" if the server does not report it. It retries for
// Options.RetryFor after connection errors; the connections of the load report a lasting error.
func (r *router) version(ctx context.Context) string {
	began := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		version, err := r.askVersion(ctx)
		left := r.retryFor - time.Since(began)
		if err == nil || server.IsReply(err, "") || server.IsPermanent(err) || left <= 0 || !sleep.For(ctx, min(wait, left)) {
			return version
		}
	}
}

func (r *router) askVersion(ctx context.Context) (string, error) {
	c, err := r.anyServer(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	answer, err := c.Do("HELLO", "2") // ACL rules cannot forbid HELLO
	fields, _ := answer.([]any)
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "version" {
			return fmt.Sprint(fields[i+1]), nil
		}
	}
	return "", err
}

// anyServer connects to the server, or to one node of a Cluster.
func (r *router) anyServer(ctx context.Context) (*server.Conn, error) {
	if !r.dialer.Sentinel() {
		return r.dialer.Any(ctx, r.knownAddrs())
	}
	addr, err := r.dialer.Master(ctx)
	if err != nil {
		return nil, err
	}
	return r.dialer.Connect(ctx, addr)
}
