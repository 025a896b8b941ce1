// Command attack attacks a test site and reports the effect of each attack. It uses only this
// machine and limits its time and requests. It fails if an attack succeeds.
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

// result is the effect of an attack.
type result struct {
	effect   string
	repelled bool
}

type attack struct {
	name  string
	run   func(ctx context.Context, s *site) (result, error)
	flags []string // additional flags of retwis serve
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
	{"10 MB form", hugeForm, nil},
	{"2,000 connections send a header a second", slowly(slowHeaders), noProxy},
	{"2,000 connections send a form, a byte a second", slowly(slowForm), noProxy},
	{"2,000 connections request pages and read nothing", slowly(slowReader), noProxy},
}

func main() {
	program := flag.String("retwis", "retwis", "the program to attack")
	out := flag.String("out", "", "also write the table to this file")
	only := flag.String("only", "", "run only the attacks with `TEXT` in their names, and write no file")
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
		r, err := a.start(ctx, program)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if !r.repelled {
			failed = append(failed, fmt.Errorf("%s: the attack succeeded: %s", a.name, r.effect))
		}
		fmt.Printf("%s: %s\n", a.name, r.effect)
		fmt.Fprintf(&table, "| %s | %s |\n", a.name, r.effect)
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

// noProxy makes the site treat connections as coming from clients, not from a proxy.
var noProxy = []string{"--trusted-proxies", "192.0.2.1/32", "--limit", "off"}

// start runs the attack on a new site.
func (a attack) start(ctx context.Context, program string) (r result, err error) {
	s, err := start(program, a.flags...)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return a.run(ctx, s)
}

// requests sends n requests, at most parallel at a time, and counts the responses by status.
func requests(n, parallel int, send func(i int) (int, error)) (count map[int]int, err error) {
	var mu sync.Mutex
	count = map[int]int{}
	err = measure.Concurrently(parallel, n, func(i int) error {
		status, err := send(i)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		count[status]++
		return nil
	})
	return count, err
}

// flood sends requests for five seconds on eight connections.
func flood(send func(i int) (int, error)) (count map[int]int, err error) {
	timeUp := errors.New("time is up")
	end := time.Now().Add(5 * time.Second)
	count, err = requests(math.MaxInt, 8, func(i int) (int, error) {
		if time.Now().After(end) {
			return 0, timeUp
		}
		return send(i)
	})
	if errors.Is(err, timeUp) {
		err = nil
	}
	return count, err
}

const memoryMetric = "retwis_redis_memory_used_bytes"

// owner and stranger are the client addresses of the attacked user and of the attacker.
const owner, stranger = "203.0.113.1", "198.51.100.1"

// guess tries 300 passwords for ada, 8 at a time. It returns the number of attempts that were
// checked and refused, and the status of the owner's log-in after the attack.
func guess(ctx context.Context, s *site, bot func(i int) *measure.Visitor, owner *measure.Visitor) (checked, refused, status int, err error) {
	count, failed := requests(300, 8, func(i int) (int, error) { return bot(i).LogIn(ctx, "ada", fmt.Sprint("guess number ", i)) })
	status, err = owner.LogIn(ctx, "ada", secret)
	return count[http.StatusUnprocessableEntity], count[http.StatusTooManyRequests], status, errors.Join(err, failed)
}

func guesses(ctx context.Context, s *site) (result, error) {
	if _, err := s.member(ctx, "ada", owner); err != nil {
		return result{}, err
	}
	bot := s.visitor(stranger)
	checked, refused, status, err := guess(ctx, s, func(int) *measure.Visitor { return bot }, s.visitor("203.0.113.99"))
	return result{
		fmt.Sprintf("%d tried, %d refused; owner's login elsewhere: %d", checked, refused, status),
		checked <= 20 && checked+refused == 300 && status == http.StatusSeeOther,
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
	checked, refused, status, err := guess(ctx, s, bots, s.visitor(owner))
	return result{
		fmt.Sprintf("%d tried, %d refused; owner's login from a known address: %d", checked, refused, status),
		checked <= 102 && status == http.StatusSeeOther,
	}, err
}

func signUps(ctx context.Context, s *site) (result, error) {
	count, failed := requests(400, 16, func(i int) (int, error) { return s.visitor(stranger).SignUp(ctx, fmt.Sprint("bot", i), secret) })
	status, err := s.visitor(owner).SignUp(ctx, "ada", secret)
	created := count[http.StatusSeeOther]
	return result{
		fmt.Sprintf("%d accounts, %d refused; sign-up elsewhere: %d", created, count[http.StatusTooManyRequests], status),
		created <= 5 && status == http.StatusSeeOther,
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
	count, failed := flood(func(i int) (int, error) { return bot.Post(ctx, fmt.Sprint(i, long)) })
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
		path = nextPage(page.Body)
	}
	ok, refused, shown := count[http.StatusSeeOther], count[http.StatusTooManyRequests], strings.Count(public.Body, "ada writes ")
	return result{
		fmt.Sprintf("%d posts, %d refused; Redis grew by %.1f MB; the public timeline shows all %d posts of others, a follower's home %d of 11",
			ok, refused, grown, shown, seen),
		ok <= 32 && before > 0 && grown < 4 && refused > 0 && shown == 10 && seen == 11,
	}, errors.Join(failed, err1, err2)
}

// nextPage returns the path of the next page of a home timeline, or "" if page is the last page.
func nextPage(page string) string {
	_, link, ok := strings.Cut(page, `href="/home?before=`)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(link, `"`)
	return "/home?before=" + id
}

func logins(ctx context.Context, s *site) (result, error) {
	if _, err := s.member(ctx, "ada", owner); err != nil {
		return result{}, err
	}
	attack, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	bot := s.visitor(stranger)
	seen := during(func() {
		_ = measure.Concurrently(500, 500, func(i int) error {
			// Without a pause after each attempt, the clients would use up the CPU of the machine.
			for sleep.For(attack, 100*time.Millisecond) {
				_, _ = bot.LogIn(attack, fmt.Sprintf("bot%d", i), "wrong horse")
			}
			return nil
		})
	}, 500*time.Millisecond, func() (int, error) { return s.visitor(owner).LogIn(ctx, "ada", secret) })
	memory, err := s.residentMB()
	return result{
		fmt.Sprintf("%d of %d other logins succeed, slowest %d ms; %.0f MB", seen.good, seen.requests, seen.slowest.Milliseconds(), memory),
		seen.good == seen.requests && seen.slowest <= time.Second && memory < maxMemoryMB,
	}, err
}

func streams(ctx context.Context, s *site) (result, error) {
	attack, cancel := context.WithCancel(ctx)
	defer cancel()
	bot := s.visitor(stranger)
	var mu sync.Mutex
	var open []*http.Response
	count, err := requests(300, 300, func(int) (int, error) {
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
		fmt.Sprintf("%d open, %d refused", count[http.StatusOK], 300-count[http.StatusOK]),
		count[http.StatusOK] > 0 && count[http.StatusOK] <= 100,
	}, err
}

func hugeForm(ctx context.Context, s *site) (result, error) {
	status, err := s.visitor(stranger).Post(ctx, strings.Repeat("x", 10<<20))
	if err != nil && ctx.Err() == nil {
		return result{"the server closes the connection", true}, nil // before it reads the whole form
	}
	return result{fmt.Sprint(status), status == http.StatusRequestEntityTooLarge}, err
}
