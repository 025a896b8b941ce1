// Package seed fills Retwis with a realistic sample network: a few users with very many
// followers and many with few, registrations, follows, posts, replies and likes spread
// over a month, and readable texts. The same seed gives the same network on the same day.
package seed

import (
	"cmp"
	"context"
	secret "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"retwis/internal/app"
	"retwis/internal/social/load"
)

// ErrNotEmpty means that the database is neither empty nor a demo.
var ErrNotEmpty = errors.New("seed: the database is not empty and holds no demo")

// Run adds a network to the database of svc, which may already contain a network: if a name is
// taken, Run appends a number.
func Run(ctx context.Context, svc *app.App, opt Options) (Result, error) {
	if err := opt.validate(); err != nil {
		return Result{}, err
	}
	if opt.Password == "" {
		opt.Password = secret.Text()[:16]
	}
	if opt.Until.IsZero() {
		opt.Until = time.Now().UTC().Truncate(24 * time.Hour)
	}
	if opt.Progress == nil {
		opt.Progress = func(int, int) {}
	}
	r := &run{svc: svc, load: load.New(svc), opt: opt, net: newNetwork(opt)}
	for _, write := range []func(context.Context) error{r.users, r.follows, r.posts} {
		if err := write(ctx); err != nil {
			return Result{}, err
		}
	}
	return Result{
		Users: opt.Users, Follows: opt.Follows, Posts: opt.Posts,
		Name: r.first, Password: opt.Password,
	}, nil
}

type run struct {
	svc     *app.App
	load    load.Loader
	opt     Options
	net     *network
	ids     []int64 // by user number
	first   string  // the name of user 0
	written int
}

func (r *run) progress(n int) {
	r.written += n
	r.opt.Progress(r.written, r.opt.Users+r.opt.Follows+r.opt.Posts)
}

func (r *run) users(ctx context.Context) error {
	hash, err := r.svc.Auth.HashPassword(ctx, r.opt.Password)
	if err != nil {
		return err
	}
	for from := 0; from < r.opt.Users; from += step {
		names, err := r.names(ctx, from, min(step, r.opt.Users-from))
		if err != nil {
			return err
		}
		if from == 0 {
			r.first = names[0]
		}
		pending := make([]load.NewUser, len(names))
		for i, name := range names {
			pending[i] = load.NewUser{Name: name, PasswordHash: hash, Joined: r.net.joined(from + i)}
		}
		added, err := r.load.AddUsers(ctx, pending)
		if err != nil {
			return err
		}
		for _, user := range added {
			r.ids = append(r.ids, user.ID)
		}
		r.progress(len(pending))
	}
	return nil
}

// names returns free names for n users.
func (r *run) names(ctx context.Context, from, n int) ([]string, error) {
	names := make([]string, n)
	for i := range names {
		names[i] = r.net.name(from + i)
	}
	for number := 2; ; number++ {
		taken, err := r.load.Taken(ctx, names)
		if err != nil || !slices.Contains(taken, true) {
			return names, err
		}
		for i := range names {
			if taken[i] {
				names[i] = fmt.Sprintf("%s_%d", r.net.name(from+i), number)
			}
		}
	}
}

func (r *run) follows(ctx context.Context) error {
	pending := make([]load.NewFollow, 0, step)
	for f := range r.net.follows() {
		pending = append(pending, load.NewFollow{From: r.ids[f.from], To: r.ids[f.to], Time: f.at})
		if len(pending) == step {
			if err := r.load.AddFollows(ctx, pending); err != nil {
				return err
			}
			r.progress(step)
			pending = pending[:0]
		}
	}
	r.progress(len(pending))
	return r.load.AddFollows(ctx, pending)
}

// recent is a post that can be replied to.
type recent struct{ id, root, author int64 }

// maxRecent limits how many posts can be replied to.
const maxRecent = 2000

// posts writes the posts, some of them as replies to earlier posts, and their likes.
func (r *run) posts(ctx context.Context) error {
	rng := r.net.stream(streamTalk)
	batch := min(step, max(10, r.opt.Posts/20))
	pending := make([]load.NewPost, 0, batch)
	var latest []recent
	write := func() error {
		if len(pending) == 0 {
			return nil
		}
		first, err := r.load.AddPosts(ctx, pending)
		if err != nil {
			return err
		}
		var likes []load.NewLike
		for i, p := range pending {
			id := first + int64(i)
			latest = append(latest, recent{id: id, root: cmp.Or(p.Root, id), author: p.Author})
			likes = append(likes, r.likes(rng, id, p.Time)...)
		}
		latest = latest[max(0, len(latest)-maxRecent):]
		r.progress(len(pending))
		pending = pending[:0]
		return r.load.AddLikes(ctx, likes)
	}
	for p := range r.net.posts() {
		post := load.NewPost{Author: r.ids[p.author], Time: p.at, Body: p.body}
		if n := len(latest); n > 0 && rng.Float64() < 0.3 {
			to := latest[n-1-min(n-1, int(rng.ExpFloat64()*float64(n)/8))]
			post.Parent, post.ParentAuthor, post.Root = to.id, to.author, to.root
			post.Body = answer(rng)
		}
		post.Body += tag(rng)
		if pending = append(pending, post); len(pending) == batch {
			if err := write(); err != nil {
				return err
			}
		}
	}
	return write()
}

// likes generates the likes of a post: a few posts have many likes.
func (r *run) likes(rng *rand.Rand, id int64, at time.Time) []load.NewLike {
	var likes []load.NewLike
	seen := map[int]bool{}
	for range min(int(rng.ExpFloat64()*1.5), r.opt.Users) {
		user := rng.IntN(r.opt.Users)
		since := at.Add(time.Duration(rng.ExpFloat64() * float64(6*time.Hour)))
		if seen[user] || r.net.joined(user).After(since) || since.After(r.opt.Until) {
			continue
		}
		seen[user] = true
		likes = append(likes, load.NewLike{Post: id, User: r.ids[user], Time: since})
	}
	return likes
}
