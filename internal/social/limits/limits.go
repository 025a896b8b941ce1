// Package limits limits how often people act on a site: log in, sign up, post, follow, like.
// Without limits, one account could fill every timeline within seconds, and one machine could try
// passwords as fast as the processor checks them.
//
// Each [Event] has rules: by account, by address, or by account and address together; see
// [Config.Rules] for all rules, and package ratelimit for how they count. [Limits.Take] checks all
// rules of an event in one round trip; on a Cluster it takes one for the account and one for the
// address. Reading pages is not limited, except searches.
//
// If the database does not decide in time, the event is allowed ("fail open"): a failure of the
// limits must not close the site.
package limits

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/elapsed"
	"retwis/ratelimit"
)

// Error reports that an event would exceed a limit.
type Error struct {
	Event      Event
	RetryAfter time.Duration // greater than zero
}

func (e *Error) Error() string {
	return fmt.Sprintf("social: too many events (%s); try again in %v", e.Event, e.RetryAfter.Round(time.Millisecond))
}

// By identifies who causes an event.
type By struct {
	// Account is a user ID; if it is 0, the rules that count by account do not apply.
	Account int64
	// Address is the client's address. An invalid address is an unknown one, as behind a proxy that
	// is not configured. All clients with an unknown address share the limits of one address,
	// multiplied by 20.
	Address netip.Addr
}

// unknownFactor is the factor by which the limits of an unknown address are multiplied.
const unknownFactor = 20

// Limits decides about events. It is safe for concurrent use.
type Limits struct {
	limiter   *ratelimit.Limiter
	rules     map[Event][]appliedRule
	log       *slog.Logger
	refused   map[Event]*atomic.Uint64
	unchecked atomic.Uint64
	warned    atomic.Int64 // when a failed decision was last logged
}

// appliedRule is a rule with its limits.
type appliedRule struct {
	name    string
	by      subject
	windows []ratelimit.Limit
	shared  []ratelimit.Limit // for an unknown address
}

// timeout limits how long a decision takes.
const timeout = 500 * time.Millisecond

// New returns the Limits of a database. It sends no command.
func New(client rueidis.Client, config Config, log *slog.Logger) (*Limits, error) {
	limiter, err := ratelimit.New(client, ratelimit.Options{FailOpen: true, Timeout: timeout})
	if err != nil {
		return nil, err
	}
	l := &Limits{limiter: limiter, rules: map[Event][]appliedRule{}, log: log, refused: map[Event]*atomic.Uint64{}}
	unknownNames := len(config)
	for _, r := range rules {
		l.refused[r.event] = new(atomic.Uint64)
		windows, changed := config[r.name]
		if changed {
			unknownNames--
		} else if windows, err = parseWindows(r.limits); err != nil {
			return nil, fmt.Errorf("limits: %s: %w", r.name, err)
		}
		if len(windows) > maxWindows {
			return nil, fmt.Errorf("limits: %s: %d limits: at most %d are allowed", r.name, len(windows), maxWindows)
		}
		if len(windows) > 0 {
			l.rules[r.event] = append(l.rules[r.event], appliedRule{r.name, r.by, windows, multiplied(windows, unknownFactor)})
		}
	}
	if unknownNames != 0 {
		return nil, fmt.Errorf("limits: the configuration has an unknown name; the names are %s", names())
	}
	return l, nil
}

// multiplied returns limits multiplied by factor. A limit that would become invalid stays
// unchanged.
func multiplied(windows []ratelimit.Limit, factor int) []ratelimit.Limit {
	all := make([]ratelimit.Limit, len(windows))
	for i, w := range windows {
		all[i] = ratelimit.Limit{Rate: w.Rate * factor, Per: w.Per, Burst: w.Burst * factor}
		if _, err := ratelimit.ParseLimit(all[i].String()); err != nil {
			all[i] = w
		}
	}
	return all
}

// Take decides whether an event is allowed, and counts an allowed event. It returns *Error if the
// event is not allowed, or the error of ctx. One round trip, two on a Cluster.
func (l *Limits) Take(ctx context.Context, event Event, by By) error {
	_, err := l.take(ctx, event, l.checks(event, "", by))
	return err
}

// Crowds returns the limits on all sign-ups together. These limits reject nobody: beyond them,
// sign-ups need approval; see accounts.SignUps.
func (l *Limits) Crowds() []ratelimit.Limit {
	var all []ratelimit.Limit
	for _, r := range l.rules[SignUps] {
		all = append(all, r.windows...)
	}
	return all
}

