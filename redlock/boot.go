package redlock

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

//go:embed boot.lua
var bootLua string

// bootState is what a redisServer knows about the last run of its server. The lock
// of the redisServer guards it.
type bootState struct {
	run string
	// since is the reading of the clock after the first reply of the run.
	since int64
	// votes says that the run voted, over the connections up to number dialed.
	votes  bool
	dialed int64
	// declared is when each TTL in use was last declared.
	declared map[int64]time.Time
	round    uint64 // of the records, at the last reply
}

// declareAgain is how often a TTL in use is declared again. boot.lua relies on it.
func declareAgain(ttl int64) time.Duration {
	return time.Duration(ttl)*time.Millisecond + 30*time.Second
}

// roundUp rounds a TTL in milliseconds up to two significant digits, so that few are
// on record regardless of the values that programs compute.
func roundUp(ttl time.Duration) int64 {
	number, unit := ttl.Milliseconds(), int64(1)
	for number >= 100*unit {
		unit *= 10
	}
	return (number + unit - 1) / unit * unit
}

// bootAsk is a call of boot.lua.
type bootAsk struct {
	declare        []int64 // the TTLs that are about to be used
	skipQuarantine bool
	round          uint64
}

// bootAsk returns how to ask the server before a batch, and whether that is
// necessary.
func (s *redisServer) bootAsk(batch []*op, dials int64) (ask bootAsk, needed bool) {
	ask.round = s.records.round()
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range batch {
		switch {
		case o.kind == opBoot:
			needed, ask.skipQuarantine = true, ask.skipQuarantine || o.skipQuarantine
			continue
		case asksVote(o) && !s.cluster:
			needed = needed || s.dial == nil || !s.boot.votes || s.boot.dialed != dials
		case o.kind != opExtend:
			continue
		}
		if ttl := roundUp(o.ttl); ttl > 0 && !slices.Contains(ask.declare, ttl) {
			// A new connection may lead to another run, which lacks the record.
			again := s.dial != nil && s.boot.dialed != dials
			if last, ok := s.boot.declared[ttl]; !ok || again || now.Sub(last) >= declareAgain(ttl) {
				ask.declare = append(ask.declare, ttl)
			}
		}
	}
	return ask, needed || len(ask.declare) > 0 || ask.round != s.boot.round
}

// voted reports whether the server voted when it was last asked.
func (s *redisServer) voted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boot.votes
}

// bootArgs returns the arguments of boot.lua.
func (s *redisServer) bootArgs(ask bootAsk) []string {
	ttls := make([]string, len(ask.declare))
	for i, ttl := range ask.declare {
		ttls[i] = strconv.FormatInt(ttl, 10)
	}
	longest := s.records.longest()
	s.mu.Lock()
	defer s.mu.Unlock()
	return []string{
		strings.Join(ttls, " "), strconv.FormatInt(longest.Milliseconds(), 10), s.boot.run,
		s.clock.ID, strconv.FormatInt(s.boot.since, 10), strconv.FormatInt(s.clock.Now(), 10), flag(ask.skipQuarantine),
	}
}

// bootReplied records the reply to a call of boot.lua over the connections up to
// number dials.
func (s *redisServer) bootReplied(ask bootAsk, answered reply, dials int64) {
	if answered.answer != yes {
		s.mu.Lock()
		s.boot.votes = false
		s.mu.Unlock()
		return
	}
	_ = s.records.observe(s.index, answered)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot.run != answered.value {
		s.boot = bootState{run: answered.value, since: s.clock.Now(), declared: map[int64]time.Time{}}
	}
	s.boot.votes, s.boot.dialed, s.boot.round = answered.quarantined == 0, dials, ask.round
	for _, ttl := range ask.declare {
		s.boot.declared[ttl] = now
	}
}

// mayVote returns a reply that is yes if the server votes.
func mayVote(answered reply) reply {
	if answered.answer == yes && answered.quarantined > 0 {
		return reply{answer: failed, ttl: answered.quarantined, err: quarantineError{answered.quarantined}}
	}
	return answered
}

// askBoot calls boot.lua and records the reply.
func (s *redisServer) askBoot(ctx context.Context, client rueidis.Client, ask bootAsk) reply {
	before := s.dials.Load()
	return s.bootReply(ctx, client, ask, before, client.Do(ctx, s.bootCommand(client, ask, false)))
}

// bootReply decodes and records a reply of boot.lua over the connections up to
// number dials.
func (s *redisServer) bootReply(ctx context.Context, client rueidis.Client, ask bootAsk, dials int64, result rueidis.RedisResult) reply {
	if refused, ok := rueidis.IsRedisErr(result.Error()); ok && refused.IsNoScript() {
		result = client.Do(ctx, s.bootCommand(client, ask, true))
	}
	answered := decodeBoot(result)
	s.bootReplied(ask, answered, dials)
	return answered
}

