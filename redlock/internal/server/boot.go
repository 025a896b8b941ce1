package server

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

// bootState describes the last known run of a server. Redis.mu guards it.
type bootState struct {
	run string
	// since is the clock reading after the first reply of the run.
	since int64
	// votes means that the run votes, for requests over the connections up to number dialed.
	votes  bool
	dialed int64
	// declared is when each TTL in use was last declared.
	declared map[int64]time.Time
	round    uint64 // Records.round at the last reply
}

// declareAgain is the interval at which a TTL in use is declared again. boot.lua relies on it.
func declareAgain(ttl int64) time.Duration {
	return time.Duration(ttl)*time.Millisecond + 30*time.Second
}

// roundUp rounds a TTL up to two significant digits, in milliseconds, so that few TTLs are recorded
// even if programs use many different TTLs.
func roundUp(ttl time.Duration) int64 {
	ms, unit := ttl.Milliseconds(), int64(1)
	for ms >= 100*unit {
		unit *= 10
	}
	return (ms + unit - 1) / unit * unit
}

// bootRequest is a call of boot.lua.
type bootRequest struct {
	declare        []int64 // the TTLs that are about to be used
	skipQuarantine bool
	round          uint64
}

// bootRequest returns the boot.lua call to make before a batch, and whether it is necessary.
func (s *Redis) bootRequest(batch []*Op, dials int64) (ask bootRequest, needed bool) {
	ask.round = s.records.round()
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range batch {
		switch {
		case o.Kind == Boot:
			needed, ask.skipQuarantine = true, ask.skipQuarantine || o.SkipQuarantine
			continue
		case asksVote(o) && !s.cluster:
			needed = needed || s.dial == nil || !s.boot.votes || s.boot.dialed != dials
		case o.Kind != Extend:
			continue
		}
		if ttl := roundUp(o.TTL); ttl > 0 && !slices.Contains(ask.declare, ttl) {
			// A new connection may reach a restarted server, which lacks the record.
			reconnected := s.dial != nil && s.boot.dialed != dials
			if last, ok := s.boot.declared[ttl]; !ok || reconnected || now.Sub(last) >= declareAgain(ttl) {
				ask.declare = append(ask.declare, ttl)
			}
		}
	}
	return ask, needed || len(ask.declare) > 0 || ask.round != s.boot.round
}

// voted reports whether the server voted according to the last reply.
func (s *Redis) voted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boot.votes
}

// bootArgs returns the arguments of boot.lua.
func (s *Redis) bootArgs(ask bootRequest) []string {
	ttls := make([]string, len(ask.declare))
	for i, ttl := range ask.declare {
		ttls[i] = strconv.FormatInt(ttl, 10)
	}
	longest := s.records.Longest()
	s.mu.Lock()
	defer s.mu.Unlock()
	return []string{
		strings.Join(ttls, " "), strconv.FormatInt(longest.Milliseconds(), 10), s.boot.run,
		s.clock.ID, strconv.FormatInt(s.boot.since, 10), strconv.FormatInt(s.clock.Now(), 10), flag(ask.skipQuarantine),
	}
}

// bootReplied records the reply to a call of boot.lua, sent over a connection up to number dials.
func (s *Redis) bootReplied(ask bootRequest, reply Reply, dials int64) {
	if reply.Answer != Yes {
		s.mu.Lock()
		s.boot.votes = false
		s.mu.Unlock()
		return
	}
	_ = s.records.Observe(s.index, reply)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot.run != reply.Value {
		s.boot = bootState{run: reply.Value, since: s.clock.Now(), declared: map[int64]time.Time{}}
	}
	s.boot.votes, s.boot.dialed, s.boot.round = reply.Quarantined == 0, dials, ask.round
	for _, ttl := range ask.declare {
		s.boot.declared[ttl] = now
	}
}

// mayVote converts a reply of boot.lua into a reply whose answer is Yes only if the server votes.
func mayVote(reply Reply) Reply {
	if reply.Answer == Yes && reply.Quarantined > 0 {
		return Reply{Answer: Failed, TTL: reply.Quarantined, Err: QuarantineError{reply.Quarantined}}
	}
	return reply
}

// askBoot calls boot.lua and records the reply.
func (s *Redis) askBoot(ctx context.Context, client rueidis.Client, ask bootRequest) Reply {
	before := s.dials.Load()
	return s.bootReply(ctx, client, ask, before, client.Do(ctx, s.bootCommand(client, ask, false)))
}

// bootReply decodes and records the reply to a call of boot.lua, sent over a connection up to
// number dials. If the server does not have the script, bootReply calls it again with the full
// script.
func (s *Redis) bootReply(ctx context.Context, client rueidis.Client, ask bootRequest, dials int64, result rueidis.RedisResult) Reply {
	if refused, ok := rueidis.IsRedisErr(result.Error()); ok && refused.IsNoScript() {
		result = client.Do(ctx, s.bootCommand(client, ask, true))
	}
	reply := decodeBoot(result)
	s.bootReplied(ask, reply, dials)
	return reply
}

