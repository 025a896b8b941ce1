package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/app"
	"retwis/internal/redis/store"
	"retwis/internal/social"
)

// likesPerSecond is the load of likes on the posts of the pages.
const likesPerSecond = 500

// viewedPage is a page with counts and the viewer's own marks.
type viewedPage struct {
	name, path string
	signedIn   bool

	bytes int
	sides map[side][]float64 // requests per second, a value for each round
	cpu   map[side][]float64 // µs of CPU that a request takes, in the program that answers
}

// side is what answers for a page.
type side int

const (
	quiet  side = iota // Retwis
	memory             // the same bytes from memory
	storm              // Retwis, while the posts of the page are liked
	before             // the earlier version, whose pages have no counts
)

// measureViewers compares pages with the same bytes from memory: in each round all
// sides in turn.
func measureViewers(ctx context.Context, dir string, opt options) (string, error) {
	opt.users = max(opt.users, 2*connections)
	site, err := startSite(ctx, filepath.Join(dir, "retwis"), filepath.Join(dir, "viewers"), opt)
	if err != nil {
		return "", err
	}
	defer site.stop()
	pages := []*viewedPage{
		{name: "GET /timeline, 50 posts, signed out", path: "timeline"},
		{name: "GET /timeline, 50 posts, logged in", path: "timeline", signedIn: true},
		{name: "GET /home, 10 posts, logged in", path: "home", signedIn: true},
	}
	files := filepath.Join(dir, "viewed")
	if err := os.MkdirAll(files, 0o700); err != nil {
		return "", err
	}
	likes, err := startLikes(ctx, site)
	if err != nil {
		return "", err
	}
	defer likes.close()
	if err := likes.prepare(ctx); err != nil {
		return "", err
	}
	for i, page := range pages {
		body, err := site.page(ctx, "/"+page.path, page.cookies(site)[0])
		if err != nil {
			return "", err
		}
		page.bytes, page.sides = len(body), map[side][]float64{}
		page.cpu = map[side][]float64{}
		if err := os.WriteFile(filepath.Join(files, strconv.Itoa(i)), body, 0o600); err != nil {
			return "", err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	fromMemory, memoryAddr, err := startServing(self, memoryMode, files)
	if fromMemory != nil {
		defer stopServing(fromMemory)
	}
	if err != nil {
		return "", err
	}
	var older *exec.Cmd
	earlier := ""
	if opt.before != "" {
		cmd, addr, err := startServing(opt.before, "serve", "--addr", "127.0.0.1:0", "--redis", site.server.URL())
		if cmd != nil {
			defer stopServing(cmd)
		}
		if err != nil {
			return "", err
		}
		older, earlier = cmd, addr
	}
	for round := range opt.rounds + 1 {
		for i, page := range pages {
			for _, s := range []struct {
				side       side
				program    *exec.Cmd
				addr, path string
			}{
				{quiet, site.program, site.addr, "/" + page.path},
				{memory, fromMemory, memoryAddr, "/" + strconv.Itoa(i)},
				{before, older, earlier, "/" + page.path},
				{storm, site.program, site.addr, "/" + page.path},
			} {
				if s.addr == "" {
					continue
				}
				likes.run.Store(s.side == storm)
				spent := processSeconds(s.program)
				perSecond, err := drivePage(ctx, s.addr, s.path, page.cookies(site), opt.length)
				spent = processSeconds(s.program) - spent
				likes.run.Store(false)
				if err != nil {
					return "", err
				}
				if round > 0 { // the first warms up
					page.sides[s.side] = append(page.sides[s.side], perSecond)
					page.cpu[s.side] = append(page.cpu[s.side], spent*1e6/(perSecond*opt.length.Seconds()))
				}
			}
		}
		fmt.Printf("round %d of %d\n", round, opt.rounds)
	}
	if err := likes.failed(); err != nil {
		return "", err
	}
	text := viewersText(pages, opt)
	fmt.Print(text)
	return text, nil
}

func (p *viewedPage) cookies(s *site) []string {
	if p.signedIn {
		return s.cookies
	}
	return []string{""}
}

// ratio returns the median of the rounds' ratios.
func (p *viewedPage) ratio(a, b side) float64 {
	ratios := make([]float64, len(p.sides[a]))
	for i := range ratios {
		ratios[i] = p.sides[a][i] / p.sides[b][i]
	}
	return medianValue(ratios)
}

func medianValue(values []float64) float64 {
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	return sorted[len(sorted)/2]
}

// processSeconds returns how long a program has computed, 0 where the system does not
// say.
func processSeconds(program *exec.Cmd) float64 {
	if program == nil {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", program.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	const ticks = 100 // each second, on every architecture of Linux
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

func viewersText(pages []*viewedPage, opt options) string {
	client := "the load generator of this program"
	if wrk != "" {
		client = "`wrk`, which takes less of the machine than a client in Go"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `## Pages with counts

The same pages with the counts of their posts, what the viewer has done with each, and
the number of unread notifications. Client: %s.
Medians of %d rounds of %v for each side. Under load, another process writes
%d likes each second for the posts of the page.

| | bytes | requests/s | ratio to memory | under likes, to quiet | CPU a request | from memory | under likes |`, client, opt.rounds, opt.length, likesPerSecond)
	if opt.before != "" {
		b.WriteString(" before | to the version before |")
	}
	b.WriteString("\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	if opt.before != "" {
		b.WriteString(" ---: | ---: |")
	}
	b.WriteByte('\n')
	for _, p := range pages {
		fmt.Fprintf(&b, "| %s | %s | %s | **%.2f** | %.2f | %.0f µs | %.0f µs | %.0f µs |", p.name, thousands(p.bytes),
			thousands(int(medianValue(p.sides[quiet]))), p.ratio(quiet, memory), p.ratio(storm, quiet),
			medianValue(p.cpu[quiet]), medianValue(p.cpu[memory]), medianValue(p.cpu[storm]))
		if opt.before != "" {
			fmt.Fprintf(&b, " %.0f µs | %.2f |", medianValue(p.cpu[before]), p.ratio(quiet, before))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// likes are a process that likes the posts of the pages, as other people do.
type likes struct {
	store  *store.Store
	social *app.App
	users  []social.User
	posts  []int64
	run    atomic.Bool
	end    context.CancelFunc
	done   sync.WaitGroup
	err    error
}

var postID = regexp.MustCompile(`<article class="post" data-id="(\d+)"`)

func startLikes(ctx context.Context, s *site) (*likes, error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := store.Open(ctx, s.server.URL(), store.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	l := &likes{store: db}
	l.social, err = app.New(db.Client(), app.Options{Logger: log, Invalidations: db.Invalidations()})
	if err != nil {
		return nil, err
	}
	// Those who like are others than those who read.
	names, err := s.client.Do(ctx, s.client.B().Zrange().Key("users_by_time").
		Min(strconv.Itoa(connections)).Max(strconv.Itoa(5*connections-1)).Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		user, err := l.social.Users.UserByName(ctx, name)
		if err != nil {
			return nil, err
		}
		l.users = append(l.users, user)
	}
	for _, path := range []string{"/timeline", "/home"} {
		body, err := s.page(ctx, path, s.cookies[0])
		if err != nil {
			return nil, err
		}
		for _, found := range postID.FindAllSubmatch(body, -1) {
			id, err := strconv.ParseInt(string(found[1]), 10, 64)
			if err != nil {
				return nil, err
			}
			l.posts = append(l.posts, id)
		}
	}
	return l, nil
}

// prepare gives the posts counts and the viewers marks.
func (l *likes) prepare(ctx context.Context) error {
	for i, post := range l.posts {
		for n := range 5 {
			if err := l.social.Reactions.Like(ctx, l.users[(i*5+n)%len(l.users)], post); err != nil {
				return err
			}
		}
	}
	ctx, l.end = context.WithCancel(ctx)
	l.done.Go(func() { l.err = l.like(ctx) })
	return nil
}

// like writes likes, and takes back what a user has liked already, at an even pace.
func (l *likes) like(ctx context.Context) error {
	tick := time.NewTicker(time.Second / likesPerSecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !l.run.Load() {
			continue
		}
		user, post := l.users[rand.IntN(len(l.users))], l.posts[rand.IntN(len(l.posts))]
		do := l.social.Reactions.Like
		if rand.IntN(2) == 0 {
			do = l.social.Reactions.Unlike
		}
		if err := do(ctx, user, post); err != nil && ctx.Err() == nil {
			return fmt.Errorf("like: %w", err)
		}
	}
}

func (l *likes) failed() error {
	l.end()
	l.done.Wait()
	return l.err
}

func (l *likes) close() {
	if l.end != nil {
		l.end()
	}
	l.done.Wait()
	_ = l.social.Close()
	_ = l.store.Close()
}
