package site

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
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
	suggestUsers = 100_000
	suggestLists = 1000 // a round and a side
	suggestPosts = 2000
	community    = 1000 // users who follow each other more than others
	// manyFollows is how many people some users follow, the first suggestBusy.
	manyFollows = 5000
	suggestBusy = 20
)

// suggestSide is a kind of viewer, and how their suggestions are read.
type suggestSide struct {
	name string
	// viewer returns the id of viewer i in a round; see crowd for the ids.
	viewer func(round, i int) int64
	again  bool // the candidates are found again each time
}

// suggestCost is what the suggestions of one side cost in a round.
type suggestCost struct {
	measure.Result
	server float64 // µs of the server for each list
}

// WhoToFollow measures the suggestions of people to follow, through one process with all of
// its caches.
func WhoToFollow(ctx context.Context, opt measure.Options) (text string, err error) {
	err = measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, socket string) error {
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		db, err := store.Open(ctx, "unix://"+socket, store.Options{Logger: log})
		if err != nil {
			return err
		}
		defer db.Close()
		server := db.ClientOption()
		service, err := app.New(db.Client(), app.Options{Logger: log, Invalidations: db.Invalidations(), Server: &server})
		if err != nil {
			return err
		}
		defer service.Close()
		if err := suggestNetwork(ctx, service); err != nil {
			return err
		}
		ranking, err := measure.ServerTime(ctx, client, 1)(func() error { return service.Suggestions.Refresh(ctx) })
		if err != nil {
			return err
		}
		sides := suggestSides()
		costs, err := measure.InTurn(opt.Rounds, sides, func(side suggestSide, round int) (suggestCost, error) {
			return side.measure(ctx, service, client, round)
		})
		if err != nil {
			return err
		}
		text = suggestReport(opt, sides, costs, ranking)
		return nil
	})
	return text, err
}

// suggestNetwork writes users, follows and posts by mass insertion: half of the follows are
// within a community, the others prefer people with a small number, as they prefer celebrities.
func suggestNetwork(ctx context.Context, service *app.App) error {
	loader, rng, now := socialload.New(service), rand.New(rand.NewPCG(1, 2)), time.Now()
	people := make([]socialload.NewUser, suggestUsers)
	for i := range people {
		people[i] = socialload.NewUser{Name: fmt.Sprintf("person%d", i), PasswordHash: "none", Joined: now}
	}
	users, err := loader.AddUsers(ctx, people)
	if err != nil {
		return err
	}
	var follows []socialload.NewFollow
	for i, user := range users {
		n := 10 + rng.IntN(81)
		if i < suggestBusy {
			n = manyFollows
		}
		for j := range n {
			to := i/community*community + rng.IntN(community)
			if j%2 == 0 {
				x := rng.Float64()
				to = int(x * x * x * suggestUsers)
			}
			if to != i {
				follows = append(follows, socialload.NewFollow{From: user.ID, To: users[to].ID, Time: now.Add(-time.Duration(rng.IntN(1e6)) * time.Second)})
			}
		}
	}
	for chunk := range slices.Chunk(follows, 500_000) {
		if err := loader.AddFollows(ctx, chunk); err != nil {
			return err
		}
	}
	posts := make([]socialload.NewPost, suggestPosts)
	for i := range posts {
		posts[i] = socialload.NewPost{Author: users[rng.IntN(suggestUsers)].ID, Time: now, Body: fmt.Sprintf("Hello from here. #topic%d", rng.IntN(50))}
	}
	_, err = loader.AddPosts(ctx, posts)
	return err
}

func suggestSides() []suggestSide {
	first := func(round, i int) int64 { return int64(1 + suggestBusy + round*suggestLists + i) }
	return []suggestSide{
		{name: "follows 10 to 90 people, first page", viewer: first},
		{name: "the same within a minute", viewer: first},
		{name: fmt.Sprintf("follows %s people, found again", measure.Thousands(manyFollows)), viewer: func(_, i int) int64 { return int64(1 + i%suggestBusy) }, again: true},
		{name: "follows nobody, first page", viewer: func(round, i int) int64 { return int64(2*suggestUsers + round*suggestLists + i) }},
	}
}

// measure reads the suggestions of many viewers, one after the other.
func (s suggestSide) measure(ctx context.Context, service *app.App, client rueidis.Client, round int) (suggestCost, error) {
	viewers := make([]*social.Viewer, suggestLists)
	for i := range viewers {
		var err error
		if viewers[i], err = service.Viewers.Get(ctx, social.User{ID: s.viewer(round, i)}); err != nil {
			return suggestCost{}, err
		}
	}
	took := make([]time.Duration, len(viewers))
	var cost suggestCost
	began := time.Now()
	server, err := measure.ServerTime(ctx, client, len(viewers))(func() error {
		for i, v := range viewers {
			if s.again {
				service.Suggestions.Invalidate(v.User.ID)
			}
			start := time.Now()
			list, err := service.Suggestions.Get(ctx, v, 20)
			took[i] = time.Since(start)
			if err != nil || len(list) < 20 {
				return fmt.Errorf("%s: %d suggestions for user %d: %w", s.name, len(list), v.User.ID, err)
			}
		}
		return nil
	})
	if err != nil {
		return suggestCost{}, err
	}
	cost.server = server
	cost.Result, err = measure.Summarize(took, time.Since(began))
	return cost, err
}

func suggestReport(opt measure.Options, sides []suggestSide, costs [][]suggestCost, ranking float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Who to follow

Twenty suggestions for a viewer, among %s users who follow 10 to 90 people each, half of them
in their community of %s. %s viewers a round, one after the other, through one process with all
of its caches. Medians of %d rounds, in turn.

`, measure.Thousands(suggestUsers), measure.Thousands(community), measure.Thousands(suggestLists), opt.Rounds)
	measure.Head(&b, "", "p50", "p99", "time of the server each")
	for i, side := range sides {
		var results []measure.Result
		for _, c := range costs[i] {
			results = append(results, c.Result)
		}
		r := measure.MedianResult(results)
		fmt.Fprintf(&b, "| %s | %s | %s | %.0f µs |\n", side.name, measure.Milliseconds(r.P50), measure.Milliseconds(r.P99),
			measure.Median(measure.Each(costs[i], func(c suggestCost) float64 { return c.server })))
	}
	fmt.Fprintf(&b, "\nTo rank the active accounts, every five minutes, took %.0f ms of the server.\n", ranking/1e3)
	return b.String()
}
