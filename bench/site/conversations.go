package site

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/internal/app"
	"retwis/internal/redis/store"
	"retwis/internal/social"
	socialload "retwis/internal/social/load"
)

const (
	talkers     = 200
	talkPosts   = 4000 // and as many of each action, a round
	talkCallers = 16
)

// talkAction is something that people do with posts.
type talkAction struct {
	name string
	do   func(ctx context.Context, i int) error
}

// Conversations measures what the server computes for what people do with posts,
// through one process with all of its caches.
func Conversations(ctx context.Context, opt measure.Options) (text string, err error) {
	err = measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, socket string) error {
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		db, err := store.Open(ctx, "unix://"+socket, store.Options{Logger: log})
		if err != nil {
			return err
		}
		defer db.Close()
		service, err := app.New(db.Client(), app.Options{Logger: log, Invalidations: db.Invalidations()})
		if err != nil {
			return err
		}
		defer service.Close()
		actions, err := talkActions(ctx, service)
		if err != nil {
			return err
		}
		costs, err := measure.InTurn(opt.Rounds, actions, func(action talkAction, _ int) (float64, error) {
			micros, err := measure.ServerTime(ctx, client, talkPosts)(func() error {
				return measure.Concurrently(talkCallers, talkPosts, func(i int) error { return action.do(ctx, i) })
			})
			if err != nil {
				err = fmt.Errorf("%s: %w", action.name, err)
			}
			return micros, err
		})
		if err != nil {
			return err
		}
		text = talkReport(opt, actions, costs)
		return nil
	})
	return text, err
}

// talkActions returns what is measured, in an order in which each has something to do:
// post i is by user i modulo talkers.
func talkActions(ctx context.Context, s *app.App) ([]talkAction, error) {
	var people []socialload.NewUser
	for i := range talkers {
		people = append(people, socialload.NewUser{Name: fmt.Sprintf("talker%d", i), PasswordHash: "none", Joined: time.Now()})
	}
	users, err := socialload.New(s).AddUsers(ctx, people)
	if err != nil {
		return nil, err
	}
	var ids [talkPosts]int64
	for i := range ids {
		post, err := s.Posts.Post(ctx, users[i%talkers], "Hello from here.")
		if err != nil {
			return nil, err
		}
		ids[i] = post.ID
	}
	author := func(i int) social.User { return users[i%talkers] }
	other := func(i int) social.User { return users[(i+1+i/talkers)%talkers] }
	type act = func(ctx context.Context, user social.User, id int64) error
	on := func(user func(int) social.User, do act) func(context.Context, int) error {
		return func(ctx context.Context, i int) error { return do(ctx, user(i), ids[i]) }
	}
	relate := func(do func(ctx context.Context, from, to social.User) error) func(context.Context, int) error {
		return func(ctx context.Context, i int) error { return do(ctx, other(i), author(i)) }
	}
	return []talkAction{
		{name: "like an own post", do: on(author, s.Reactions.Like)},
		{name: "unlike it", do: on(author, s.Reactions.Unlike)},
		{name: "like, and notify the author", do: on(other, s.Reactions.Like)},
		{name: "like what one likes already", do: on(other, s.Reactions.Like)},
		{name: "unlike, and remove the notification", do: on(other, s.Reactions.Unlike)},
		{name: "bookmark", do: on(other, s.Reactions.Bookmark)},
		{name: "remove a bookmark", do: on(other, s.Reactions.Unbookmark)},
		{name: "mute", do: relate(func(ctx context.Context, from, to social.User) error {
			return s.Relations.Mute(ctx, from, to, time.Time{})
		})},
		{name: "unmute", do: relate(s.Relations.Unmute)},
		{name: "post", do: func(ctx context.Context, i int) error {
			_, err := s.Posts.Post(ctx, author(i), "Hello from here.")
			return err
		}},
		{name: "reply to an own post", do: func(ctx context.Context, i int) error {
			_, err := s.Posts.Reply(ctx, author(i), ids[i], "Hello from here.")
			return err
		}},
	}, nil
}

func talkReport(opt measure.Options, actions []talkAction, costs [][]float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Conversations

What the server computes for what people do with posts, its sockets included
(`+"`used_cpu`"+`): %s of each action by %d users, from %d callers at once, through one
process with all of its caches. Medians of %d rounds, in turn.

`, measure.Thousands(talkPosts), talkers, talkCallers, opt.Rounds)
	measure.Head(&b, "", "time of the server each")
	for i, action := range actions {
		fmt.Fprintf(&b, "| %s | %.1f µs |\n", action.name, measure.Median(costs[i]))
	}
	return b.String()
}
