package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redis/store"
	"retwis/internal/social"
	socialload "retwis/internal/social/load"
)

const (
	threadReplies = 1000
	threadPeople  = 200
	threadWarm    = 200 // pages a round
)

// measureThreads measures a page of a conversation: cold, in a process that has read
// nothing before, and warm.
func measureThreads(ctx context.Context, dir string, opt options) (text string, err error) {
	err = onServer(ctx, dir, "threads", func(rueidis.Client) error {
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		serve := func(use func(*app.App) error) error {
			db, err := store.Open(ctx, "unix://"+filepath.Join(dir, "threads", "redis.sock"), store.Options{Logger: log})
			if err != nil {
				return err
			}
			defer db.Close()
			service, err := app.New(db.Client(), app.Options{Logger: log, Invalidations: db.Invalidations()})
			if err != nil {
				return err
			}
			defer service.Close()
			return use(service)
		}
		var root int64
		err := serve(func(s *app.App) error {
			var err error
			root, err = writeThread(ctx, s)
			return err
		})
		if err != nil {
			return err
		}
		var cold, warm []float64
		for range max(3, opt.rounds) {
			err := serve(func(s *app.App) error {
				began := time.Now()
				if err := readThread(ctx, s, root); err != nil {
					return err
				}
				cold = append(cold, time.Since(began).Seconds()*1e3)
				began = time.Now()
				for range threadWarm {
					if err := readThread(ctx, s, root); err != nil {
						return err
					}
				}
				warm = append(warm, time.Since(began).Seconds()*1e3/threadWarm)
				return nil
			})
			if err != nil {
				return err
			}
		}
		text = fmt.Sprintf(`## A conversation of %s replies

Its first page of 200, as a person who is logged in sees it: cold, in a process that has
read nothing before, and again. Medians of %d processes.

| | time |
| --- | ---: |
| cold | %.1f ms |
| warm | %.2f ms |
`, thousands(threadReplies), len(cold), medianNumber(cold), medianNumber(warm))
		fmt.Print(text)
		return nil
	})
	return text, err
}

// writeThread writes a conversation in which each reply is to a random earlier post.
func writeThread(ctx context.Context, s *app.App) (root int64, err error) {
	var people []socialload.NewUser
	for i := range threadPeople {
		people = append(people, socialload.NewUser{Name: fmt.Sprintf("talker%d", i), PasswordHash: "none", Joined: time.Now()})
	}
	users, err := socialload.New(s).AddUsers(ctx, people)
	if err != nil {
		return 0, err
	}
	post, err := s.Posts.Post(ctx, users[0], "What do you think?")
	if err != nil {
		return 0, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	ids := []int64{post.ID}
	for i := range threadReplies {
		reply, err := s.Posts.Reply(ctx, users[i%threadPeople], ids[random.IntN(len(ids))], "I think so too.")
		if err != nil {
			return 0, err
		}
		ids = append(ids, reply.ID)
	}
	return post.ID, nil
}

func readThread(ctx context.Context, s *app.App, root int64) error {
	user, err := s.Users.UserByName(ctx, "talker1")
	if err != nil {
		return err
	}
	v, err := s.Viewers.Get(ctx, user)
	if err != nil {
		return err
	}
	thread, err := s.Threads.Get(ctx, v, root, 0, social.MaxPage)
	if err == nil && len(thread.Replies) != social.MaxPage {
		err = fmt.Errorf("a page of %d replies", len(thread.Replies))
	}
	return err
}
