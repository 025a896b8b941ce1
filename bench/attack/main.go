// Attack tries on a separate site what an attacker tried on an earlier version, and
// reports what happened. It stays on this machine, is bounded in time and requests, and
// fails if an attack succeeds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"
)

// result is what an attack achieved.
type result struct {
	now  string
	held bool
}

// attack is one attack, and what it did before there were limits.
type attack struct {
	name, before string
	run          func(ctx context.Context, s *site) (result, error)
	flags        []string // of the site
}

var attacks = []attack{
	{"300 guesses of a password, 8 at a time", "all 300 tried, no delay", guesses, nil},
	{"300 guesses from 300 networks", "not tried", networks, nil},
	{"400 sign-ups of one address, 16 at a time", "all 400 accounts", signUps, nil},
	{"one account posts for 5 s on 8 connections", "6,557 posts; the public timeline and the homes of followers gone for good", floods, nil},
	{"posts as long as allowed, for 5 s", "Redis grew by 8 MB each second", memory, nil},
	{"500 connections log in, with limits", "659 of 1,200 got 503, log-in closed for everybody", logins, nil},
	{"500 connections log in, without limits", "the same", logins, []string{"--limit", "off"}},
	{"one address searches for 5 s on 8 connections", "not tried", searches, []string{"--demo"}},
	{"one account uploads pictures of 39 megapixels for 5 s on 8 connections", "not tried", uploads, nil},
	{"300 live streams of one address", "not measured", streams, nil},
	{"a form of 10 MB", "413", huge, nil},
	{"2,000 connections of one address send a header a second", "not bounded", slowly(slowHeaders), untrusted},
	{"2,000 connections of one address send a form, a byte a second", "not bounded", slowly(slowForm), untrusted},
	{"2,000 connections of one address ask for pages and read nothing", "not bounded", slowly(slowReader), untrusted},
}

func main() {
	program := flag.String("retwis", "retwis", "the program to attack")
	out := flag.String("out", "", "write the table to this file, too")
	only := flag.String("only", "", "try the attacks with this `TEXT` in their names, and write no file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *program, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, out, only string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var table strings.Builder
	table.WriteString("| attack | before | now |\n| --- | --- | --- |\n")
	var failed []error
	for _, a := range attacks {
		if !strings.Contains(a.name, only) {
			continue
		}
		r, err := a.on(ctx, program)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if !r.held {
			failed = append(failed, fmt.Errorf("%s succeeded: %s", a.name, r.now))
		}
		fmt.Printf("%s: %s\n", a.name, r.now)
		fmt.Fprintf(&table, "| %s | %s | %s |\n", a.name, a.before, r.now)
	}
	fmt.Print("\n", table.String())
	if out != "" && only == "" && len(failed) == 0 {
		text := "# Attacks\n\n`make attack` tries each of these on a separate site with the limits by default, and fails\n" +
			"if one succeeds. \"Before\" is a version without [limits](retwis.md#limits).\n\n" + table.String()
		failed = append(failed, os.WriteFile(out, []byte(text), 0o644))
	}
	return errors.Join(failed...)
}

// untrusted makes the site take connections as what they are, and not as those of a proxy.
var untrusted = []string{"--trusted-proxies", "192.0.2.1/32", "--limit", "off"}

func (a attack) on(ctx context.Context, program string) (r result, err error) {
	s, err := start(ctx, program, a.flags...)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return a.run(ctx, s)
}

// counts are how often each status came.
type counts struct {
	mu sync.Mutex
	by map[int]int
	er error
}

func (c *counts) add(status int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.er = err
		return
	}
	if c.by == nil {
		c.by = map[int]int{}
	}
	c.by[status]++
}