// bootCommand builds a call of boot.lua: EVALSHA, or EVAL if full is set.
func (s *Redis) bootCommand(client rueidis.Client, ask bootRequest, full bool) rueidis.Completed {
	script := s.scripts[Boot]
	if full {
		return client.B().Eval().Script(script.source).Numkeys(1).Key(bootKey()).Arg(s.bootArgs(ask)...).Build()
	}
	return client.B().Evalsha().Sha1(script.sha).Numkeys(1).Key(bootKey()).Arg(s.bootArgs(ask)...).Build()
}

// decodeBoot decodes the reply of boot.lua.
func decodeBoot(result rueidis.RedisResult) Reply {
	parts, err := result.ToArray()
	if err != nil {
		return failure(err)
	}
	if len(parts) < 4 {
		return Reply{Answer: Failed, Err: fmt.Errorf("unexpected reply: an array of %d values: there must be at least 4", len(parts))}
	}
	left, _ := parts[0].AsInt64()
	run, _ := parts[1].ToString()
	longest, _ := parts[2].AsInt64()
	since, _ := parts[3].AsInt64()
	reply := Reply{
		Answer: Yes, Value: run, TTL: time.Duration(longest) * time.Millisecond, Quarantined: time.Duration(left) * time.Millisecond,
	}
	if since > 0 {
		reply.Since = time.UnixMilli(since)
	}
	return reply
}

// Run executes a batch. If it is unknown whether the server votes, Run first asks: the same run of
// the server answers all requests over one connection. A Redis that opens its own connections asks
// once per connection. Otherwise Run asks with each batch, which rueidis sends over one connection.
// Run does not ask a quarantined server for locks. A Cluster checks with each acquisition whether
// it votes.
func (s *Redis) Run(ctx context.Context, batch []*Op, replies []Reply) {
	defer s.markRefused(replies)
	client, err := s.connect()
	if err != nil {
		failAllWith(replies, Reply{Answer: Failed, Broken: true, Err: err})
		return
	}
	if s.dial == nil {
		// The other case has no deadline, because rueidis is faster for a single caller without a
		// deadline.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ReplyTimeout)
		defer cancel()
	} else {
		ctx = context.Background()
	}
	dials := s.dials.Load()
	ask, needed := s.bootRequest(batch, dials)
	boot := Reply{Answer: Yes}
	if needed && !s.voted() {
		dials = s.dials.Load()
		boot = s.askBoot(ctx, client, ask)
		if boot.Broken {
			failAllWith(replies, boot)
			return
		}
		needed = s.dial == nil && !s.cluster && slices.ContainsFunc(batch, asksVote)
	}
	quarantined := mayVote(boot).Answer != Yes && !s.cluster
	s.batch, s.sent = s.batch[:0], s.sent[:0]
	needed = needed && !quarantined
	if needed {
		s.batch = append(s.batch, s.bootCommand(client, ask, false))
	}
	for i, o := range batch {
		if o.Kind == Boot || o.Kind == Acquire && quarantined {
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
		// The batch may have been sent over a new connection, to a restarted server.
		boot = s.askBoot(ctx, client, ask)
	}
	s.complete(ctx, client, batch, replies, boot)
}

// asksVote reports whether the reply to an op depends on the server's right to vote.
func asksVote(o *Op) bool { return o.Kind == Acquire || o.Kind == Show }

// complete sets the replies that depend on the reply of boot.lua, and releases the locks that a
// quarantined server granted.
func (s *Redis) complete(ctx context.Context, client rueidis.Client, batch []*Op, replies []Reply, boot Reply) {
	vote := mayVote(boot)
	for i, o := range batch {
		switch {
		case o.Kind == Boot:
			replies[i] = boot
		case vote.Answer == Yes || s.cluster:
		case o.Kind == Show && boot.Answer == Yes:
			replies[i].Quarantined = boot.Quarantined
		case o.Kind == Show:
			replies[i] = vote
		case o.Kind == Acquire:
			maybe := replies[i].Maybe
			if replies[i].Answer == Yes {
				undo := &Op{Kind: Release, Name: o.Name, Value: o.Value, Queue: o.Queue, Grant: o.Grant}
				maybe = s.decodeSingle(ctx, client, undo, client.Do(ctx, s.command(client, undo, false))).Answer != Yes
			}
			replies[i] = Reply{Answer: Failed, Maybe: maybe, Broken: boot.Broken, TTL: vote.TTL, Err: vote.Err}
		}
	}
}

// markRefused marks the errors that match ErrRefused.
func (s *Redis) markRefused(replies []Reply) {
	for i, reply := range replies {
		if reply.Answer == Failed {
			replies[i].Err = refused(reply.Err, !s.failover)
		}
	}
}

func failAllWith(replies []Reply, failure Reply) {
	for i := range replies {
		replies[i] = failure
	}
}
