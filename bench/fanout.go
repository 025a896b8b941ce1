package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/internal/app"
	socialload "retwis/internal/social/load"
)

// fanResult is what a post to very many followers costs.
type fanResult struct {
	perFollower float64       // µs of the server's time
	elapsed     time.Duration // until all followers have it
	idle, busy  result        // other requests, without and during a fan-out
	ratio       float64       // of their p99
}

// pace is the interval of requests of each connection during a fan-out: 500
// requests per second in total.
const pace = connections * time.Second / 500

// measureFanOut posts as a user with many followers, and measures the cost for
// the server and for readers meanwhile.
func measureFanOut(ctx context.Context, s *site, opt options) (fanResult, error) {
	service, err := app.New(s.client, app.Options{})
	if err != nil {
		return fanResult{}, err
	}
	defer service.Close()
	star, err := service.Users.UserByName(ctx, s.names[0])
	if err != nil {
		return fanResult{}, err
	}
	follows := make([]socialload.NewFollow, opt.followers)
	for i := range follows {
		follows[i] = socialload.NewFollow{From: 1_000_000 + int64(i), To: star.ID, Time: time.Now()}
	}
	if err := socialload.New(service).AddFollows(ctx, follows); err != nil {
		return fanResult{}, err
	}
	// Pages after the first, which are not cached.
	var readers []request
	for _, cookie := range s.cookies {
		page, err := service.Timelines.Home(ctx, star.ID, 0, 10)
		if err != nil {
			return fanResult{}, err
		}
		readers = append(readers, get(fmt.Sprintf("/home?before=%d", page.Next), cookie))
	}
	if _, _, err := s.fanOut(ctx); err != nil { // the first makes the timelines
		return fanResult{}, err
	}
	var fan fanResult
	var costs, ratios []float64
	for range opt.rounds {
		cost, elapsed, err := s.fanOut(ctx)
		if err != nil {
			return fanResult{}, err
		}
		idle, err := load(ctx, s.addr, readers, 200, opt.length, pace)
		if err != nil {
			return fanResult{}, err
		}
		busy, err := s.readWhileFanningOut(ctx, readers, opt)
		if err != nil {
			return fanResult{}, err
		}
		costs = append(costs, cost/float64(opt.followers))
		ratios = append(ratios, float64(busy.p99)/float64(idle.p99))
		fan.idle, fan.busy, fan.elapsed = idle, busy, elapsed
	}
	slices.Sort(costs)
	slices.Sort(ratios)
	fan.perFollower, fan.ratio = costs[len(costs)/2], ratios[len(ratios)/2]
	fmt.Printf("a post to %d followers: %.2f µs each, %v in total; p99 of other requests %v without and %v during it, ratio %.2f\n",
		opt.followers, fan.perFollower, fan.elapsed, fan.idle.p99, fan.busy.p99, fan.ratio)
	return fan, nil
}

// readWhileFanningOut measures reads during one fan-out after the other.
func (s *site) readWhileFanningOut(ctx context.Context, readers []request, opt options) (result, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		var err error
		for reading.Err() == nil && err == nil {
			_, _, err = s.fanOut(ctx)
		}
		done <- err
	}()
	busy, err := load(ctx, s.addr, readers, 200, opt.length, pace)
	stop()
	return busy, errors.Join(err, <-done)
}

// fanOut posts as the star and waits until all followers have the post. cost is
// the server's time in µs for the scripts that read the followers and write the
// timelines.
func (s *site) fanOut(ctx context.Context) (cost float64, elapsed time.Duration, err error) {
	before, err := s.scriptTime(ctx)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if _, err := drive(ctx, s.addr, post("/post", s.cookies[0], "status=To+all+of+you."), 303, began, onlyOnce); err != nil {
		return 0, 0, err
	}
	for {
		left, err := s.client.Do(ctx, s.client.B().Zcard().Key("fanouts").Build()).AsInt64()
		if err != nil {
			return 0, 0, err
		}
		if left == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	elapsed = time.Since(began)
	after, err := s.scriptTime(ctx)
	return after - before, elapsed, err
}

// scriptTime returns the server's time spent in scripts, in µs.
func (s *site) scriptTime(ctx context.Context) (float64, error) {
	info, err := s.client.Do(ctx, s.client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		return 0, err
	}
	var sum float64
	for line := range strings.Lines(info) {
		name, stats, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "cmdstat_evalsha" && name != "cmdstat_eval" {
			continue
		}
		_, usec, _ := strings.Cut(stats, "usec=")
		usec, _, _ = strings.Cut(usec, ",")
		n, err := strconv.ParseFloat(usec, 64)
		if err != nil {
			return 0, fmt.Errorf("commandstats: %q", line)
		}
		sum += n
	}
	return sum, nil
}