// Return gives back an event that was counted but did not happen, such as a sign-up with a name
// that is taken. One round trip.
func (l *Limits) Return(ctx context.Context, event Event, by By) {
	l.give(ctx, l.checks(event, "", by))
}

// AllowLogin decides whether a password may be tried for an account, which need not exist, and
// counts the attempt. isKnown reports whether somebody has logged in to the account from the
// address before; it is called only if the account has seen too many attempts overall. One round
// trip, up to three on a Cluster.
func (l *Limits) AllowLogin(ctx context.Context, name string, from netip.Addr, isKnown func() (bool, error)) error {
	checks := l.checks(Login, name, By{Address: from})
	result, err := l.try(ctx, checks)
	if err != nil || result.Allowed {
		return err
	}
	if others := exceptAccount(checks); len(others) < len(checks) && len(others) > 0 && from.IsValid() {
		// The other checks may still allow the attempt. If isKnown fails, the address counts as
		// unknown.
		if known, err := isKnown(); err == nil && known {
			checks = others
			if result, err = l.try(ctx, checks); err != nil || result.Allowed {
				return err
			}
		}
	}
	return l.refuse(Login, result)
}

// GiveBackLogin undoes AllowLogin, for an attempt that did not reveal whether a password is right.
// One round trip.
func (l *Limits) GiveBackLogin(ctx context.Context, name string, from netip.Addr) {
	l.give(ctx, l.checks(Login, name, By{Address: from}))
}

// LoggedIn undoes AllowLogin after a right password, because only wrong passwords count. It resets
// the limits that count by account and address together. Two round trips.
func (l *Limits) LoggedIn(ctx context.Context, name string, from netip.Addr) {
	var both, others []check
	for _, c := range l.checks(Login, name, By{Address: from}) {
		if c.by == byBoth {
			both = append(both, c)
		} else {
			others = append(others, c)
		}
	}
	l.give(ctx, others)
	for _, c := range both {
		if err := l.limiter.Reset(ctx, c.Key); err != nil {
			l.warn(ctx, err)
		}
	}
}

// TakeMail decides whether an email to an address is allowed, and counts an allowed email.
// Requested emails have an additional limit, so that requests by a stranger leave room for
// warnings. One round trip.
func (l *Limits) TakeMail(ctx context.Context, address string, asked bool) error {
	_, err := l.take(ctx, Mail, l.mailChecks(address, asked))
	return err
}

// ReturnMail undoes TakeMail for an email that was not sent. One round trip.
func (l *Limits) ReturnMail(ctx context.Context, address string, asked bool) {
	l.give(ctx, l.mailChecks(address, asked))
}

func (l *Limits) mailChecks(address string, asked bool) []check {
	checks := l.checks(Mail, address, By{})
	if asked {
		checks = append(checks, l.checks(AskedMail, address, By{})...)
	}
	return checks
}

// OfAccounts returns a function that reports whether a key counts events of one of the accounts,
// whose names are given by ID.
func OfAccounts(names map[int64]string) func(key string) bool {
	ids, logins := map[string]bool{}, map[string]bool{}
	for uid, name := range names {
		ids[strconv.FormatInt(uid, 10)], logins[Subject(strings.ToLower(name))] = true, true
	}
	return func(key string) bool {
		rest, ok := strings.CutPrefix(key, "ratelimit:")
		rule, counted, found := strings.Cut(rest, ":{")
		end := strings.IndexAny(counted, "@}")
		if !ok || !found || end < 0 {
			return false
		}
		if rule == "login" || rule == "login-account" {
			return logins[counted[:end]]
		}
		return ids[counted[:end]]
	}
}

// check is a limit on an event for a subject.
type check struct {
	ratelimit.Check
	by subject
}

// checks returns the checks for an event. name replaces the account of by, unless it is empty: it
// is the account name of a log-in, for which no session identifies the user, or the address of an
// email.
func (l *Limits) checks(event Event, name string, by By) []check {
	account := ""
	switch {
	case name != "":
		account = Subject(name)
	case by.Account != 0:
		account = strconv.FormatInt(by.Account, 10)
	}
	var checks []check
	for _, r := range l.rules[event] {
		counted, windows := account, r.windows
		if r.by != byAccount && r.by != byMail {
			counted = Place(by.Address)
		}
		if r.by == byBoth {
			counted = account + "@" + counted
		} else if r.by == byAddress && !by.Address.IsValid() {
			windows = r.shared
		}
		if r.by != byAddress && account == "" {
			continue
		}
		for _, w := range windows {
			checks = append(checks, check{ratelimit.Check{Key: r.name + ":{" + counted + "}:" + perText(w.Per), Limit: w}, r.by})
		}
	}
	return checks
}

