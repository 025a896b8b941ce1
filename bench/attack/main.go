// Attack attacks a separate site, and reports what that achieves. It stays on this machine, is
// bounded in time and requests, and fails if an attack succeeds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"retwis/bench/measure"
	"retwis/internal/sleep"
)

// result is what an attack achieved.
type result struct {
	now  string
	held bool
}

// attack is one attack.
type attack struct {
	name  string
	run   func(ctx context.Context, s *site) (result, error)
	flags []string // of the site
}

var attacks = []attack{
	{"300 password guesses, 8 at a time", guesses, nil},
	{"300 guesses from 300 networks", networks, nil},
	{"400 sign-ups from one address, 16 at a time", signUps, nil},
	{"one account posts for 5 s on 8 connections", floods, nil},
	{"500 connections log in, with limits", logins, nil},
	{"500 connections log in, without limits", logins, []string{"--limit", "off"}},
	{"one address searches for 5 s on 8 connections", searches, []string{"--demo"}},
	{"one account uploads 39-megapixel pictures for 5 s on 8 connections", uploads, nil},
	{"300 live streams from one address", streams, nil},
	{"10 MB form", huge, nil},
	{"2,000 connections send a header a second", slowly(slowHeaders), untrusted},
	{"2,000 connections send a form, a byte a second", slowly(slowForm), untrusted},
	{"2,000 connections request pages and read nothing", slowly(slowReader), untrusted},
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
	table.WriteString("| attack | result |\n| --- | --- |\n")
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
		fmt.Fprintf(&table, "| %s | %s |\n", a.name, r.now)
	}
	fmt.Print("\n", table.String())
	if out != "" && only == "" && len(failed) == 0 {
		text := "# Attacks\n\n`make attack` runs these attacks on a separate site, with the default limits, and fails if one\n" +
			"succeeds. Refused requests got 429, uploads also 503. The 2,000 connections come from one address,\n" +
			"without rate limits. MB: memory of the site.\n\n" + table.String()
		failed = append(failed, os.WriteFile(out, []byte(text), 0o644))
	}
	return errors.Join(failed...)
}

// untrusted makes the site take connections as what they are, and not as those of a proxy.
var untrusted = []string{"--trusted-proxies", "192.0.2.1/32", "--limit", "off"}

func (a attack) on(ctx context.Context, program string) (r result, err error) {
	s, err := start(program, a.flags...)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return a.run(ctx, s)
}

// requests sends n requests, so many at a time, and returns how often each status came.
func requests(n, atOnce int, send func(i int) (int, error)) (by map[int]int, err error) {
	var mu sync.Mutex
	by = map[int]int{}
	err = measure.Concurrently(atOnce, n, func(i int) error {
		status, err := send(i)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		by[status]++
		return nil
	})
	return by, err
}

// flood sends requests for five seconds on eight connections.
func flood(send func(i int) (int, error)) (by map[int]int, err error) {
	over := errors.New("the time is over")
	end := time.Now().Add(5 * time.Second)
	by, err = requests(math.MaxInt, 8, func(i int) (int, error) {
		if time.Now().After(end) {
			return 0, over
		}
		return send(i)
	})
	if errors.Is(err, over) {
		err = nil
	}
	return by, err
}

const memoryMetric = "retwis_redis_memory_used_bytes"

const owner, stranger = "203.0.113.1", "198.51.100.1"

// guess tries 300 passwords of ada, 8 at a time. It returns how many were tried and refused, and
// the status of her own log-in after that.
func guess(ctx context.Context, s *site, bot func(i int) *measure.Visitor, owner *measure.Visitor) (tried, refused, status int, err error) {
	by, failed := requests(300, 8, func(i int) (int, error) { return bot(i).LogIn(ctx, "ada", fmt.Sprint("guess number ", i)) })
	status, err = owner.LogIn(ctx, "ada", secret)
	return by[http.StatusUnprocessableEntity], by[http.StatusTooManyRequests], status, errors.Join(err, failed)
}

func guesses(ctx context.Context, s *site) (result, error) {
	if _, err := s.member(ctx, "ada", owner); err != nil {
		return result{}, err
	}
	bot := s.visitor(stranger)
	tried, refused, status, err := guess(ctx, s, func(int) *measure.Visitor { return bot }, s.visitor("203.0.113.99"))
	return result{
		fmt.Sprintf("%d tried, %d refused; owner's login elsewhere: %d", tried, refused, status),
		tried <= 20 && tried+refused == 300 && status == http.StatusSeeOther,
	}, err
}

func networks(ctx context.Context, s *site) (result, error) {
	if _, err := s.member(ctx, "ada", "203.0.113.7"); err != nil {
		return result{}, err
	}
	if err := measure.Accepted(s.visitor(owner).LogIn(ctx, "ada", secret)); err != nil {
		return result{}, fmt.Errorf("the owner's first log-in: %w", err)
	}
	bots := func(i int) *measure.Visitor { return s.visitor(fmt.Sprintf("2001:db8:%x::1", i)) }
	tried, refused, status, err := guess(ctx, s, bots, s.visitor(owner))
	return result{
		fmt.Sprintf("%d tried, %d refused; owner's login from a known address: %d", tried, refused, status),
		tried <= 102 && status == http.StatusSeeOther,
	}, err
}

