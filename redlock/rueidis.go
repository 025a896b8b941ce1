package redlock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	//go:embed token.lua
	tokenLua string
	//go:embed quarantine.lua
	quarantineLua string
)

// script is what one kind of op runs: by its digest, and in full where a server
// does not know it yet.
type script struct{ source, sha string }

// newScripts returns the script of each kind.
func newScripts() [kinds]script {
	var scripts [kinds]script
	for k, source := range [kinds]string{
		opAcquire: grantLua + quarantineLua + tokenLua + acquireLua,
		opRelease: grantLua + releaseLua,
		opExtend:  tokenLua + extendLua,
		opRaise:   raiseLua,
		opShow:    quarantineLua + showLua,
		opLearn:   bootLua,
		opOwner:   ownerLua,
	} {
		scripts[k] = script{source: source, sha: sha1Hex(source)}
	}
	return scripts
}

// redisServer is a server behind a rueidis.Client: one server, or a Cluster that
// counts as one.
type redisServer struct {
	label   string
	scripts [kinds]script
	id      string // of the manager
	index   int    // among its servers
	records *records
	clock   monotonic
	cluster bool
	// failover says that the client finds another server when this one fails.
	failover bool
	// dial makes the client when it is first needed; nil where the caller
	// owns it.
	dial func(*redisServer) (rueidis.Client, error)

	mu     sync.Mutex
	client rueidis.Client
	conns  []net.Conn // that dial made
	closed bool
	boot   bootState
	// dials counts the connections that dial made.
	dials atomic.Int64
	// listens says that the server knows that this manager listens.
	listens atomic.Bool

	// These belong to run, which one goroutine calls.
	batch []rueidis.Completed
	sent  []int // which op each of them is
}

func (s *redisServer) name() string { return s.label }

// connect returns the client.
func (s *redisServer) connect() (rueidis.Client, error) {
	s.mu.Lock()
	client, closed := s.client, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case client != nil:
		return client, nil
	}
	client, err := s.dial(s)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil || s.closed { // the listener was quicker, or Close
		client.Close()
		return s.client, nil
	}
	s.client = client
	return client, nil
}

// dialed notes a connection, so that Close can end it, and that what is behind it
// may be another run of the server.
func (s *redisServer) dialed(conn net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials.Add(1)
	if s.closed {
		conn.Close()
		return ErrClosed
	}
	s.conns = append(s.conns[max(0, len(s.conns)-3):], conn)
	return nil
}

func (s *redisServer) close() {
	s.mu.Lock()
	client, conns, closed := s.client, s.conns, s.closed
	s.closed = true
	s.mu.Unlock()
	if closed || s.dial == nil {
		return
	}
	// A client waits for the answers of a server that hangs.
	for _, conn := range conns {
		conn.Close()
	}
	if client != nil {
		client.Close()
	}
}

// verdict reads the result of an op that was sent alone. It sends the whole script
// where the server did not know it.
func (s *redisServer) verdict(ctx context.Context, client rueidis.Client, o *op, result rueidis.RedisResult) reply {
	if unknownScript(result) {
		result = client.Do(ctx, s.command(client, o, true))
	}
	return decode(o, result)
}

// decodeAll reads the results of the ops that were sent. Those whose script the
// server did not know are sent again, with the whole script, and so is every later op
// on the same name, so that the server carries them out in order: a release that came
// before the extension it follows would find the value of before and change nothing,
// and the lock would last until it expires. All ops can be repeated; one that
// succeeded keeps its first reply.
func (s *redisServer) decodeAll(ctx context.Context, client rueidis.Client, batch []*op, replies []reply, results []rueidis.RedisResult) {
	late := map[string]bool{} // names whose ops are out of order
	var known [kinds]bool
	var again []rueidis.Completed
	var sent []int
	for j, result := range results {
		i := s.sent[j]
		o := batch[i]
		replies[i] = decode(o, result)
		unknown := unknownScript(result)
		if unknown {
			late[o.name] = true
		}
		if late[o.name] && !(o.quick && replies[i].answer == yes) {
			// On a Cluster each node has to learn the script.
			again = append(again, s.command(client, o, unknown && (s.cluster || !known[o.kind])))
			sent = append(sent, i)
			known[o.kind] = known[o.kind] || unknown
		}
	}
	if len(again) == 0 {
		return
	}
	for j, result := range client.DoMulti(ctx, again...) {
		if i := sent[j]; replies[i].answer != yes {
			replies[i] = decode(batch[i], result)
		}
	}
}

// unknownScript reports whether a server did not run a script because it does not
// know it.
func unknownScript(result rueidis.RedisResult) bool {
	refused, ok := rueidis.IsRedisErr(result.Error())
	return ok && refused.IsNoScript()
}