// each calls do with 0 to n-1, so many at a time.
func each(n, atOnce int, do func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

const memoryMetric = "retwis_redis_memory_used_bytes"

const owner, stranger = "203.0.113.1", "198.51.100.1"

func guesses(ctx context.Context, s *site) (result, error) {
	if _, err := s.member(ctx, "ada", owner); err != nil {
		return result{}, err
	}
	var c counts
	bot := s.client(stranger)
	each(300, 8, func(i int) { c.add(bot.logIn(ctx, "ada", fmt.Sprint("guess number ", i))) })
	status, err := s.client("203.0.113.99").logIn(ctx, "ada", secret)
	tried := c.by[http.StatusUnprocessableEntity]
	return result{
		fmt.Sprintf("%d tried, %d refused with 429; the owner logs in elsewhere (%d)", tried, c.by[http.StatusTooManyRequests], status),
		tried <= 20 && tried+c.by[http.StatusTooManyRequests] == 300 && status == http.StatusSeeOther,
	}, errors.Join(err, c.er)
}

func networks(ctx context.Context, s *site) (result, error) {
	if _, err := s.member(ctx, "ada", "203.0.113.7"); err != nil {
		return result{}, err
	}
	if status, err := s.client(owner).logIn(ctx, "ada", secret); err != nil || status != http.StatusSeeOther {
		return result{}, fmt.Errorf("the owner's first log-in: status %d, %w", status, err)
	}
	var c counts
	each(300, 8, func(i int) {
		c.add(s.client(fmt.Sprintf("2001:db8:%x::1", i)).logIn(ctx, "ada", fmt.Sprint("guess number ", i)))
	})
	status, err := s.client(owner).logIn(ctx, "ada", secret)
	tried := c.by[http.StatusUnprocessableEntity]
	return result{
		fmt.Sprintf("%d tried, %d refused; the owner logs in from a known address (%d)", tried, c.by[http.StatusTooManyRequests], status),
		tried <= 102 && status == http.StatusSeeOther,
	}, errors.Join(err, c.er)
}

func signUps(ctx context.Context, s *site) (result, error) {
	var c counts
	each(400, 16, func(i int) { c.add(s.client(stranger).signUp(ctx, fmt.Sprint("bot", i))) })
	status, err := s.client(owner).signUp(ctx, "ada")
	made := c.by[http.StatusSeeOther]
	return result{
		fmt.Sprintf("%d accounts, %d refused; another address signs up (%d)", made, c.by[http.StatusTooManyRequests], status),
		made <= 5 && status == http.StatusSeeOther,
	}, errors.Join(err, c.er)
}

// flood sends requests for five seconds on eight connections, and returns how often each status
// came.
func flood(ctx context.Context, send func(i int) (int, error)) *counts {
	c := &counts{}
	end := time.Now().Add(5 * time.Second)
	var wg sync.WaitGroup
	for line := range 8 {
		wg.Go(func() {
			for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
				c.add(send(8*i + line))
			}
		})
	}
	wg.Wait()
	return c
}

func floods(ctx context.Context, s *site) (result, error) {
	ada, err := s.member(ctx, "ada", owner)
	if err != nil {
		return result{}, err
	}
	for i := range 10 {
		if status, err := ada.post(ctx, fmt.Sprintf("ada writes %d.", i)); err != nil || status != http.StatusSeeOther {
			return result{}, fmt.Errorf("ada's post: status %d, %w", status, err)
		}
	}
	bot, err := s.member(ctx, "bot", stranger)
	if err != nil {
		return result{}, err
	}
	reader, err := s.member(ctx, "ben", "203.0.113.2")
	if err != nil {
		return result{}, err
	}
	for _, name := range []string{"ada", "bot"} {
		if status, _, err := reader.do(ctx, http.MethodPost, "/u/"+name+"/follow", url.Values{}); err != nil || status != http.StatusSeeOther {
			return result{}, fmt.Errorf("follow: status %d, %w", status, err)
		}
	}
	c := flood(ctx, func(i int) (int, error) { return bot.post(ctx, fmt.Sprint("spam ", i)) })
	_, public, err1 := reader.do(ctx, http.MethodGet, "/timeline", nil)
	afterFlood, err2 := ada.post(ctx, "ada goes on.")
	seen := 0
	for path := "/home"; path != "" && seen < 11; {
		_, page, err := reader.do(ctx, http.MethodGet, path, nil)
		if err != nil {
			return result{}, err
		}
		seen += strings.Count(page, "ada writes ") + strings.Count(page, "ada goes on.")
		path = older(page)
	}
	ok, shown := c.by[http.StatusSeeOther], strings.Count(public, "ada writes ")
	return result{
		fmt.Sprintf("%d posts, %d refused with 429; the public timeline shows all %d posts of others, the home of a follower %d of 11", ok, c.by[http.StatusTooManyRequests], shown, seen),
		ok <= 32 && c.by[http.StatusTooManyRequests] > 0 && shown == 10 && seen == 11 && afterFlood == http.StatusSeeOther,
	}, errors.Join(err1, err2, c.er)
}

