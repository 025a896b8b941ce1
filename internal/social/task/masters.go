package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/nodes"
)

// observeTimeout bounds the wait for a master to report its state.
const observeTimeout = 2 * time.Second

// master is the state of replication of one master.
type master struct {
	id       string // of the process and its replication history
	address  string // that it listens at; the same after a restart
	offset   int64  // of all that it has written
	acked    int64  // what the most advanced replica has acknowledged
	replicas int
}

// masters is the state of all masters at one moment.
type masters struct {
	identity   string // changes with each restart and failover, and never back
	all        []master
	replicated bool
}

// Observer asks the masters for their state and remembers the latest answer.
type Observer struct {
	client  rueidis.Client
	cluster bool
	latest  atomic.Pointer[masters]
}

// NewObserver returns an observer of the masters behind a client.
func NewObserver(client rueidis.Client) *Observer {
	return &Observer{client: client, cluster: client.Mode() == rueidis.ClientModeCluster}
}

// Identity returns the identity of the masters as they were last observed. It
// may be outdated: then the work that begins under it is repeated once more than
// necessary.
func (o *Observer) Identity(ctx context.Context) (string, error) {
	if seen := o.latest.Load(); seen != nil {
		return seen.identity, nil
	}
	now, err := o.observe(ctx)
	return now.identity, err
}

// replicated reports whether a master had replicas when it was last observed.
func (o *Observer) replicated() bool {
	seen := o.latest.Load()
	return seen != nil && seen.replicated
}

// observe asks all masters.
func (o *Observer) observe(ctx context.Context) (masters, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	servers, err := nodes.Masters(ctx, o.client)
	if err != nil {
		return o.record(nil, err)
	}
	found := make([]master, len(servers))
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, server := range servers {
		wg.Go(func() {
			p, err := identify(ctx, server.Client)
			if err == nil {
				found[i], err = p.observe(ctx, server.Client)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return o.record(found, errors.Join(errs...))
}

// record remembers the state of the masters.
func (o *Observer) record(found []master, err error) (masters, error) {
	if err != nil {
		return masters{}, fmt.Errorf("social: ask for the state of replication: %w", err)
	}
	var now masters
	var ids []string
	for _, m := range found {
		if m.id == "" {
			continue // a replica
		}
		ids = append(ids, m.id)
		now.all = append(now.all, m)
		now.replicated = now.replicated || m.replicas > 0
	}
	slices.Sort(ids)
	now.identity = strings.Join(ids, " ")
	o.latest.Store(&now)
	return now, nil
}

// process is a server process, and where it listens.
type process struct{ run, address string }

// identify asks the process at the other end of a connection who it is. A server that
// does not say where it listens counts as another one after each restart.
func identify(ctx context.Context, conn rueidis.CoreClient) (process, error) {
	id, err := nodes.RunID(ctx, conn)
	if err == nil && id == "" {
		err = errors.New("INFO has no run_id")
	}
	if err != nil {
		return process{}, err
	}
	return process{run: id, address: cmp.Or(localAddress(ctx, conn), id)}, nil
}

// localAddress is the server's end of a connection, empty if it may not be asked.
func localAddress(ctx context.Context, conn rueidis.CoreClient) string {
	client, err := conn.Do(ctx, conn.B().ClientInfo().Build()).ToString()
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(client, " laddr=")
	address, _, _ := strings.Cut(rest, " ")
	return address
}

// observe asks the process; the id of a replica is empty.
func (p process) observe(ctx context.Context, conn rueidis.CoreClient) (master, error) {
	replication, err := conn.Do(ctx, conn.B().Info().Section("replication").Build()).ToString()
	if err != nil {
		return master{}, err
	}
	m := parseMaster(replication)
	if m.id != "" {
		m.id, m.address = p.run+"/"+m.id, p.address
	}
	return m, nil
}

// parseMaster reads the section "replication" of INFO; the id is that of the
// replication history, empty for a replica.
func parseMaster(replication string) master {
	var m master
	var role string
	for text := range strings.Lines(replication) {
		name, value, _ := strings.Cut(strings.TrimSpace(text), ":")
		switch {
		case name == "role":
			role = value
		case name == "master_replid":
			m.id = value
		case name == "master_repl_offset":
			m.offset, _ = strconv.ParseInt(value, 10, 64)
		case strings.HasPrefix(name, "slave") && strings.HasPrefix(value, "ip=") && !strings.Contains(value, ",port=0,"):
			// One without a port reads a copy, as a backup does, and acknowledges nothing.
			m.replicas++
			if offset, ok := replicaOffset(value); ok {
				m.acked = max(m.acked, offset)
			}
		}
	}
	if role != "master" {
		return master{}
	}
	return m
}

// replicaOffset reads the offset that a replica has acknowledged from a line of
// INFO:
// "ip=127.0.0.1,port=6380,state=online,offset=42,lag=0".
func replicaOffset(line string) (offset int64, ok bool) {
	if !strings.Contains(line, "state=online") {
		return 0, false // still receives its initial copy
	}
	_, rest, ok := strings.Cut(line, "offset=")
	text, _, _ := strings.Cut(rest, ",")
	offset, err := strconv.ParseInt(text, 10, 64)
	return offset, ok && err == nil
}
