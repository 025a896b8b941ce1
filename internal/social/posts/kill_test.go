package posts_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"

	"retwis/internal/app"
	"retwis/internal/social/socialtest"
)

// If killedEnv holds the addresses of servers, this test binary posts once and kills itself at the
// write whose number is in killedStepEnv. A process that makes fewer writes prints the number of
// writes and exits when the post is on every list.
const (
	killedEnv     = "SOCIAL_TEST_KILLED"
	killedStepEnv = "SOCIAL_TEST_KILLED_STEP"
)

// killer counts the writes of a process to its servers, and kills the process at write number step.
type killer struct {
	armed atomic.Bool
	count atomic.Int64
	step  int64
}

// killerConn is a connection that kills the process just before or just after a write.
type killerConn struct {
	net.Conn
	*killer
}

func (c killerConn) Write(b []byte) (int, error) {
	if !c.armed.Load() || c.count.Add(1) != c.step {
		return c.Conn.Write(b)
	}
	if c.step%2 == 0 {
		_, _ = c.Conn.Write(b)
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// postAndDie is the main function of a process that is described at killedEnv.
func postAndDie() {
	k := new(killer)
	k.step, _ = strconv.ParseInt(os.Getenv(killedStepEnv), 10, 64)
	addresses := strings.Split(os.Getenv(killedEnv), ",")
	dial := func(wrap func(net.Conn) net.Conn) rueidis.Client {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: addresses, ForceSingleClient: len(addresses) == 1, PipelineMultiplex: -1,
			DialCtxFn: func(ctx context.Context, address string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, "tcp", address)
				if err != nil {
					return nil, err
				}
				return wrap(conn), nil
			},
		})
		if err != nil {
			panic(err)
		}
		return client
	}
	service, err := app.New(dial(func(conn net.Conn) net.Conn { return killerConn{conn, k} }),
		app.Options{HashParams: socialtest.CheapHash, Logger: socialtest.Quiet()})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	author, err := service.Users.UserByName(ctx, "author")
	if err != nil {
		panic(err)
	}
	k.armed.Store(true)
	if _, err := service.Posts.Post(ctx, author, fmt.Sprint("dies with write ", k.step)); err != nil {
		panic(err)
	}
	other := dial(func(conn net.Conn) net.Conn { return conn })
	for ; ; time.Sleep(5 * time.Millisecond) { // the parent process kills this process when the test ends
		left, err := other.Do(ctx, other.B().Zcard().Key("tasks").Build()).AsInt64()
		if err != nil {
			panic(err)
		}
		if left == 0 {
			break
		}
	}
	fmt.Println(k.count.Load())
	os.Exit(0)
}

// A process is killed at each write (in a short run, at some writes) of a post to 5,000 followers.
// After another process has finished the post, the lists of all followers have the post.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	const followers = 5000
	kills := redistest.Cases[int64](4, 100)
	servers := map[string]func(t *testing.T) (rueidis.Client, []*redistest.Server){
		"server": func(t *testing.T) (rueidis.Client, []*redistest.Server) {
			server := redistest.TCP(t)
			return server.Client(t), []*redistest.Server{server}
		},
		"cluster": func(t *testing.T) (rueidis.Client, []*redistest.Server) {
			cluster := redistest.Cluster(t, 3)
			return cluster.Client(t), cluster.Masters
		},
	}
	if !redistest.Long { // TestKilledAtEveryStep covers Clusters
		delete(servers, "cluster")
	}
	for name, open := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, servers := open(t)
			b := on(t, db, noJobs)
			author := b.NewUser("author")
			b.addFans(author, followers)
			var addresses []string
			for _, server := range servers {
				addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", server.Port()))
			}
			post := func(step int64) (writes int64) {
				program := exec.CommandContext(t.Context(), os.Args[0])
				program.Env = append(os.Environ(), killedEnv+"="+strings.Join(addresses, ","), fmt.Sprintf("%s=%d", killedStepEnv, step))
				out, err := program.Output()
				if err == nil {
					if writes, err = strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err != nil {
						t.Fatal(err)
					}
				}
				return writes
			}
			writes := post(0)
			if writes == 0 {
				t.Fatal("a process that was not killed failed")
			}
			killed := 0
			for i := range kills {
				if post(1+i*writes/kills) == 0 {
					killed++
				}
			}
			unfinished := b.Redis("ZCARD", "tasks") + " tasks"
			other := on(t, db, func(opt *app.Options) { opt.Now = func() time.Time { return time.Now().Add(time.Minute) } })
			if err := other.RetryTasks(b.Ctx); err != nil {
				t.Fatal(err)
			}
			b.Eventually("the interrupted tasks to be finished", func() bool { return b.Redis("EXISTS", "tasks") == "0" })

			stored, wrong := b.stored(), 0
			for _, list := range b.homeLists(followers) {
				if !slices.Equal(list, stored) {
					wrong++
				}
			}
			t.Logf("%d of %d processes killed in %d steps; %s were unfinished; %d posts stored", killed, kills, writes, unfinished, len(stored))
			if wrong > 0 {
				t.Errorf("lists of %d of %d followers differ from the stored posts %v", wrong, followers, stored)
			}
			if killed == 0 || len(stored) < 2 {
				t.Errorf("%d processes were killed, %d posts stored: the test proves nothing", killed, len(stored))
			}
		})
	}
}

// stored returns the IDs of the existing posts, latest first.
func (b *bundle) stored() (ids []string) {
	b.T.Helper()
	last, err := strconv.Atoi(b.Redis("GET", "next_post_id"))
	if err != nil {
		b.T.Fatal(err)
	}
	for id := last; id > 0; id-- {
		if b.Redis("EXISTS", fmt.Sprint("post:", id)) == "1" {
			ids = append(ids, fmt.Sprint(id))
		}
	}
	return ids
}

// homeLists returns the home timelines of n fans, without the markers of existing lists.
func (b *bundle) homeLists(n int) (lists [][]string) {
	b.T.Helper()
	for from := 0; from < n; from += 1000 {
		var cmds rueidis.Commands
		for i := from; i < min(n, from+1000); i++ {
			cmds = append(cmds, b.DB.B().Lrange().Key(fmt.Sprintf("posts:%d", 1001+i)).Start(0).Stop(-1).Build())
		}
		for _, res := range b.DB.DoMulti(b.Ctx, cmds...) {
			list, err := res.AsStrSlice()
			if err != nil {
				b.T.Fatal(err)
			}
			lists = append(lists, slices.DeleteFunc(list, func(id string) bool { return id == "0" }))
		}
	}
	return lists
}
