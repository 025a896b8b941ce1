package redistest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

// masters are connections to the masters of a Cluster.
type masters []rueidis.Client

func (c *ClusterServers) connect() (masters, error) {
	var m masters
	for _, s := range c.Masters {
		client, err := s.patientClient()
		if err != nil {
			m.close()
			return nil, err
		}
		m = append(m, client)
	}
	return m, nil
}

// patientClient returns a connection that waits as long as the server exists: on a busy machine a
// reply can take any time.
func (s *Server) patientClient() (rueidis.Client, error) {
	opt, err := rueidis.ParseURL(s.URL())
	if err != nil {
		return nil, err
	}
	opt.Dialer.Timeout, opt.ConnWriteTimeout = time.Hour, time.Hour
	opt.ForceSingleClient, opt.DisableCache, opt.DisableRetry = true, true, true
	opt.PipelineMultiplex, opt.ReadBufferEachConn, opt.WriteBufferEachConn = -1, 16<<10, 4<<10
	return rueidis.NewClient(opt)
}

func (m masters) close() {
	for _, client := range m {
		client.Close()
	}
}

// each collects the results of calling a function for each master.
func (m masters) each(ctx context.Context, do func(context.Context, rueidis.Client) (string, error)) ([]string, error) {
	var results []string
	for _, client := range m {
		result, err := do(ctx, client)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// each collects the results of calling a function for each master.
func (c *ClusterServers) each(do func(context.Context, rueidis.Client) (string, error)) ([]string, error) {
	m, err := c.connect()
	if err != nil {
		return nil, err
	}
	defer m.close()
	return m.each(context.Background(), do)
}

// wait waits until wanted accepts the result of read for each master.
func (m masters) wait(ctx context.Context, read func(context.Context, rueidis.Client) (string, error), wanted func(string) bool) error {
	return poll(ctx, func() (bool, []string, error) {
		all, err := m.each(ctx, read)
		return !slices.ContainsFunc(all, func(result string) bool { return !wanted(result) }), all, err
	})
}

// agree waits until all masters report the same nodes, slots and epochs.
func (m masters) agree(ctx context.Context) error {
	return m.agreeOn(ctx, func() error { return nil })
}

// agreeOn repeats a change until all masters report the same nodes, slots and epochs.
func (m masters) agreeOn(ctx context.Context, change func() error) error {
	return poll(ctx, func() (bool, []string, error) {
		if err := change(); err != nil {
			return false, nil, err
		}
		views, err := m.each(ctx, func(ctx context.Context, client rueidis.Client) (string, error) {
			nodes, err := clusterNodes(ctx, client)
			return fmt.Sprint(stable(nodes, true)), err
		})
		return len(slices.Compact(slices.Clone(views))) == 1, views, err
	})
}

func clusterInfo(ctx context.Context, client rueidis.Client) (string, error) {
	return client.Do(ctx, client.B().ClusterInfo().Build()).ToString()
}

func clusterNodes(ctx context.Context, client rueidis.Client) (string, error) {
	return client.Do(ctx, client.B().ClusterNodes().Build()).ToString()
}

// poll waits until the servers are in the wanted state.
func poll(ctx context.Context, check func() (done bool, seen []string, err error)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		done, seen, err := check()
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the servers report %q: %w", seen, ctx.Err())
		}
	}
}
