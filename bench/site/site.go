// Package site measures Retwis: its pages, and posts on a Cluster.
package site

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
)

const password = "bench bench bench"

// site is a database, the web processes on the database, and logged-in users.
type site struct {
	client   rueidis.Client // of the database
	web      []*measure.Program
	names    []string           // usernames, one for each connection
	visitors []*measure.Visitor // the browsers of these users
}

// appendOnly is the persistence configuration of a production server.
var appendOnly = []string{"appendonly yes", "appendfsync everysec", "auto-aof-rewrite-percentage 0"}

// start fills a database, serves it with n processes, and logs users in. The caller must stop the
// site, even after an error.
func (s *site) start(ctx context.Context, binary, url string, n int, opt measure.Options, flags ...string) error {
	seed := exec.CommandContext(ctx, binary, "seed", "--redis", url, "--password", password,
		"--users", fmt.Sprint(opt.Users), "--follows", fmt.Sprint(20*opt.Users), "--posts", fmt.Sprint(10*opt.Users))
	seed.Stderr = os.Stderr
	if err := seed.Run(); err != nil {
		return fmt.Errorf("retwis seed: %w", err)
	}
	for range n {
		program, err := measure.Serve(binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--redis", url}, flags...)...)
		if err != nil {
			return err
		}
		s.web = append(s.web, program)
	}
	return s.logIn(ctx)
}

// logIn logs in a user for each connection.
func (s *site) logIn(ctx context.Context) (err error) {
	s.names, err = s.client.Do(ctx, s.client.B().Zrange().Key("users_by_time").Min("0").Max(fmt.Sprint(connections-1)).Build()).AsStrSlice()
	if err != nil {
		return err
	}
	if len(s.names) < connections {
		return fmt.Errorf("found %d users, need at least %d", len(s.names), connections)
	}
	for _, name := range s.names {
		v := measure.NewVisitor("http://"+s.web[0].Addr, "")
		if err := measure.Accepted(v.LogIn(ctx, name, password)); err != nil {
			return fmt.Errorf("log in as %s: %w", name, err)
		}
		v.HTTP.CloseIdleConnections()
		s.visitors = append(s.visitors, v)
	}
	return nil
}

// from returns a request for each connection, with the session of its user if signedIn.
func (s *site) from(signedIn bool, path, form string) (all []request) {
	for _, v := range s.visitors {
		r := request{path: path, form: form}
		if signedIn {
			r.cookie = v.Cookie("auth").Value
		}
		all = append(all, r)
	}
	return all
}

// waitIdle waits until all tasks are done, including fan-outs.
func (s *site) waitIdle(ctx context.Context) error {
	return measure.Wait(ctx, 2*time.Minute, "the fan-outs", func() bool {
		left, err := s.client.Do(ctx, s.client.B().Zcard().Key("tasks").Build()).AsInt64()
		return err == nil && left == 0
	})
}

func (s *site) stop() {
	for _, program := range s.web {
		program.Stop()
	}
	if s.client != nil {
		s.client.Close()
	}
}
