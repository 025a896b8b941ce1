package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/internal/app"
	"retwis/internal/social"
	socialload "retwis/internal/social/load"
)

const (
	// liveConnections is how many pages are open, and liveFollowers how many of them
	// are home timelines of followers of the author.
	liveConnections = 10_000
	liveFollowers   = 1000
	// livePosts is how many posts are published in each round.
	livePosts = 30
)

// measureLive measures what open pages cost, and how soon they show a post.
func measureLive(ctx context.Context, dir string, opt options) (string, error) {
	opt.users = max(opt.users, liveFollowers+1+2*connections)
	s, err := startSite(ctx, filepath.Join(dir, "retwis"), dir, opt)
	if err != nil {
		return "", err
	}
	defer s.stop()
	service, err := app.New(s.client, app.Options{})
	if err != nil {
		return "", err
	}
	defer service.Close()
	author, cookies, others, err := s.followers(ctx, service)
	if err != nil {
		return "", err
	}
	var readers []request
	for _, cookie := range others {
		readers = append(readers, get("/home", cookie))
	}
	if _, err := load(ctx, s.addr, readers, 200, opt.length, pace); err != nil {
		return "", err
	}
	before, err := residentOf(s.program.Process.Pid)
	if err != nil {
		return "", err
	}
	open, err := startPages(ctx, s.addr, cookies)
	defer open.close()
	if err != nil {
		return "", err
	}
	time.Sleep(3 * time.Second)
	after, err := residentOf(s.program.Process.Pid)
	if err != nil {
		return "", err
	}
	var delays []time.Duration
	var p99s, ratios []float64
	for range opt.rounds {
		idle, err := load(ctx, s.addr, readers, 200, opt.length, pace)
		if err != nil {
			return "", err
		}
		busy := make(chan result, 1)
		failed := make(chan error, 1)
		go func() {
			r, err := load(ctx, s.addr, readers, 200, opt.length, pace)
			busy <- r
			failed <- err
		}()
		round, err := open.publish(ctx, service, author, opt.length)
		if err != nil {
			return "", err
		}
		r := <-busy
		if err := <-failed; err != nil {
			return "", err
		}
		slices.Sort(round)
		delays = append(delays, round...)
		p99s = append(p99s, float64(round[len(round)*99/100])/float64(time.Millisecond))
		ratios = append(ratios, float64(r.p99)/float64(idle.p99))
	}
	slices.Sort(delays)
	slices.Sort(p99s)
	slices.Sort(ratios)
	each := float64(after-before) / liveConnections
	p50 := float64(delays[len(delays)/2]) / float64(time.Millisecond)
	p99, ratio := p99s[len(p99s)/2], ratios[len(ratios)/2]
	fmt.Printf("%d open pages: %.1f MB more (%.1f KB each), %.1f MB in total; a post reaches %d followers: p50 %.1f ms, p99 %.1f ms; p99 of /home %.2f times that without posts\n",
		liveConnections, float64(after-before)/1e6, each/1e3, float64(after)/1e6, liveFollowers, p50, p99, ratio)
	return fmt.Sprintf(`## Open pages

%d pages are open, %d of them home timelines of followers of one author, each of
another user; the others are pages of a tag. The memory is the resident set of the
process that serves them, on top of what it took before they were opened. A post's delay runs
from the call that publishes it, fan-out included, until a follower's page has the
event. The requests meanwhile are for home timelines of people who do not follow that
author, 200 a second. The pages are open in another process, which has one processor at
most and the lowest priority: it stands for the machines of the readers. Medians of %d rounds.

| | |
| --- | --- |
| memory of %d open pages | %.1f MB, %.1f KB each |
| memory of the process then | %.1f MB |
| a post reaches %d followers, p50 | %.1f ms |
| p99 | %.1f ms |
| p99 of `+"`/home`"+` meanwhile, times that without posts | %.2f |
`, liveConnections, liveFollowers, opt.rounds, liveConnections, float64(after-before)/1e6, each/1e3, float64(after)/1e6,
		liveFollowers, p50, p99, ratio), nil
}