// exceptAccount removes the checks that count by account alone.
func exceptAccount(checks []check) []check {
	var others []check
	for _, c := range checks {
		if c.by != byAccount {
			others = append(others, c)
		}
	}
	return others
}

// take decides whether an event is allowed, and returns *Error if not.
func (l *Limits) take(ctx context.Context, event Event, checks []check) (ratelimit.Result, error) {
	result, err := l.try(ctx, checks)
	if err == nil && !result.Allowed {
		err = l.refuse(event, result)
	}
	return result, err
}

func (l *Limits) try(ctx context.Context, checks []check) (ratelimit.Result, error) {
	if len(checks) == 0 {
		return ratelimit.Result{Allowed: true}, nil
	}
	result, err := l.limiter.TakeAll(ctx, ratelimitChecks(checks)...)
	if err != nil {
		return result, fmt.Errorf("social: limits: %w", err)
	}
	if result.Unchecked != nil {
		l.unchecked.Add(1)
		l.warn(ctx, result.Unchecked)
	}
	return result, nil
}

func ratelimitChecks(checks []check) []ratelimit.Check {
	all := make([]ratelimit.Check, len(checks))
	for i, c := range checks {
		all[i] = c.Check
	}
	return all
}

func (l *Limits) refuse(event Event, result ratelimit.Result) error {
	l.refused[event].Add(1)
	return &Error{Event: event, RetryAfter: max(result.RetryAfter, time.Millisecond)}
}

func (l *Limits) give(ctx context.Context, checks []check) {
	if len(checks) == 0 {
		return
	}
	if err := l.limiter.Give(ctx, ratelimitChecks(checks)...); err != nil {
		l.warn(ctx, err)
	}
}

// warnEvery is the minimum interval between log lines about failed decisions.
const warnEvery = 10 * time.Second

func (l *Limits) warn(ctx context.Context, err error) {
	now, last := elapsed.Now(), l.warned.Load()
	if errors.Is(err, context.Canceled) || now-last < int64(warnEvery) || !l.warned.CompareAndSwap(last, now) {
		return
	}
	l.log.WarnContext(ctx, "limits cannot be checked; events are allowed", "error", err)
}

// Refused returns how often an event was rejected since the start of the process.
func (l *Limits) Refused(event Event) uint64 {
	if n := l.refused[event]; n != nil {
		return n.Load()
	}
	return 0
}

// Unchecked returns how many events were allowed because the database did not decide.
func (l *Limits) Unchecked() uint64 { return l.unchecked.Load() }

// Events returns all events.
func Events() []Event {
	var all []Event
	for _, r := range rules {
		if len(all) == 0 || all[len(all)-1] != r.event {
			all = append(all, r.event)
		}
	}
	return all
}

// Place returns the form in which an address is counted: an IPv4 address, or the /64 network of an
// IPv6 address, because every customer has at least a /64 network.
func Place(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() {
		return "unknown"
	}
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.Masked().String()
		}
	}
	return addr.String()
}

// Subject returns a username for the key of a limit: the name, or its digest if the name is long or
// has characters other than lower-case letters, digits and underscores.
func Subject(name string) string {
	isPlain := len(name) <= 20
	for i := 0; isPlain && i < len(name); i++ {
		c := name[i]
		isPlain = c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z'
	}
	if isPlain {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "#" + hex.EncodeToString(sum[:12])
}

// perText formats a duration in its largest unit: 10m, 1h, 1d.
func perText(per time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case per%day == 0:
		return strconv.Itoa(int(per/day)) + "d"
	case per%time.Hour == 0:
		return strconv.Itoa(int(per/time.Hour)) + "h"
	case per%time.Minute == 0:
		return strconv.Itoa(int(per/time.Minute)) + "m"
	}
	return per.String()
}

func windowText(w ratelimit.Limit) string {
	text := strconv.Itoa(w.Rate) + "/" + perText(w.Per)
	if burst := cmp.Or(w.Burst, w.Rate); burst != w.Rate {
		text += ":" + strconv.Itoa(burst)
	}
	return text
}
