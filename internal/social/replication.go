package social

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// observeTimeout bounds the wait for a master to report its state.
const observeTimeout = 2 * time.Second

// master is what a master tells of itself.
type master struct {
	id       string // of the process and its line of replication
	offset   int64  // of all that it has written
	acked    int64  // what the most advanced replica has acknowledged
	replicas int
}

// mastersOf are all masters at one moment.
type mastersOf struct {
	identity   string // changes with each restart and failover, and never back
	masters    []master
	replicated bool
}

// identity is that of the masters as they were last observed. It may be an old
// one: then the fan-out that begins under it is repeated for nothing.
func (s *Service) identity(ctx context.Context) (string, error) {
	if seen := s.observed.Load(); seen != nil {
		return seen.identity, nil
	}
	now, err := s.observe(ctx)
	return now.identity, err
}

// observe asks all masters of themselves.
func (s *Service) observe(ctx context.Context) (mastersOf, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	var conns []rueidis.CoreClient
	var addresses []string
	if s.cluster {
		for address, node := range s.client.Nodes() {
			conns, addresses = append(conns, node), append(addresses, address)
		}
	} else {
		conns, addresses = append(conns, s.client), append(addresses, "")
	}
	found := make([]master, len(conns))
	errs := make([]error, len(conns))
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() {
			run, err := runID(ctx, conn)
			if err == nil {
				found[i], err = observeMaster(ctx, conn, run)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil && s.cluster && s.replaced(context.WithoutCancel(ctx), addresses[i]) {
			errs[i] = nil
		}
	}
	return s.observedAs(found, errors.Join(errs...))
}

// observedAs keeps what masters told of themselves.
func (s *Service) observedAs(found []master, err error) (mastersOf, error) {
	if err != nil {
		return mastersOf{}, fmt.Errorf("social: ask for the state of replication: %w", err)
	}
	var now mastersOf
	var ids []string
	for _, m := range found {
		if m.id == "" {
			continue // a replica
		}
		ids = append(ids, m.id)
		now.masters = append(now.masters, m)
		now.replicated = now.replicated || m.replicas > 0
	}
	slices.Sort(ids)
	now.identity = strings.Join(ids, " ")
	s.observed.Store(&now)
	return now, nil
}

// runID is the identity of a server process.
func runID(ctx context.Context, conn rueidis.CoreClient) (string, error) {
	server, err := conn.Do(ctx, conn.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(server) {
		if id, ok := strings.CutPrefix(line, "run_id:"); ok {
			return strings.TrimSpace(id), nil
		}
	}
	return "", errors.New("INFO tells no run_id")
}

// observeMaster asks the process with this identity; the id of a replica is
// empty.
func observeMaster(ctx context.Context, conn rueidis.CoreClient, run string) (master, error) {
	replication, err := conn.Do(ctx, conn.B().Info().Section("replication").Build()).ToString()
	if err != nil {
		return master{}, err
	}
	m := parseMaster(replication)
	if m.id != "" {
		m.id = run + "/" + m.id
	}
	return m, nil
}

// parseMaster reads the section "replication" of INFO; the id is that of the
// line of replication, empty for a replica.
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
		case strings.HasPrefix(name, "slave") && strings.HasPrefix(value, "ip="):
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

// replicaOffset is what a replica has acknowledged, as a line of INFO says:
// "ip=127.0.0.1,port=6380,state=online,offset=42,lag=0".
func replicaOffset(line string) (offset int64, ok bool) {
	if !strings.Contains(line, "state=online") {
		return 0, false // still gets its copy
	}
	_, rest, ok := strings.Cut(line, "offset=")
	text, _, _ := strings.Cut(rest, ",")
	offset, err := strconv.ParseInt(text, 10, 64)
	return offset, ok && err == nil
}