// followers makes users follow an author, and returns a session of each, and sessions of
// others who do not.
func (s *site) followers(ctx context.Context, service *app.App) (author social.User, followers, others []string, err error) {
	names, err := s.client.Do(ctx, s.client.B().Zrange().Key("users_by_time").Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return author, nil, nil, err
	}
	if author, err = service.Users.UserByName(ctx, names[0]); err != nil {
		return author, nil, nil, err
	}
	var follows []socialload.NewFollow
	for _, name := range names[1:] {
		user, err := service.Users.UserByName(ctx, name)
		if err != nil {
			return author, nil, nil, err
		}
		isFollower := len(follows) < liveFollowers
		if isFollower {
			follows = append(follows, socialload.NewFollow{From: user.ID, To: author.ID, Time: time.Now()})
		} else if follows, err := service.Follows.IsFollowing(ctx, user.ID, author.ID); err != nil {
			return author, nil, nil, err
		} else if follows {
			continue
		}
		secret, err := s.openSession(ctx, user.ID)
		if err != nil {
			return author, nil, nil, err
		}
		if isFollower {
			followers = append(followers, secret)
		} else if others = append(others, secret); len(others) == connections {
			break
		}
	}
	if len(others) < connections {
		return author, nil, nil, fmt.Errorf("only %d people do not follow %s", len(others), author.Name)
	}
	return author, followers, others, socialload.New(service).AddFollows(ctx, follows)
}

// openSession writes a session of a user.
func (s *site) openSession(ctx context.Context, uid int64) (secret string, err error) {
	secret = fmt.Sprintf("%043d", uid) // as long as a real one
	sum := sha256.Sum256([]byte(secret))
	hash, id := hex.EncodeToString(sum[:]), strconv.FormatInt(uid, 10)
	for _, res := range s.client.DoMulti(ctx,
		s.client.B().Hset().Key("auths").FieldValue().FieldValue(hash, id).Build(),
		s.client.B().Hset().Key("user:"+id).FieldValue().FieldValue("auth", hash).Build(),
	) {
		if err := res.Error(); err != nil {
			return "", err
		}
	}
	return secret, nil
}

// residentOf returns the resident set of a process, in bytes.
func residentOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kb << 10, err
}

// openPages is a process that has pages open which follow events.
type openPages struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// startPages opens the pages: of the home timeline with each of these sessions, and of a
// tag.
func startPages(ctx context.Context, addr string, cookies []string) (*openPages, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// At the lowest priority: elsewhere these pages take no processor from the site.
	cmd := exec.CommandContext(ctx, "nice", "-n", "19", self, openPagesMode, addr)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &openPages{process: cmd, in: in, out: bufio.NewScanner(out)}
	if _, err := fmt.Fprintln(in, strings.Join(cookies, ",")); err != nil {
		return p, err
	}
	_, err = p.line()
	return p, err
}

func (p *openPages) line() (string, error) {
	if !p.out.Scan() {
		return "", fmt.Errorf("the process of the open pages ended: %w", cmp.Or(p.out.Err(), io.ErrUnexpectedEOF))
	}
	return p.out.Text(), nil
}

// publish publishes posts during a time, and returns the delay of each to each
// follower.
func (p *openPages) publish(ctx context.Context, service *app.App, author social.User, length time.Duration) ([]time.Duration, error) {
	published := map[int64]time.Time{}
	for range livePosts {
		began := time.Now()
		post, err := service.Posts.Post(ctx, author, "To all of you who are here.")
		if err != nil {
			return nil, err
		}
		published[post.ID] = began
		time.Sleep(max(0, length/livePosts-time.Since(began)))
	}
	if _, err := fmt.Fprintln(p.in, livePosts*liveFollowers); err != nil {
		return nil, err
	}
	all := make([]time.Duration, 0, livePosts*liveFollowers)
	for range cap(all) {
		line, err := p.line()
		if err != nil {
			return nil, err
		}
		var id, at int64
		if _, err := fmt.Sscan(line, &id, &at); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all = append(all, time.Unix(0, at).Sub(published[id]))
	}
	return all, nil
}

func (p *openPages) close() {
	if p != nil {
		_ = p.in.Close()
		_ = p.process.Wait()
	}
}
