package redlock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

var (
	//go:embed grant.lua
	grantLua string
	//go:embed acquire.lua
	acquireLua string
	//go:embed release.lua
	releaseLua string
	//go:embed extend.lua
	extendLua string
	//go:embed raise.lua
	raiseLua string
	//go:embed show.lua
	showLua string
	//go:embed learn.lua
	learnLua string
)

// script is what one kind of op runs: by its digest, and in full where a server
// does not know it yet.
type script struct{ source, sha string }

// newScripts returns the script of each kind.
func newScripts() [opLearn + 1]script {
	var scripts [opLearn + 1]script
	for k, source := range map[kind]string{
		opAcquire: grantLua + acquireLua,
		opRelease: grantLua + releaseLua,
		opExtend:  extendLua,
		opRaise:   raiseLua,
		opShow:    showLua,
		opLearn:   learnLua,
	} {
		scripts[k] = script{source: source, sha: sha1Hex(source)}
	}
	return scripts
}

// redisServer is a server behind a rueidis.Client: one server, or a Cluster that
// counts as one.
type redisServer struct {
	label   string
	scripts [opLearn + 1]script
	// dial makes the client when it is first needed; nil where the caller
	// owns it.
	dial func() (rueidis.Client, error)

	mu      sync.Mutex
	client  rueidis.Client
	closed  bool
	cluster bool

	// These belong to run, which one goroutine calls.
	batch   []rueidis.Completed
	longest func() time.Duration
	id      string
}

func (s *redisServer) name() string { return s.label }

func (s *redisServer) batched() bool { return !s.cluster }

// connect returns the client.
func (s *redisServer) connect() (rueidis.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.client == nil {
		client, err := s.dial()
		if err != nil {
			return nil, err
		}
		s.client = client
	}
	return s.client, nil
}

func (s *redisServer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.dial != nil && s.client != nil {
		s.client.Close()
	}
}

func (s *redisServer) run(ctx context.Context, batch []*op, replies []reply) {
	client, err := s.connect()
	if err != nil {
		for i := range replies {
			replies[i] = reply{answer: failed, err: err}
		}
		return
	}
	// The first acquisition asks whether the server may vote at all. What
	// follows goes over the same connection, so to the same run of the server;
	// only a Cluster has to be asked each time.
	asker := -1
	s.batch = s.batch[:0]
	for i, o := range batch {
		check := o.kind == opAcquire && (asker < 0 || s.cluster)
		if check && asker < 0 {
			asker = i
		}
		s.batch = append(s.batch, s.command(client, o, check, false))
	}
	for i, result := range client.DoMulti(ctx, s.batch...) {
		if unknown, ok := rueidis.IsRedisErr(result.Error()); ok && unknown.IsNoScript() {
			o := batch[i]
			result = client.Do(ctx, s.command(client, o, o.kind == opAcquire, true))
		}
		replies[i] = decode(batch[i], result)
	}
	if asker < 0 || s.cluster {
		return
	}
	if first := replies[asker]; first.answer == failed && first.err != errNotLock {
		for i := asker + 1; i < len(batch); i++ {
			if batch[i].kind == opAcquire {
				replies[i] = reply{answer: failed, maybe: replies[i].answer == yes || replies[i].maybe, ttl: first.ttl, err: first.err}
			}
		}
	}
}

