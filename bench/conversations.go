package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/redis/rueidis"

	"retwis/internal/social"
)

const (
	talkWriters   = 16   // concurrent callers
	talkPosts     = 2000 // a round
	talkFollowers = 20   // of the author; half of them follow the other author too
	talkHome      = 1000 // posts on the home timeline that a follow fills
)

// measureConversations measures what replies, reposts and follows cost the server.
func measureConversations(ctx context.Context, dir string, opt options) (text string, err error) {
	err = onServer(ctx, dir, "conversations", func(client rueidis.Client) error {
		b := &talkBench{client: client, costs: map[string][]float64{}}
		if err := b.prepare(ctx); err != nil {
			return err
		}
		defer b.service.Close()
		for range opt.rounds {
			if err := b.round(ctx); err != nil {
				return err
			}
		}
		text = b.report(opt)
		return nil
	})
	return text, err
}

// talkBench is a small network of people who talk.
type talkBench struct {
	client        rueidis.Client
	service       *social.Service
	ada, bob, fan social.User
	costs         map[string][]float64 // µs of the server for each action, by round
	posts         []int64              // of the last round, by ada
}

func (b *talkBench) prepare(ctx context.Context) (err error) {
	b.service, err = social.New(b.client, social.Options{
		Logger:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		HashParams: &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 8, KeyLength: 16},
	})
	if err != nil {
		return err
	}
	register := func(name string) (user social.User) {
		var session social.Session
		if err == nil {
			session, err = b.service.Register(ctx, name, password)
		}
		return session.User
	}
	b.ada, b.bob, b.fan = register("ada"), register("bob"), register("fan")
	for i := range talkFollowers {
		follower := register(fmt.Sprint("follower", i))
		if err != nil {
			return err
		}
		if err := b.service.Follow(ctx, follower, b.bob); err != nil {
			return err
		}
		if i%2 == 0 {
			if err := b.service.Follow(ctx, follower, b.ada); err != nil {
				return err
			}
		}
	}
	for range talkHome {
		if _, err := b.service.Post(ctx, b.fan, "on the home timeline already"); err != nil {
			return err
		}
	}
	return err
}

func (b *talkBench) round(ctx context.Context) error {
	posts := make([]int64, talkPosts)
	err := b.measure(ctx, "post", talkPosts, func(i int) error {
		post, err := b.service.Post(ctx, b.ada, "What do you think?")
		posts[i] = post.ID
		return err
	})
	if err == nil {
		err = b.measure(ctx, "post of the other", talkPosts, func(int) error {
			_, err := b.service.Post(ctx, b.bob, "I think so too.")
			return err
		})
	}
	if err == nil {
		err = b.measure(ctx, "reply", talkPosts, func(i int) error {
			_, err := b.service.Reply(ctx, b.bob, posts[i], "I think so too.")
			return err
		})
	}
	if err == nil {
		err = b.measure(ctx, "repost", talkPosts, func(i int) error {
			_, err := b.service.Repost(ctx, b.bob, posts[i])
			return err
		})
	}
	const follows = 50
	for range follows {
		if err == nil {
			err = b.measure(ctx, "follow", 1, func(int) error { return b.service.Follow(ctx, b.fan, b.ada) })
		}
		if err == nil {
			err = b.measure(ctx, "unfollow", 1, func(int) error { return b.service.Unfollow(ctx, b.fan, b.ada) })
		}
	}
	return err
}

// measure adds the server's time for each of n actions.
func (b *talkBench) measure(ctx context.Context, name string, n int, do func(i int) error) error {
	before, err := serverSeconds(ctx, b.client)
	if err != nil {
		return err
	}
	errs := make([]error, talkWriters)
	var wg sync.WaitGroup
	for w := range talkWriters {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += talkWriters {
				errs[w] = do(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for { // until the fan-outs are finished too
		left, err := b.client.Do(ctx, b.client.B().Exists().Key("fanouts", "tasks").Build()).AsInt64()
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	after, err := serverSeconds(ctx, b.client)
	b.costs[name] = append(b.costs[name], (after-before)/float64(n)*1e6)
	return err
}

func (b *talkBench) report(opt options) string {
	cost := func(name string) float64 { return medianValue(b.costs[name]) }
	mean := func(name string) float64 { // of single actions, shorter than what the server's clock shows
		sum := 0.0
		for _, c := range b.costs[name] {
			sum += c
		}
		return sum / float64(len(b.costs[name]))
	}
	var text strings.Builder
	fmt.Fprintf(&text, `## Conversations

What an action costs the server: its CPU, all commands included. The author has %d
followers; half of them follow the other person too. Medians of %d rounds of %s
actions by %d callers.

| | µs of the server |
| --- | ---: |
| post | %.1f |
| reply | %.1f |
| repost | %.1f |
| follow that fills a home timeline of %s posts with %d others | %.0f |
| unfollow that clears it | %.0f |

A reply costs **%.1f µs** more than a post by the same author.
`, talkFollowers, opt.rounds, thousands(talkPosts), talkWriters,
		cost("post of the other"), cost("reply"), cost("repost"), thousands(talkHome), 100, mean("follow"), mean("unfollow"),
		cost("reply")-cost("post of the other"))
	return text.String()
}
