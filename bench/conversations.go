package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

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
	cost []float64 // µs of the server for one, by round
}

// measureConversations measures what the server computes for what people do with posts,
// through one process with all of its caches.
func measureConversations(ctx context.Context, dir string, opt options) (text string, err error) {
	err = onServer(ctx, dir, "conversations", func(client rueidis.Client) error {
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		db, err := store.Open(ctx, "unix://"+filepath.Join(dir, "conversations", "redis.sock"), store.Options{Logger: log})
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
		for range opt.rounds {
			for _, action := range actions {
				if err := action.round(ctx, client); err != nil {
					return fmt.Errorf("%s: %w", action.name, err)
				}
			}
		}
		text = talkReport(opt, actions)
		fmt.Print(text)
		return nil
	})
	return text, err
}

// talkActions returns what is measured, in an order in which each has something to do:
// post i is by user i modulo talkers.
func talkActions(ctx context.Context, s *app.App) ([]*talkAction, error) {
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
	return []*talkAction{
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

// round does an action with every post, from several callers at once.
func (a *talkAction) round(ctx context.Context, client rueidis.Client) error {
	before, err := serverSeconds(ctx, client)
	if err != nil {
		return err
	}
	var next atomic.Int64
	var callers sync.WaitGroup
	failed := make(chan error, talkCallers)
	for range talkCallers {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < talkPosts; i = int(next.Add(1)) - 1 {
				if err := a.do(ctx, i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	callers.Wait()
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	after, err := serverSeconds(ctx, client)
	a.cost = append(a.cost, (after-before)/talkPosts*1e6)
	return err
}

func talkReport(opt options, actions []*talkAction) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Conversations

What the server computes for what people do with posts, its sockets included
(`+"`used_cpu`"+`): %s of each action by %d users, from %d callers at once, through one
process with all of its caches. Medians of %d rounds, in turn.

| | time of the server each |
| --- | ---: |
`, thousands(talkPosts), talkers, talkCallers, opt.rounds)
	for _, action := range actions {
		fmt.Fprintf(&b, "| %s | %.1f µs |\n", action.name, medianNumber(action.cost))
	}
	return b.String()
}
