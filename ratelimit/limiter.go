package ratelimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/internal/redis/script"
)

var (
	//go:embed take.lua
	takeLua string

	//go:embed give.lua
	giveLua string

	takeScript = script.New(takeLua)
	giveScript = script.New(giveLua)
)

// Options configure a Limiter. The zero value is a good default.
type Options struct {
	// Prefix is the prefix of every key. Default: "ratelimit:".
	Prefix string
	// Timeout limits how long a decision takes. Default: 250 ms.
	Timeout time.Duration
	// FailOpen allows events that could not be checked because the server does not answer or
	// refuses writes. Default: such events are refused, and the error is returned.
	FailOpen bool
}

// Limiter decides whether events are within their limits. It is safe for concurrent use.
type Limiter struct {
	client  rueidis.Client
	cluster bool
	opt     Options
}

// New returns a Limiter. It sends nothing to the server.
func New(client rueidis.Client, opt Options) (*Limiter, error) {
	if client == nil {
		return nil, errors.New("ratelimit: no client")
	}
	if opt.Prefix == "" {
		opt.Prefix = "ratelimit:"
	}
	if opt.Timeout == 0 {
		opt.Timeout = 250 * time.Millisecond
	}
	if opt.Timeout < 0 {
		return nil, fmt.Errorf("ratelimit: Options.Timeout: %v is negative", opt.Timeout)
	}
	return &Limiter{client: client, cluster: client.Mode() == rueidis.ClientModeCluster, opt: opt}, nil
}

// Check is an event and one of its limits.
type Check struct {
	Key   string // what is limited, such as "login:ada"
	Limit Limit
	// Cost is the number of events that the event counts as. Default: 1.
	Cost int
}

// Result is a decision. If several limits were checked, it describes the strictest limit: the limit
// that refused the event with the longest wait, or else the limit with the fewest remaining events.
type Result struct {
	Allowed bool
	// Key is the key of the limit that the other fields describe.
	Key string
	// Remaining is the number of events that the limit allows at once now.
	Remaining int
	// RetryAfter is how long to wait until the event is allowed, if no other event happens. It is 0
	// if the event was allowed, and negative if the event is never allowed, because it costs more
	// than the limit allows at once.
	RetryAfter time.Duration
	// ResetAfter is how long to wait until the whole Burst is allowed again.
	ResetAfter time.Duration
	// Unchecked is the error because of which FailOpen allowed the event unchecked, or nil.
	Unchecked error
}

// Take decides on one event and counts it if it is allowed, in one round trip.
func (l *Limiter) Take(ctx context.Context, key string, limit Limit) (Result, error) {
	return l.TakeAll(ctx, Check{Key: key, Limit: limit})
}

// TakeAll decides on an event with up to 16 limits. If all limits allow the event, all count it;
// otherwise none counts it. The keys must differ. TakeAll takes one round trip. On a Cluster it
// takes one round trip per slot, and one more to give back what it took if a later slot refuses.
func (l *Limiter) TakeAll(ctx context.Context, checks ...Check) (Result, error) {
	if err := validate(checks); err != nil {
		return Result{}, err
	}
	wait, cancel := context.WithTimeout(ctx, l.opt.Timeout)
	defer cancel()
	var result Result
	var taken []int
	for _, group := range l.bySlot(checks) {
		ahead, allowed, err := l.take(wait, checks, group)
		if err == nil {
			result = strictest(result, checks, group, ahead, allowed)
		}
		if err != nil || !allowed {
			_ = l.give(ctx, checks, taken)
		}
		if err != nil {
			return l.failed(ctx, checks, err)
		}
		if !allowed {
			return result, nil
		}
		taken = append(taken, group...)
	}
	return result, nil
}

// Give gives back what an allowed event took, if the event did not happen after all. The checks are
// those of Take or TakeAll. If a check never allows the event, Give gives nothing back. Give is
// best effort: limits recover with time even if it fails. Give takes one round trip.
func (l *Limiter) Give(ctx context.Context, checks ...Check) error {
	if err := validate(checks); err != nil {
		return err
	}
	if slices.ContainsFunc(checks, Check.neverAllowed) {
		return nil
	}
	all := make([]int, len(checks))
	for i := range all {
		all[i] = i
	}
	if err := l.give(ctx, checks, all); err != nil {
		return fmt.Errorf("ratelimit: %s: %w", checks[0].Key, explain(ctx, err))
	}
	return nil
}

// Peek returns what the limit would allow now, and counts nothing. Result.Allowed reports whether
// one event would be allowed. Peek takes one round trip.
func (l *Limiter) Peek(ctx context.Context, key string, limit Limit) (Result, error) {
	checks := []Check{{Key: key, Limit: limit}}
	if err := validate(checks); err != nil {
		return Result{}, err
	}
	wait, cancel := context.WithTimeout(ctx, l.opt.Timeout)
	defer cancel()
	args := []string{micros(limit.span()), "0"}
	reply, err := takeScript.Run(wait, l.client, []string{l.opt.Prefix + key}, args).AsIntSlice()
	if err != nil {
		return Result{}, fmt.Errorf("ratelimit: %s: %w", key, explain(ctx, err))
	}
	candidate := checks[0]
	return candidate.result(reply[1], reply[1]+candidate.cost() <= limit.span()), nil
}

// Reset removes all events from a limit, in one round trip.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	if err := giveScript.Run(ctx, l.client, []string{l.opt.Prefix + key}, nil).Error(); err != nil {
		return fmt.Errorf("ratelimit: %s: %w", key, explain(ctx, err))
	}
	return nil
}

