package redlock

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/redlock/internal/clock"
)

var (
	//go:embed grant.lua
	grantLua string
	//go:embed held.lua
	heldLua string
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

// script is the script of one kind of op: called by its digest, and sent in full to
// a server that does not know it yet.
type script struct{ source, sha string }

// newScripts returns the script of each kind.
func newScripts() [kinds]script {
	var scripts [kinds]script
	for k, source := range [kinds]string{
		opAcquire: grantLua + quarantineLua + tokenLua + acquireLua,
		opRelease: grantLua + heldLua + releaseLua,
		opExtend:  heldLua + tokenLua + extendLua,
		opRaise:   raiseLua,
		opShow:    quarantineLua + showLua,
		opBoot:    bootLua,
		opOwner:   heldLua + ownerLua,
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
	clock   clock.Clock
	cluster bool
	// failover says that the client switches to another server if this one fails.
	failover bool
	// dial makes the client when it is first needed; nil if the caller owns it.
	dial func(*redisServer) (rueidis.Client, error)

	mu     sync.Mutex
	client rueidis.Client
	conns  []net.Conn // made by dial
	closed bool
	boot   bootState
	// dials counts the connections made by dial.
	dials atomic.Int64
	// listens says that the subscription of this manager is active.
	listens atomic.Bool

	// run owns these; one goroutine calls it.
	batch []rueidis.Completed
	sent  []int // the index of the op of each command
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
	if s.client != nil || s.closed { // the listener or Close came first
		client.Close()
		return s.client, nil
	}
	s.client = client
	return client, nil
}

// addConn records a connection, so that Close can end it, and that the server at its
// other end may be another run.
func (s *redisServer) addConn(conn net.Conn) error {
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
	// Close of a client waits for the replies of a server that hangs.
	for _, conn := range conns {
		conn.Close()
	}
	if client != nil {
		client.Close()
	}
}

// verdict decodes the result of an op that was sent alone. It sends the whole script if
// the server did not know it.
func (s *redisServer) verdict(ctx context.Context, client rueidis.Client, o *op, result rueidis.RedisResult) reply {
	if unknownScript(result) {
		result = client.Do(ctx, s.command(client, o, true))
	}
	return decode(o, result)
}

// decodeAll decodes the results of a batch. It sends the ops whose script the server did
// not know again, with the whole script, and every later op on the same name, so that
// the server executes them in order: a release before the extension that it follows would
// find the old value and change nothing, and the lock would last until it expires. All
// ops can be repeated; one that succeeded keeps its first reply.
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
			// On a Cluster each node needs the script.
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

// unknownScript reports whether a server did not execute a script because it does not
// know it.
func unknownScript(result rueidis.RedisResult) bool {
	refused, ok := rueidis.IsRedisErr(result.Error())
	return ok && refused.IsNoScript()
}

// command builds the call of an op: by its digest, or with the whole script.
func (s *redisServer) command(client rueidis.Client, o *op, whole bool) rueidis.Completed {
	number := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	var keys [5]string
	var args []string
	count := 2
	before := o.chain.before(o.position, s.index)
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
			strconv.FormatUint(o.attempt, 10), number(o.within), s.listensFlag(),
		}
	case opRelease:
		keys, count = [5]string{o.name, waitersKey(o.name), attemptsKey(o.name)}, 3
		args = append([]string{number(o.grant), s.queued(o), o.value, number(o.free), number(o.every)}, before...)
	case opExtend:
		keys, count = [5]string{o.name, tokenKey(o.name), waitersKey(o.name), bootKey()}, 4
		if s.cluster {
			count--
		}
		args = append([]string{o.value, number(o.ttl), flag(o.fence)}, before...)
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
		args = append([]string{o.value, o.owner.host, o.owner.pid, o.owner.since, o.owner.text, flag(o.owner.gone)}, before...)
	}
	if whole {
		return client.B().Eval().Script(s.scripts[o.kind].source).Numkeys(int64(count)).Key(keys[:count]...).Arg(args...).Build()
	}
	return client.B().Evalsha().Sha1(s.scripts[o.kind].sha).Numkeys(int64(count)).Key(keys[:count]...).Arg(args...).Build()
}

// queued returns the queue member of an op that waits, or stops waiting.
func (s *redisServer) queued(o *op) string {
	if !o.queue || o.quick {
		return ""
	}
	return s.id + ":" + o.chain.first(o.value)
}

// listensFlag says whether this manager listens for its grants on this server. The
// subscription of a Cluster is on one of its nodes, and a node that publishes does
// not see subscriptions on others.
func (s *redisServer) listensFlag() string {
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
		quarantined, _ := parts[3].AsInt64()
		owner := decodeOwner(parts[4], value)
		return reply{
			answer: yes, value: value, ttl: time.Duration(max(left, 0)) * time.Millisecond, waiters: waiters,
			quarantined: time.Duration(quarantined) * time.Millisecond, owner: &owner,
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
		return reply{answer: failed, ttl: left, err: quarantineError{left}}
	default:
		return reply{answer: failed, err: errNotLock}
	}
}

// failure distinguishes an error of a server, which did nothing, from one of a
// connection, after which the outcome is unknown.
func failure(err error) reply {
	if refused, ok := rueidis.IsRedisErr(err); ok {
		text := refused.Error()
		if strings.HasPrefix(text, "MOVED ") || strings.HasPrefix(text, "CLUSTERDOWN") {
			err = fmt.Errorf("%w: a node of a Cluster is not an independent server: make the manager with New and a client of the Cluster", err)
		}
		return reply{answer: failed, err: err}
	}
	if errors.Is(err, rueidis.ErrClosing) {
		err = errors.New("the client was closed")
	}
	return reply{answer: failed, maybe: true, broken: true, err: err}
}

func (s *redisServer) listen(ctx context.Context, channel string, ready func(), receive func(message string, votes bool)) error {
	defer s.listens.Store(false)
	ctx = rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) {
		s.listens.Store(true)
		ready()
	})
	client, err := s.connect()
	if err != nil {
		return err
	}
	subscribe := func(c rueidis.CoreClient, votes bool) error {
		return c.Receive(ctx, c.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { receive(m.Message, votes) })
	}
	if s.cluster {
		return subscribe(client, false)
	}
	// On a separate connection: rueidis answers a single caller faster on one
	// without subscriptions.
	return client.Dedicated(func(d rueidis.DedicatedClient) error {
		return subscribe(d, mayVote(decodeBoot(d.Do(ctx, s.bootCommand(client, bootAsk{}, false)))).answer == yes)
	})
}

// answerTime is how long a connection may be silent before it is closed. What the
// server still executes then is undone over the next one.
const answerTime = 2 * time.Second

// sha1Hex returns the digest by which servers identify a script.
func sha1Hex(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