// command builds the call of an op: of its digest, or of the whole script.
func (s *redisServer) command(client rueidis.Client, o *op, whole bool) rueidis.Completed {
	number := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	var keys [5]string
	var args []string
	count := 2
	switch o.kind {
	case opAcquire:
		if o.quick && !s.cluster {
			return client.B().Set().Key(o.name).Value(o.value).Nx().PxMilliseconds(o.ttl.Milliseconds()).Build()
		}
		keys, count = [...]string{o.name, waitersKey(o.name), tokenKey(o.name), attemptsKey(o.name), bootKey()}, 5
		longest := ""
		if s.cluster {
			count--
			longest = number(s.records.longest())
		}
		args = []string{
			o.value, number(o.ttl), s.queued(o), strconv.FormatInt(o.since, 10),
			number(o.line), number(o.grant), flag(o.fence), strconv.FormatInt(o.waited.Microseconds(), 10), longest,
			strconv.FormatUint(o.attempt, 10), number(o.within), s.earshot(),
		}
	case opRelease:
		keys, count = [5]string{o.name, waitersKey(o.name), attemptsKey(o.name)}, 3
		args = []string{number(o.grant), s.queued(o), o.value, o.other, number(o.free), number(o.every)}
	case opExtend:
		keys, count = [5]string{o.name, tokenKey(o.name), waitersKey(o.name), bootKey()}, 4
		if s.cluster {
			count--
		}
		args = []string{o.value, o.other, number(o.ttl), flag(o.fence)}
	case opRaise:
		keys[0], count = tokenKey(o.name), 1
		args = []string{strconv.FormatUint(o.token, 10)}
	case opShow:
		keys, count = [5]string{o.name, waitersKey(o.name), ownerKey(o.name)}, 3
		longest := ""
		if s.cluster {
			longest = number(s.records.longest())
		}
		args = []string{longest}
	case opOwner:
		keys[0], keys[1] = o.name, ownerKey(o.name)
		args = []string{o.value, o.other, o.owner.host, o.owner.pid, o.owner.since, o.owner.text, flag(o.owner.gone)}
	}
	if whole {
		return client.B().Eval().Script(s.scripts[o.kind].source).Numkeys(int64(count)).Key(keys[:count]...).Arg(args...).Build()
	}
	return client.B().Evalsha().Sha1(s.scripts[o.kind].sha).Numkeys(int64(count)).Key(keys[:count]...).Arg(args...).Build()
}

// queued returns the member of the line of an op that waits, or stops waiting.
func (s *redisServer) queued(o *op) string {
	if !o.queue || o.quick {
		return ""
	}
	return s.id + ":" + o.value
}

// earshot says whether this manager listens for its grants on this server. The
// subscription of a Cluster is on one node of it, and those who publish on another
// one do not see it.
func (s *redisServer) earshot() string {
	if s.listens.Load() && !s.cluster {
		return "1"
	}
	return "0"
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return ""
}

// decode reads the reply of a script.
func decode(o *op, result rueidis.RedisResult) reply {
	if err := result.Error(); rueidis.IsRedisNil(err) {
		return reply{answer: no} // SET NX
	} else if err != nil {
		return failure(err)
	}
	if o.quick {
		if text, err := result.ToString(); err == nil && text == "OK" {
			return reply{answer: yes}
		}
	}
	if o.kind == opRelease || o.kind == opRaise || o.kind == opOwner {
		done, err := result.AsInt64()
		switch {
		case err != nil:
			return failure(err)
		case done == 1:
			return reply{answer: yes}
		}
		return reply{answer: no, foreign: done == 2}
	}
	parts, err := result.ToArray()
	if err != nil || len(parts) < 2 {
		return reply{answer: failed, err: fmt.Errorf("unexpected answer: %v", err), maybe: true}
	}
	if o.kind == opShow && len(parts) == 5 {
		value, _ := parts[0].ToString()
		left, _ := parts[1].AsInt64()
		waiters, _ := parts[2].AsInt64()
		young, _ := parts[3].AsInt64()
		return reply{
			answer: yes, value: value, ttl: time.Duration(max(left, 0)) * time.Millisecond, waiters: waiters,
			young: time.Duration(young) * time.Millisecond, owner: decodeOwner(parts[4], value),
		}
	}
	verdict, _ := parts[0].AsInt64()
	number, _ := parts[1].AsInt64()
	left := time.Duration(max(number, 0)) * time.Millisecond
	switch verdict {
	case 1:
		answered := reply{answer: yes, token: uint64(number)}
		fresh := 2
		if o.kind == opExtend && len(parts) > 2 {
			answered.waiters, _ = parts[2].AsInt64()
			fresh = 3
		}
		if len(parts) > fresh {
			begun, _ := parts[fresh].AsInt64()
			answered.fresh = begun == 1
		}
		return answered
	case 0:
		answered := reply{answer: no, ttl: left}
		if len(parts) > 2 {
			answered.value, _ = parts[2].ToString()
		}
		return answered
	case -1:
		return reply{answer: failed, ttl: left, err: youngError{left}}
	default:
		return reply{answer: failed, err: errNotLock}
	}
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
	return reply{answer: failed, maybe: true, broken: true, err: err}
}

func (s *redisServer) listen(ctx context.Context, channel string, ready func(), heard func(message string, fit bool)) error {
	defer s.listens.Store(false)
	ctx = rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) {
		s.listens.Store(true)
		ready()
	})
	client, err := s.connect()
	if err != nil {
		return err
	}
	receive := func(c rueidis.CoreClient, fit bool) error {
		return c.Receive(ctx, c.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { heard(m.Message, fit) })
	}
	if s.cluster {
		return receive(client, false)
	}
	// Not on the connection that the ops go over: rueidis answers a single
	// caller quicker where it listens to nothing else.
	return client.Dedicated(func(d rueidis.DedicatedClient) error {
		return receive(d, mayVote(decodeBoot(d.Do(ctx, s.bootCommand(client, bootAsk{}, false)))).answer == yes)
	})
}
