package site

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/bench/measure"
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

// Live measures what open pages cost, and how soon they show a post.
func Live(ctx context.Context, opt measure.Options) (string, error) {
	opt.Users = max(opt.Users, liveFollowers+1+2*connections)
	s, err := startSite(ctx, opt, connections)
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
	readers := load{addr: s.addr, status: 200, pace: pace}
	for _, cookie := range others {
		readers.requests = append(readers.requests, get("/home", cookie))
	}
	if _, err := readers.during(ctx, opt.Length); err != nil {
		return "", err
	}
	before, err := measure.Resident(s.program.Process.Pid)
	if err != nil {
		return "", err
	}
	open, err := startPages(ctx, s.addr, cookies)
	defer open.close()
	if err != nil {
		return "", err
	}
	time.Sleep(3 * time.Second)
	after, err := measure.Resident(s.program.Process.Pid)
	if err != nil {
		return "", err
	}
	delays, err := liveRounds(ctx, opt, readers, func() ([]time.Duration, error) {
		return open.publish(ctx, service, author, opt.Length)
	})
	if err != nil {
		return "", err
	}
	return liveText(opt, after-before, after, delays), nil
}

// liveDelays are how long posts take to all followers.
type liveDelays struct {
	all    []time.Duration
	p99s   []float64 // ms, of each round
	ratios []float64 // p99 of other requests meanwhile, to that without posts
}

// liveRounds publishes posts, beside requests.
func liveRounds(ctx context.Context, opt measure.Options, readers load, publish func() ([]time.Duration, error)) (d liveDelays, err error) {
	for range opt.Rounds {
		idle, err := readers.during(ctx, opt.Length)
		if err != nil {
			return d, err
		}
		var busy measure.Result
		read := make(chan error, 1)
		go func() {
			var err error
			busy, err = readers.during(ctx, opt.Length)
			read <- err
		}()
		round, err := publish()
		if err = errors.Join(err, <-read); err != nil {
			return d, err
		}
		slices.Sort(round)
		d.all = append(d.all, round...)
		d.p99s = append(d.p99s, float64(round[len(round)*99/100])/float64(time.Millisecond))
		d.ratios = append(d.ratios, float64(busy.P99)/float64(idle.P99))
	}
	return d, nil
}

// liveText reports what the open pages added to the bytes of a process, and how many it has
// with them.
func liveText(opt measure.Options, added, total float64, d liveDelays) string {
	return fmt.Sprintf(`## Open pages

%d pages are open, %d of them home timelines of followers of one author, each of
another user; the others are pages of a tag. The memory is the resident set of the
process that serves them, on top of what it took before they were opened. A post's delay runs
from the call that publishes it, fan-out included, until a follower's page has the
event. The requests meanwhile are for home timelines of people who do not follow that
author, 500 a second. The pages are open in another process, which has one processor at
most and the lowest priority: it stands for the machines of the readers. Medians of %d rounds.

| | |
| --- | --- |
| memory of %d open pages | %.1f MB, %.1f KB each |
| memory of the process then | %.1f MB |
| a post reaches %d followers, p50 | %.1f ms |
| p99 | %.1f ms |
| p99 of `+"`/home`"+` meanwhile, times that without posts | %.2f |
`, liveConnections, liveFollowers, opt.Rounds, liveConnections, added/1e6, added/liveConnections/1e3, total/1e6,
		liveFollowers, float64(measure.Median(d.all))/float64(time.Millisecond), measure.Median(d.p99s), measure.Median(d.ratios))
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
	random, id := fmt.Sprintf("%043d", uid), strconv.FormatInt(uid, 10) // as long as a real one
	sum := sha256.Sum256([]byte(random))
	err = s.client.Do(ctx, s.client.B().Hset().Key("user:"+id).FieldValue().FieldValue("auth", hex.EncodeToString(sum[:])).Build()).Error()
	return id + "." + random, err
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