// older is the path of the next page of a home timeline, empty on the last.
func older(page string) string {
	_, rest, ok := strings.Cut(page, `href="/home?before=`)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, `"`)
	return "/home?before=" + id
}

func memory(ctx context.Context, s *site) (result, error) {
	bot, err := s.member(ctx, "bot", stranger)
	if err != nil {
		return result{}, err
	}
	before, err := s.metric(memoryMetric)
	if err != nil {
		return result{}, err
	}
	long := strings.Repeat("e\u0301\u0302\u0303", 250) // 1,750 bytes
	c := flood(ctx, func(i int) (int, error) { return bot.post(ctx, fmt.Sprint(i, long)) })
	after, err := s.metric(memoryMetric)
	resident, err2 := s.metric("process_resident_memory_bytes")
	grown := (after - before) / 1e6
	return result{
		fmt.Sprintf("%d posts; Redis grew by %.1f MB in all, the site takes %.0f MB", c.by[http.StatusSeeOther], grown, resident/1e6),
		before > 0 && grown < 4 && resident < 500e6 && c.by[http.StatusSeeOther] <= 32,
	}, errors.Join(err, err2, c.er)
}

func logins(ctx context.Context, s *site) (result, error) {
	if _, err := s.member(ctx, "ada", owner); err != nil {
		return result{}, err
	}
	attack, cancel := context.WithCancel(ctx)
	defer cancel()
	bot := s.client(stranger)
	var wg sync.WaitGroup
	for line := range 500 {
		wg.Go(func() {
			for i := 0; attack.Err() == nil; i++ {
				_, _ = bot.logIn(attack, fmt.Sprintf("bot%d", line), "wrong horse")
				// A client that was refused tries again at once, but not so fast that
				// it is the machine that is measured.
				select {
				case <-attack.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	time.Sleep(time.Second) // the flood is at its height
	var worst time.Duration
	good := 0
	for range 10 {
		began := time.Now()
		status, err := s.client(owner).logIn(ctx, "ada", secret)
		if err != nil {
			return result{}, err
		}
		if status == http.StatusSeeOther {
			good++
		}
		worst = max(worst, time.Since(began))
	}
	cancel()
	wg.Wait()
	resident, err := s.metric("process_resident_memory_bytes")
	return result{
		fmt.Sprintf("%d of 10 log-ins of others succeed, the slowest in %d ms; the site takes %.0f MB", good, worst.Milliseconds(), resident/1e6),
		good == 10 && worst <= time.Second && resident < 500e6,
	}, err
}

func streams(ctx context.Context, s *site) (result, error) {
	attack, cancel := context.WithCancel(ctx)
	defer cancel()
	var c counts
	var wg sync.WaitGroup
	visitor := http.Client{Transport: &http.Transport{}}
	var open []*http.Response
	for range 300 {
		wg.Go(func() {
			request, err := http.NewRequestWithContext(attack, http.MethodGet, s.url+"/live?on=timeline", nil)
			if err != nil {
				c.add(0, err)
				return
			}
			request.Header.Set("X-Forwarded-For", stranger)
			response, err := visitor.Do(request)
			if err != nil {
				c.add(0, err)
				return
			}
			c.add(response.StatusCode, nil)
			c.mu.Lock()
			open = append(open, response)
			c.mu.Unlock()
		})
	}
	wg.Wait()
	cancel()
	for _, response := range open {
		response.Body.Close()
	}
	return result{
		fmt.Sprintf("%d open, %d refused", c.by[http.StatusOK], 300-c.by[http.StatusOK]),
		c.by[http.StatusOK] > 0 && c.by[http.StatusOK] <= 100,
	}, c.er
}

func huge(ctx context.Context, s *site) (result, error) {
	status, err := s.client(stranger).post(ctx, strings.Repeat("x", 10<<20))
	if err != nil && ctx.Err() == nil {
		return result{"the connection is closed", true}, nil // while the form is still sent
	}
	return result{fmt.Sprint(status), status == http.StatusRequestEntityTooLarge}, err
}