// command builds the call of an op: of its digest, or of the whole script.
func (s *redisServer) command(client rueidis.Client, o *op, check, whole bool) rueidis.Completed {
	number := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	keys := make([]string, 0, 4)
	args := make([]string, 0, 8)
	switch o.kind {
	case opAcquire:
		keys = append(keys, o.name, waitersKey(o.name), tokenKey(o.name))
		if !s.cluster {
			keys = append(keys, bootKey())
		}
		quarantine := ""
		if check {
			quarantine = number(s.longest())
		}
		args = append(args, o.value, number(o.ttl), s.queued(o), strconv.FormatInt(o.since, 10),
			number(o.line), number(o.grant), flag(o.fence), quarantine)
	case opRelease:
		keys = append(keys, o.name, waitersKey(o.name))
		args = append(args, number(o.grant), s.queued(o), o.value, o.other)
	case opExtend:
		keys = append(keys, o.name, tokenKey(o.name))
		args = append(args, o.value, o.other, number(o.ttl), flag(o.fence))
	case opRaise:
		keys = append(keys, tokenKey(o.name))
		args = append(args, strconv.FormatUint(o.token, 10))
	case opShow:
		keys = append(keys, o.name, waitersKey(o.name))
	case opLearn:
		keys = append(keys, bootKey())
		args = append(args, number(o.ttl), flag(o.trust))
	}
	count := strconv.Itoa(len(keys))
	if whole {
		return client.B().Arbitrary("EVAL", s.scripts[o.kind].source, count).Keys(keys...).Args(args...).Build()
	}
	return client.B().Arbitrary("EVALSHA", s.scripts[o.kind].sha, count).Keys(keys...).Args(args...).Build()
}

// queued returns the member of the line of an op that waits, or stops waiting.
func (s *redisServer) queued(o *op) string {
	if !o.queue {
		return ""
	}
	return s.id + ":" + o.value
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return ""
}

// decode reads the reply of a script.
func decode(o *op, result rueidis.RedisResult) reply {
	if err := result.Error(); err != nil {
		return failure(err)
	}
	if o.kind == opRelease || o.kind == opRaise {
		done, err := result.AsInt64()
		switch {
		case err != nil:
			return failure(err)
		case done == 1:
			return reply{answer: yes}
		}
		return reply{answer: no}
	}
	parts, err := result.ToArray()
	if err != nil || len(parts) < 2 {
		return reply{answer: failed, err: fmt.Errorf("unexpected answer: %v", err), maybe: true}
	}
	switch o.kind {
	case opShow:
		value, _ := parts[0].ToString()
		left, _ := parts[1].AsInt64()
		waiters, _ := parts[2].AsInt64()
		return reply{answer: yes, value: value, ttl: time.Duration(max(left, 0)) * time.Millisecond, waiters: waiters}
	case opLearn:
		run, _ := parts[0].ToString()
		longest, _ := parts[1].AsInt64()
		return reply{answer: yes, value: run, ttl: time.Duration(longest) * time.Millisecond}
	}
	verdict, _ := parts[0].AsInt64()
	number, _ := parts[1].AsInt64()
	left := time.Duration(max(number, 0)) * time.Millisecond
	switch verdict {
	case 1:
		return reply{answer: yes, token: uint64(number)}
	case 0:
		return reply{answer: no, ttl: left}
	case -1:
		return reply{answer: failed, ttl: left, err: youngError{left}}
	default:
		return reply{answer: failed, err: errNotLock}
	}
}

// youngError says that a server does not vote yet.
type youngError struct{ left time.Duration }

func (e youngError) Error() string {
	return fmt.Sprintf("started lately and may have lost locks: does not vote for another %v", e.left)
}

// failure tells the errors of a server, which did nothing, from those of a
// connection, which leave open what the server did.
func failure(err error) reply {
	if refused, ok := rueidis.IsRedisErr(err); ok {
		text := refused.Error()
		if strings.HasPrefix(text, "MOVED ") || strings.HasPrefix(text, "CLUSTERDOWN") {
			err = fmt.Errorf("%w: a server of a Cluster does not stand alone: make the manager with New and a client of the Cluster", err)
		}
		return reply{answer: failed, err: err}
	}
	if errors.Is(err, rueidis.ErrClosing) {
		err = errors.New("the client was closed")
	}
	return reply{answer: failed, maybe: true, err: err}
}

func (s *redisServer) listen(ctx context.Context, channel string, heard func(value string)) error {
	client, err := s.connect()
	if err != nil {
		return err
	}
	receive := func(c rueidis.CoreClient) error {
		return c.Receive(ctx, c.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { heard(m.Message) })
	}
	if s.cluster {
		return receive(client)
	}
	// Not on the connection that the ops go over: rueidis answers a single
	// caller quicker where it listens to nothing else.
	return client.Dedicated(func(d rueidis.DedicatedClient) error { return receive(d) })
}
