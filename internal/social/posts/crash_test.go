package posts_test

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/socialtest"
)

// If posterEnv holds the URL of a server, this test binary runs postForever instead of tests.
const posterEnv = "SOCIAL_TEST_POSTER"

// posters is the number of goroutines that post.
const posters = 8

// postForever posts until the process is killed, and prints the acknowledged posts.
func postForever() {
	opt := rueidis.MustParseURL(os.Getenv(posterEnv))
	opt.ForceSingleClient, opt.PipelineMultiplex = true, -1
	client, err := rueidis.NewClient(opt)
	if err != nil {
		panic(err)
	}
	service, err := app.New(client, app.Options{HashParams: socialtest.CheapHash})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	author, err := service.Users.UserByName(ctx, "author")
	if err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for n := 0; ; n++ {
				post, err := service.Posts.Post(ctx, author, fmt.Sprintf("post %d of poster %d", n, p))
				if err == nil {
					fmt.Printf("%d %s\n", post.ID, post.Body) // in one write, so lines stay intact
				}
			}
		})
	}
	wg.Wait()
}

// The server is killed while a program writes posts (three times in a long run) and restarted from
// disk. Then the program is killed. With every write synced to disk, no acknowledged post is lost,
// and retries complete the interrupted fan-outs.
func TestKilledWhilePosting(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always", `save ""`)
	before := on(t, server.Client(t))
	author := before.NewUser("author")
	var followers []social.User
	for i := range redistest.Cases(30, 250) {
		follower := before.NewUser(fmt.Sprintf("follower%d", i))
		before.Connect(follower, author)
		followers = append(followers, follower)
	}

	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), posterEnv+"="+server.URL())
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	acknowledged := map[int64]string{}
	read := func() bool {
		if !lines.Scan() {
			return false
		}
		id, body, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			t.Errorf("the poster printed %q", lines.Text())
			return false
		}
		acknowledged[n] = body
		return true
	}
	deaths := redistest.Cases(1, 3)
	for death := range deaths + 1 {
		for range 40 {
			if !read() {
				t.Fatal("the poster ended")
			}
		}
		if death == deaths {
			_ = program.Process.Kill()
			break
		}
		server.Restart(t, true)
	}
	for read() { // the output from before the kill
	}
	_ = program.Wait() // the error reports the kill

	b := on(t, server.Client(t), func(opt *app.Options) { opt.SessionIdle, opt.SessionMax = math.MaxInt64, math.MaxInt64 })
	for id, body := range acknowledged {
		posts, err := b.Posts.Posts(b.Ctx, id)
		if err != nil || len(posts) != 1 || posts[0].Body != body {
			t.Fatalf("post %d is %+v (%v), want the acknowledged %q", id, posts, err, body)
		}
	}
	interrupted := b.Redis("ZCARD", "tasks")
	now := b.Clock.Unix.Swap(1 << 33) // much later
	if err := b.RetryTasks(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Clock.Unix.Store(now) // to keep sessions open
	result := b.WantHealthy()
	t.Logf("%d posts acknowledged, none lost, in %d kills of the server and one of the program; %s interrupted fan-outs finished; %d posts stored",
		len(acknowledged), deaths, interrupted, result.Posts)
	want := b.Redis("LRANGE", "posts:1", "0", "499")
	for _, follower := range followers {
		if got := b.Redis("LRANGE", fmt.Sprintf("posts:%d", follower.ID), "0", "499"); got != want {
			t.Fatalf("the home timeline of %s differs from the home timeline of the author", follower.Name)
		}
	}
}
