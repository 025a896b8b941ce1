package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"retwis/bench/measure"
	"retwis/internal/app"
	socialload "retwis/internal/social/load"
)

// pace is the interval of requests of each connection during a fan-out: 500
// requests per second in total.
const pace = connections * time.Second / 500

// postToMany posts as a user with many followers, and measures the cost for the server and
// for readers meanwhile.
func (s *site) postToMany(ctx context.Context, out io.Writer, opt measure.Options) error {
	readers, err := s.gather(ctx, opt.Followers)
	if err != nil {
		return err
	}
	toAll := func() error { return s.postToAll(ctx) }
	if err := toAll(); err != nil { // the first makes the timelines
		return err
	}
	var costs, elapsed, ratios []float64
	var idle, busy measure.Result // of the last round
	for range opt.Rounds {
		cost, err := measure.ServerTime(ctx, s.client, opt.Followers)(func() error {
			took, err := measure.Clock(1)(toAll)
			elapsed = append(elapsed, took)
			return err
		})
		if err != nil {
			return err
		}
		if idle, err = readers.during(ctx, opt.Length); err != nil {
			return err
		}
		if busy, err = beside(ctx, readers, opt.Length, toAll); err != nil {
			return err
		}
		costs, ratios = append(costs, cost), append(ratios, float64(busy.P99)/float64(idle.P99))
	}
	fmt.Fprintf(out, "## A post to %s followers\n\n", measure.Thousands(opt.Followers))
	measure.Head(out, "", "")
	fmt.Fprintf(out, `| server time for each follower | %.2f µs |
| until every follower has it | %.0f ms |
| p99 of other requests without a fan-out | %s |
| p99 of other requests during fan-outs | %s |
| ratio, median of %d rounds | **%.2f** |

The other requests read the second page of /home, which queries the server each time,
500 times per second.
`, measure.Median(costs), measure.Median(elapsed)/1e3,
		measure.Milliseconds(idle.P99), measure.Milliseconds(busy.P99), opt.Rounds, measure.Median(ratios))
	return nil
}

// gather gives the first user followers. It returns requests for pages after the first, which
// are not cached.
func (s *site) gather(ctx context.Context, followers int) (load, error) {
	readers := load{addr: s.addr, status: 200, pace: pace}
	service, err := app.New(s.client, app.Options{})
	if err != nil {
		return readers, err
	}
	defer service.Close()
	star, err := service.Users.UserByName(ctx, s.names[0])
	if err != nil {
		return readers, err
	}
	follows := make([]socialload.NewFollow, followers)
	for i := range follows {
		follows[i] = socialload.NewFollow{From: 1_000_000 + int64(i), To: star.ID, Time: time.Now()}
	}
	if err := socialload.New(service).AddFollows(ctx, follows); err != nil {
		return readers, err
	}
	// Pages after the first, which are not cached.
	for _, cookie := range s.cookies {
		page, err := service.Timelines.Home(ctx, star.ID, 0, 10)
		if err != nil {
			return readers, err
		}
		readers.requests = append(readers.requests, get(fmt.Sprintf("/home?before=%d", page.Next), cookie))
	}
	return readers, nil
}

// beside measures requests while something else is done again and again.
func beside(ctx context.Context, requests load, length time.Duration, other func() error) (measure.Result, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		var err error
		for reading.Err() == nil && err == nil {
			err = other()
		}
		done <- err
	}()
	r, err := requests.during(ctx, length)
	stop()
	return r, errors.Join(err, <-done)
}

// postToAll posts as the first user, and waits until all followers have the post.
func (s *site) postToAll(ctx context.Context) error {
	if err := once(ctx, s.addr, post("/post", s.cookies[0], "status=To+all+of+you."), 303); err != nil {
		return err
	}
	return s.idle(ctx)
}

// idle waits until no fan-out and no task is left.
func (s *site) idle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		left, err := s.client.Do(ctx, s.client.B().Zcard().Key("tasks").Build()).AsInt64()
		if err != nil {
			return fmt.Errorf("wait for the fan-outs: %w", err)
		}
		if left == 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}