func signUps(ctx context.Context, s *site) (result, error) {
	by, failed := requests(400, 16, func(i int) (int, error) { return s.visitor(stranger).SignUp(ctx, fmt.Sprint("bot", i), secret) })
	status, err := s.visitor(owner).SignUp(ctx, "ada", secret)
	made := by[http.StatusSeeOther]
	return result{
		fmt.Sprintf("%d accounts, %d refused; sign-up elsewhere: %d", made, by[http.StatusTooManyRequests], status),
		made <= 5 && status == http.StatusSeeOther,
	}, errors.Join(err, failed)
}

func floods(ctx context.Context, s *site) (result, error) {
	ada, err := s.member(ctx, "ada", owner)
	if err != nil {
		return result{}, err
	}
	for i := range 10 {
		if err := measure.Accepted(ada.Post(ctx, fmt.Sprintf("ada writes %d.", i))); err != nil {
			return result{}, fmt.Errorf("ada's post: %w", err)
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
		a, err := reader.Form(ctx, "/u/"+name+"/follow", url.Values{})
		if err := measure.Accepted(a.Status, err); err != nil {
			return result{}, fmt.Errorf("follow: %w", err)
		}
	}
	before, err := s.metric(memoryMetric)
	if err != nil {
		return result{}, err
	}
	long := strings.Repeat("e\u0301\u0302\u0303", 250) // 1,750 bytes
	by, failed := flood(func(i int) (int, error) { return bot.Post(ctx, fmt.Sprint(i, long)) })
	after, err := s.metric(memoryMetric)
	if err != nil {
		return result{}, err
	}
	grown := (after - before) / 1e6
	public, err1 := reader.Get(ctx, "/timeline")
	err2 := measure.Accepted(ada.Post(ctx, "ada goes on."))
	seen := 0
	for path := "/home"; path != "" && seen < 11; {
		page, err := reader.Get(ctx, path)
		if err != nil {
			return result{}, err
		}
		seen += strings.Count(page.Body, "ada writes ") + strings.Count(page.Body, "ada goes on.")
		path = older(page.Body)
	}
	ok, refused, shown := by[http.StatusSeeOther], by[http.StatusTooManyRequests], strings.Count(public.Body, "ada writes ")
	return result{
		fmt.Sprintf("%d posts, %d refused; Redis grew by %.1f MB; the public timeline shows all %d posts of others, a follower's home %d of 11",
			ok, refused, grown, shown, seen),
		ok <= 32 && before > 0 && grown < 4 && refused > 0 && shown == 10 && seen == 11,
	}, errors.Join(failed, err1, err2)
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

func logins(ctx context.Context, s *site) (result, error) {
	if _, err := s.member(ctx, "ada", owner); err != nil {
		return result{}, err
	}
	attack, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	bot := s.visitor(stranger)
	seen := beside(func() {
		_ = measure.Concurrently(500, 500, func(line int) error {
			// A client that was refused tries again at once, but not so fast that
			// it is the machine that is measured.
			for sleep.For(attack, 100*time.Millisecond) {
				_, _ = bot.LogIn(attack, fmt.Sprintf("bot%d", line), "wrong horse")
			}
			return nil
		})
	}, 500*time.Millisecond, func() (int, error) { return s.visitor(owner).LogIn(ctx, "ada", secret) })
	resident, err := s.resident()
	return result{
		fmt.Sprintf("%d of %d other logins succeed, slowest %d ms; %.0f MB", seen.good, seen.asked, seen.worst.Milliseconds(), resident),
		seen.good == seen.asked && seen.worst <= time.Second && resident < mostMemory,
	}, err
}

func streams(ctx context.Context, s *site) (result, error) {
	attack, cancel := context.WithCancel(ctx)
	defer cancel()
	bot := s.visitor(stranger)
	var mu sync.Mutex
	var open []*http.Response
	by, err := requests(300, 300, func(int) (int, error) {
		request, err := http.NewRequestWithContext(attack, http.MethodGet, s.url+"/live?on=timeline", nil)
		if err != nil {
			return 0, err
		}
		request.Header.Set("X-Forwarded-For", stranger)
		response, err := (&http.Client{Transport: bot.HTTP.Transport}).Do(request) // without a timeout
		if err != nil {
			return 0, err
		}
		mu.Lock()
		defer mu.Unlock()
		open = append(open, response)
		return response.StatusCode, nil
	})
	cancel()
	for _, response := range open {
		response.Body.Close()
	}
	return result{
		fmt.Sprintf("%d open, %d refused", by[http.StatusOK], 300-by[http.StatusOK]),
		by[http.StatusOK] > 0 && by[http.StatusOK] <= 100,
	}, err
}

func huge(ctx context.Context, s *site) (result, error) {
	status, err := s.visitor(stranger).Post(ctx, strings.Repeat("x", 10<<20))
	if err != nil && ctx.Err() == nil {
		return result{"the connection is closed", true}, nil // while the form is still sent
	}
	return result{fmt.Sprint(status), status == http.StatusRequestEntityTooLarge}, err
}