// bootCommand builds a call of boot.lua: by its digest, or with the whole script.
func (s *redisServer) bootCommand(client rueidis.Client, ask bootAsk, whole bool) rueidis.Completed {
	script := s.scripts[opBoot]
	if whole {
		return client.B().Eval().Script(script.source).Numkeys(1).Key(bootKey()).Arg(s.bootArgs(ask)...).Build()
	}
	return client.B().Evalsha().Sha1(script.sha).Numkeys(1).Key(bootKey()).Arg(s.bootArgs(ask)...).Build()
}

// decodeBoot decodes the reply of boot.lua.
func decodeBoot(result rueidis.RedisResult) reply {
	parts, err := result.ToArray()
	if err != nil {
		return failure(err)
	}
	if len(parts) < 4 {
		return reply{answer: failed, err: fmt.Errorf("boot.lua replied with %d values", len(parts))}
	}
	left, _ := parts[0].AsInt64()
	run, _ := parts[1].ToString()
	longest, _ := parts[2].AsInt64()
	since, _ := parts[3].AsInt64()
	answered := reply{
		answer: yes, value: run, ttl: time.Duration(longest) * time.Millisecond, quarantined: time.Duration(left) * time.Millisecond,
	}
	if since > 0 {
		answered.since = time.UnixMilli(since)
	}
	return answered
}

// run executes a batch. First it asks whether the server votes, if that is unknown:
// all requests over one connection are answered by one run of the server. With its
// own connections it asks once per connection; otherwise with each batch, which
// rueidis sends over one connection. A quarantined server is not asked for locks. A
// Cluster checks with each acquisition.
func (s *redisServer) run(ctx context.Context, batch []*op, replies []reply) {
	defer s.markRefused(replies)
	client, err := s.connect()
	if err != nil {
		failAllWith(replies, reply{answer: failed, broken: true, err: err})
		return
	}
	if s.dial == nil {
		// Only here: rueidis answers a single caller faster without a deadline.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerTime)
		defer cancel()
	} else {
		ctx = context.Background()
	}
	dials := s.dials.Load()
	ask, needed := s.bootAsk(batch, dials)
	boot := reply{answer: yes}
	if needed && !s.voted() {
		dials = s.dials.Load()
		boot = s.askBoot(ctx, client, ask)
		if boot.broken {
			failAllWith(replies, boot)
			return
		}
		needed = s.dial == nil && !s.cluster && slices.ContainsFunc(batch, asksVote)
	}
	quarantined := mayVote(boot).answer != yes && !s.cluster
	s.batch, s.sent = s.batch[:0], s.sent[:0]
	needed = needed && !quarantined
	if needed {
		s.batch = append(s.batch, s.bootCommand(client, ask, false))
	}
	for i, o := range batch {
		if o.kind == opBoot || o.kind == opAcquire && quarantined {
			continue
		}
		s.batch, s.sent = append(s.batch, s.command(client, o, false)), append(s.sent, i)
	}
	var results []rueidis.RedisResult
	if len(s.batch) > 0 {
		results = client.DoMulti(ctx, s.batch...)
	}
	if needed {
		boot, results = s.bootReply(ctx, client, ask, dials, results[0]), results[1:]
	}
	s.decodeAll(ctx, client, batch, replies, results)
	if after := s.dials.Load(); after != dials && !quarantined && !s.cluster && slices.ContainsFunc(batch, asksVote) {
		// The batch may have gone over a new connection, to another run.
		boot = s.askBoot(ctx, client, ask)
	}
	s.complete(ctx, client, batch, replies, boot)
}

// asksVote reports whether the reply to an op depends on whether the server votes.
func asksVote(o *op) bool { return o.kind == opAcquire || o.kind == opShow }

// complete derives replies from that of boot.lua, and takes back the locks that a
// quarantined server gave.
func (s *redisServer) complete(ctx context.Context, client rueidis.Client, batch []*op, replies []reply, boot reply) {
	fit := mayVote(boot)
	for i, o := range batch {
		switch {
		case o.kind == opBoot:
			replies[i] = boot
		case fit.answer == yes || s.cluster:
		case o.kind == opShow && boot.answer == yes:
			replies[i].quarantined = boot.quarantined
		case o.kind == opShow:
			replies[i] = fit
		case o.kind == opAcquire:
			gave := replies[i].answer == yes
			maybe := replies[i].maybe
			if gave {
				undo := &op{kind: opRelease, name: o.name, value: o.value, queue: o.queue, grant: o.grant}
				maybe = s.verdict(ctx, client, undo, client.Do(ctx, s.command(client, undo, false))).answer != yes
			}
			replies[i] = reply{answer: failed, maybe: maybe, broken: boot.broken, ttl: fit.ttl, err: fit.err}
		}
	}
}

func (s *redisServer) markRefused(replies []reply) {
	for i, answered := range replies {
		if answered.answer == failed {
			replies[i].err = refused(answered.err, !s.failover)
		}
	}
}

func failAllWith(replies []reply, failure reply) {
	for i := range replies {
		replies[i] = failure
	}
}
