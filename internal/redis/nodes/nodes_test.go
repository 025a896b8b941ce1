package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/nodes"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Masters finds all masters although a node of the URL is dead or frozen.
func TestMastersWithoutANamedNode(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	frozen := redistest.TCP(t)
	frozen.Freeze(t)
	var want []string
	for _, master := range cluster.Masters {
		want = append(want, fmt.Sprintf("127.0.0.1:%d", master.Port()))
	}
	for name, port := range map[string]int{"dead": redistest.FreePort(t), "frozen": frozen.Port()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: append([]string{fmt.Sprintf("127.0.0.1:%d", port)}, want...), PipelineMultiplex: -1,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for range 10 {
				masters, err := nodes.Masters(t.Context(), client)
				if err != nil || len(masters) != len(want) {
					t.Fatalf("Masters = %v, %v; want %v", masters, err, want)
				}
				for i, m := range masters {
					if i > 0 && m.Address <= masters[i-1].Address {
						t.Errorf("masters are not sorted by address: %v", masters)
					}
					if err := m.Client.Do(t.Context(), m.Client.B().Dbsize().Build()).Error(); err != nil {
						t.Errorf("%s: %v", m.Address, err)
					}
				}
			}
		})
	}
}

func TestMastersOfOneServer(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	masters, err := nodes.Masters(t.Context(), client)
	if err != nil || len(masters) != 1 || masters[0].Client != client {
		t.Errorf("Masters = %v, %v; want the client itself", masters, err)
	}
}

// A master may briefly report no owner for another master's slots while a replica takes over.
// Masters then asks the other nodes. Masters also works if no node reports an owner for a slot.
func TestMastersWithoutOwners(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	client := cluster.Client(t)
	forget := func(server *redistest.Server, first, last int) {
		t.Helper()
		var slots []string
		for slot := first; slot <= last; slot++ {
			slots = append(slots, fmt.Sprint(slot))
		}
		c := server.Client(t)
		if err := c.Do(t.Context(), c.B().Arbitrary("CLUSTER", "DELSLOTS").Args(slots...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	wantAll := func() {
		t.Helper()
		for range 50 {
			if masters, err := nodes.Masters(t.Context(), client); err != nil || len(masters) != 3 {
				t.Fatalf("Masters = %v, %v; want 3 masters", masters, err)
			}
		}
	}
	wantAll()
	forget(cluster.Masters[0], 5461, 10922)
	wantAll()
	for _, m := range cluster.Masters[1:] {
		forget(m, 7000, 7000)
	}
	wantAll()
}

// First prefers an error reply to the error of an unreachable node, and returns when its context is
// canceled.
func TestFirst(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2)
	client := cluster.Client(t)
	unreachable := fmt.Sprintf("127.0.0.1:%d", cluster.Masters[0].Port())
	errReply := errors.New("no")
	_, err := nodes.First(t.Context(), client, time.Minute, func(_ context.Context, node rueidis.Client) (int, error) {
		if _, ok := node.Nodes()[unreachable]; ok {
			return 0, context.DeadlineExceeded
		}
		return 0, errReply
	})
	if !errors.Is(err, errReply) {
		t.Errorf("First: %v, want the error reply", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = nodes.First(ctx, client, time.Second, func(ctx context.Context, _ rueidis.Client) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("First with a canceled context: %v", err)
	}
}