func validate(checks []Check) error {
	if len(checks) == 0 || len(checks) > maxTaken {
		return fmt.Errorf("ratelimit: %w: %d limits at once: the number must be from 1 to %d", ErrLimit, len(checks), maxTaken)
	}
	for i, c := range checks {
		if err := c.Limit.check(); err != nil {
			return err
		}
		if c.Key == "" || len(c.Key) > maxKey {
			return fmt.Errorf("ratelimit: %w: it has %d bytes: it must have from 1 to %d", ErrKey, len(c.Key), maxKey)
		}
		if c.Cost < 0 || c.Cost > maxRate {
			return fmt.Errorf("ratelimit: %w: %s: Cost is %d: it must be from 0 to %d, where 0 stands for 1", ErrCost, c.Key, c.Cost, maxRate)
		}
		for _, other := range checks[:i] {
			if other.Key == c.Key {
				return fmt.Errorf("ratelimit: %w: %s is given twice: each limit needs its own key", ErrKey, c.Key)
			}
		}
	}
	return nil
}

// neverAllowed reports whether the event costs more than the limit allows at once.
func (c Check) neverAllowed() bool { return c.Cost > c.Limit.burst() }

// cost returns how far an event moves the TAT, in microseconds. An event that is never allowed
// counts as a little more than a full bucket: the product may overflow an int64.
func (c Check) cost() int64 {
	if c.neverAllowed() {
		return c.Limit.span() + 1
	}
	return c.Limit.interval() * int64(max(c.Cost, 1))
}

// micros formats a number of microseconds for the scripts.
func micros(us int64) string { return strconv.FormatInt(us, 10) }

// bySlot groups the indexes of checks by slot: one script can decide the checks of a group.
func (l *Limiter) bySlot(checks []Check) [][]int {
	var groups [][]int
	groupOf := map[int]int{}
	for i, c := range checks {
		slot := 0
		if l.cluster {
			slot = keys.Slot([]byte(l.opt.Prefix + c.Key))
		}
		at, ok := groupOf[slot]
		if !ok {
			at = len(groups)
			groupOf[slot] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// take decides on the checks of a group. It also returns how far each TAT is in the future.
func (l *Limiter) take(ctx context.Context, checks []Check, group []int) (ahead []int64, allowed bool, err error) {
	names := make([]string, len(group))
	args := make([]string, 0, 2*len(group))
	for i, at := range group {
		names[i] = l.opt.Prefix + checks[at].Key
		args = append(args, micros(checks[at].Limit.span()), micros(checks[at].cost()))
	}
	reply, err := takeScript.Run(ctx, l.client, names, args).AsIntSlice()
	if err != nil {
		return nil, false, err
	}
	if len(reply) != len(group)+1 {
		return nil, false, fmt.Errorf("the script returned %d numbers", len(reply))
	}
	return reply[1:], reply[0] == 1, nil
}

// giveTimeout limits the time to give back what was taken. The context of the caller may have ended.
const giveTimeout = time.Second

// give gives back what the taken checks took.
func (l *Limiter) give(ctx context.Context, checks []Check, taken []int) error {
	if len(taken) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveTimeout)
	defer cancel()
	var calls []script.Call
	for _, at := range taken {
		calls = append(calls, script.Call{Keys: []string{l.opt.Prefix + checks[at].Key}, Args: []string{micros(checks[at].cost())}})
	}
	var failed []error
	for _, res := range giveScript.RunMany(ctx, l.client, calls) {
		failed = append(failed, res.Error())
	}
	return errors.Join(failed...)
}

// failed returns the decision for an event that the server did not check.
func (l *Limiter) failed(ctx context.Context, checks []Check, err error) (Result, error) {
	err = fmt.Errorf("ratelimit: %s: %w", checks[0].Key, explain(ctx, err))
	if l.opt.FailOpen && ctx.Err() == nil {
		return Result{Allowed: true, Key: checks[0].Key, Unchecked: err}, nil
	}
	return Result{Key: checks[0].Key}, err
}

// explain adds the cause if the caller's context has ended, and explains an error of the scripts.
func explain(ctx context.Context, err error) error {
	if reply := (*rueidis.RedisError)(nil); errors.As(err, &reply) {
		if key, ok := strings.CutPrefix(reply.Error(), "FOREIGN "); ok {
			return fmt.Errorf("the key %q holds something that is not a limit and was left unchanged: use another name or prefix", key)
		}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// strictest returns the result of the strictest limit among the group and the current result, if
// its Key is set.
func strictest(current Result, checks []Check, group []int, ahead []int64, allowed bool) Result {
	for i, at := range group {
		c := checks[at]
		candidate := c.result(ahead[i], allowed || ahead[i]+c.cost() <= c.Limit.span())
		switch {
		case current.Key == "",
			current.Allowed && !candidate.Allowed,
			current.Allowed && candidate.Allowed && candidate.Remaining < current.Remaining,
			!current.Allowed && !candidate.Allowed && (candidate.RetryAfter < 0 || current.RetryAfter >= 0 && candidate.RetryAfter > current.RetryAfter):
			current = candidate
		}
	}
	return current
}

// result returns the decision of one limit. ahead is how far its TAT is in the future.
func (c Check) result(ahead int64, allowed bool) Result {
	r := Result{
		Allowed:    allowed,
		Key:        c.Key,
		Remaining:  int(max(0, c.Limit.span()-ahead) / c.Limit.interval()),
		ResetAfter: time.Duration(ahead) * time.Microsecond,
	}
	if !allowed {
		r.RetryAfter = time.Duration(ahead+c.cost()-c.Limit.span()) * time.Microsecond
		if c.neverAllowed() {
			r.RetryAfter = -1
		}
	}
	return r
}
