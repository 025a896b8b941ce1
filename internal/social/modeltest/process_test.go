package modeltest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redis/store"
	"retwis/internal/social"
	"retwis/internal/social/socialtest"
)

// If processEnv holds the URL of a database, the test binary runs actForever instead of tests.
const processEnv = "MODELTEST_PROCESS"

// names returns the names of the people.
func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("person%d", i)
	}
	return all
}

// process performs actions, either in this process or in another one.
type process interface {
	do(a action) (outcome, error)
}

// localProcess is an application in this process, with its own caches.
type localProcess struct {
	*socialtest.Bundle
	people []social.User
}

func (p *localProcess) do(a action) (outcome, error) {
	p.Clock.Unix.Store(a.At)
	return perform(p.Ctx, p.App, p.people, a), nil
}

// childProcess is a child process that runs actForever.
type childProcess struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *bufio.Scanner
}

func startChild(t testing.TB, url string) *childProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), processEnv+"="+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &childProcess{cmd: cmd, in: json.NewEncoder(in), out: bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	return c
}

// do performs an action. An error means that the process has died, and that the action has happened
// completely, partly or not at all.
func (c *childProcess) do(a action) (outcome, error) {
	if err := c.in.Encode(a); err != nil {
		return outcome{}, err
	}
	return c.reply()
}

func (c *childProcess) reply() (outcome, error) {
	var out outcome
	if !c.out.Scan() {
		return out, fmt.Errorf("the process ended: %w", c.out.Err())
	}
	return out, json.Unmarshal(c.out.Bytes(), &out)
}

// doAndDie starts an action and kills the process after a time.
func (c *childProcess) doAndDie(a action, after time.Duration) (outcome, error) {
	if err := c.in.Encode(a); err != nil {
		return outcome{}, err
	}
	for began := time.Now(); time.Since(began) < after; { // a timer is too coarse
	}
	_ = c.cmd.Process.Kill()
	out, err := c.reply()
	c.kill()
	return out, err
}

func (c *childProcess) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// actForever is the main function of a child process. actForever reads one action per line and
// writes one outcome per line.
func actForever(url string) {
	ctx := context.Background()
	db, err := store.Open(ctx, url, store.Options{Logger: socialtest.Quiet()})
	if err != nil {
		panic(err)
	}
	var clock socialtest.Clock
	service, err := app.New(db.Client(), app.Options{
		Logger: socialtest.Quiet(), Now: clock.Now, HashParams: socialtest.CheapHash, Invalidations: db.Invalidations(),
		CelebrityFollowers: celebrity,
	})
	if err != nil {
		panic(err)
	}
	var people []social.User
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var a action
		if err := in.Decode(&a); err != nil {
			os.Exit(0) // the parent has exited
		}
		clock.Unix.Store(a.At)
		for _, name := range names(crowd)[len(people):] {
			user, err := service.Users.UserByName(ctx, name)
			if err != nil {
				panic(err)
			}
			people = append(people, user)
		}
		if err := out.Encode(perform(ctx, service, people, a)); err != nil {
			os.Exit(0)
		}
	}
}
