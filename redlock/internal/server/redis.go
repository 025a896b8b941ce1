package server

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

// script is the script of one kind of op. It is called by its digest, and sent in full to a server
// that does not have it.
type script struct{ source, sha string }

// newScripts returns the script of each kind.
func newScripts() [kinds]script {
	var scripts [kinds]script
	for k, source := range [kinds]string{
		Acquire:     grantLua + quarantineLua + tokenLua + acquireLua,
		Release:     grantLua + releaseLua,
		Extend:      extendLua,
		Raise:       raiseLua,
		Show:        quarantineLua + showLua,
		Boot:        bootLua,
		RecordOwner: ownerLua,
	} {
		scripts[k] = script{source: source, sha: sha1Hex(source)}
	}
	return scripts
}

// Redis is a server behind a rueidis.Client: one server, or a Cluster that counts as one server.
type Redis struct {
	label   string
	scripts [kinds]script
	id      string // ID of the manager
	index   int    // index among the manager's servers
	records *Records
	clock   clock.Clock
	cluster bool
	// failover means that the client switches to another server if this server fails.
	failover bool
	// dial creates the client when it is first needed; nil if the caller owns it.
	dial func(*Redis) (rueidis.Client, error)

	mu     sync.Mutex
	client rueidis.Client
	conns  []net.Conn // opened by dial
	closed bool
	boot   bootState
	// dials counts the connections opened by dial.
	dials atomic.Int64
	// listens reports whether this manager's subscription is active.
	listens atomic.Bool

	// Only Run uses batch and sent. One goroutine calls Run.
	batch []rueidis.Completed
	sent  []int // index of the op of each command in batch
}

// NewRedis returns a server behind a client that the caller closes.
func NewRedis(client rueidis.Client, label string) *Redis {
	return &Redis{
		label:    label,
		client:   client,
		cluster:  client.Mode() == rueidis.ClientModeCluster,
		failover: client.Mode() != rueidis.ClientModeStandalone,
	}
}

// Prepare assigns servers to a manager. It must be called before any server runs a batch.
func Prepare(servers []*Redis, manager string, records *Records) {
	scripts, machine := newScripts(), clock.Machine()
	for i, s := range servers {
		s.index, s.scripts, s.clock, s.id, s.records = i, scripts, machine, manager, records
	}
}

// Name implements Server.
func (s *Redis) Name() string { return s.label }

// IsCluster reports whether the server is a Cluster. See SharesSlot.
func (s *Redis) IsCluster() bool { return s.cluster }

// connect returns the client, and creates it if necessary.
func (s *Redis) connect() (rueidis.Client, error) {
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
	if s.client != nil || s.closed { // the listener or Close was first
		client.Close()
		return s.client, nil
	}
	s.client = client
	return client, nil
}

// addConn records a new connection, so that Close can close it. It also counts the connections,
// because a new connection may reach a restarted server.
func (s *Redis) addConn(conn net.Conn) error {
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

// Close implements Server. It closes the connections of a dialed server, so calls that wait for a
// reply fail. It leaves a caller's client open.
func (s *Redis) Close() {
	s.mu.Lock()
	client, conns, closed := s.client, s.conns, s.closed
	s.closed = true
	s.mu.Unlock()
	if closed || s.dial == nil {
		return
	}
	// The Close method of a client would wait for the replies of a server that hangs.
	for _, conn := range conns {
		conn.Close()
	}
	if client != nil {
		client.Close()
	}
}

// decodeSingle decodes the result of an op that was sent alone. If the server does not have the
// script, decodeSingle sends the op again with the full script.
func (s *Redis) decodeSingle(ctx context.Context, client rueidis.Client, o *Op, result rueidis.RedisResult) Reply {
	if unknownScript(result) {
		result = client.Do(ctx, s.command(client, o, true))
	}
	return decode(o, result)
}

// decodeAll decodes the results of a batch. If the server does not have the script of an op,
// decodeAll resends the op with the full script, and also every later op on the same name, so that
// the server executes these ops in order: a release that is executed before its acquisition would
// have no effect, and the lock would last until it expires. All ops are idempotent; an op that
// succeeded keeps its first reply.
func (s *Redis) decodeAll(ctx context.Context, client rueidis.Client, batch []*Op, replies []Reply, results []rueidis.RedisResult) {
	outOfOrder := map[string]bool{} // names whose ops must be repeated in order
	var known [kinds]bool
	var resend []rueidis.Completed
	var sent []int
	for j, result := range results {
		i := s.sent[j]
		o := batch[i]
		replies[i] = decode(o, result)
		unknown := unknownScript(result)
		if unknown {
			outOfOrder[o.Name] = true
		}
		if outOfOrder[o.Name] && !(o.Quick && replies[i].Answer == Yes) {
			// On a Cluster each node needs the script.
			resend = append(resend, s.command(client, o, unknown && (s.cluster || !known[o.Kind])))
			sent = append(sent, i)
			known[o.Kind] = known[o.Kind] || unknown
		}
	}
	if len(resend) == 0 {
		return
	}
	for j, result := range client.DoMulti(ctx, resend...) {
		if i := sent[j]; replies[i].Answer != Yes {
			replies[i] = decode(batch[i], result)
		}
	}
}

// unknownScript reports whether the server does not have the script that was called.
func unknownScript(result rueidis.RedisResult) bool {
	refused, ok := rueidis.IsRedisErr(result.Error())
	return ok && refused.IsNoScript()
}

// command builds the command of an op: SET for a quick acquisition, otherwise EVALSHA, or EVAL if
// full is set.
func (s *Redis) command(client rueidis.Client, o *Op, full bool) rueidis.Completed {
	number := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	var keys [5]string
	var args []string
	count := 2
	switch o.Kind {
	case Acquire:
		if o.Quick && !s.cluster {
			return client.B().Set().Key(o.Name).Value(o.Value).Nx().PxMilliseconds(o.TTL.Milliseconds()).Build()
		}
		keys, count = [...]string{o.Name, waitersKey(o.Name), tokenKey(o.Name), attemptsKey(o.Name), bootKey()}, 5
		longest := ""
		if s.cluster {
			count--
			longest = number(s.records.Longest())
		}
		args = []string{
			o.Value, number(o.TTL), s.queued(o), strconv.FormatInt(o.Since, 10),
			number(o.Line), number(o.Grant), strconv.Itoa(o.Tokens), strconv.FormatInt(o.Waited.Microseconds(), 10), longest,
			number(o.Within), s.listensFlag(),
		}
	case Release:
		keys, count = [5]string{o.Name, waitersKey(o.Name), attemptsKey(o.Name)}, 3
		args = []string{number(o.Grant), s.queued(o), o.Value, number(o.Free), number(o.Every)}
	case Extend:
		keys[0], count = o.Name, 1
		args = []string{o.Value, number(o.TTL)}
	case Raise:
		keys[0], count = tokenKey(o.Name), 1
		args = []string{strconv.FormatUint(o.Token, 10)}
	case Show:
		keys, count = [5]string{o.Name, waitersKey(o.Name), ownerKey(o.Name)}, 3
		longest := ""
		if s.cluster {
			longest = number(s.records.Longest())
		}
		args = []string{longest}
	case RecordOwner:
		keys[0], keys[1] = o.Name, ownerKey(o.Name)
		h := o.Owner
		args = []string{o.Value, h.Host, strconv.Itoa(h.PID), strconv.FormatInt(h.Since.UnixMilli(), 10), h.Text, flag(h.Gone)}
	}
	if full {
		return client.B().Eval().Script(s.scripts[o.Kind].source).Numkeys(int64(count)).Key(keys[:count]...).Arg(args...).Build()
	}
	return client.B().Evalsha().Sha1(s.scripts[o.Kind].sha).Numkeys(int64(count)).Key(keys[:count]...).Arg(args...).Build()
}

// queued returns the queue member of an op that joins or leaves the queue, or "" for other ops.
func (s *Redis) queued(o *Op) string {
	if !o.Queue || o.Quick {
		return ""
	}
	return s.id + ":" + o.Value
}

// listensFlag returns "1" if this manager listens for its grants on this server. It returns "0" for
// a Cluster, because the node that publishes does not report subscriptions on other nodes.
func (s *Redis) listensFlag() string {
	if s.listens.Load() && !s.cluster {
		return "1"
	}
	return "0"
}

// flag formats a flag for the scripts.
func flag(b bool) string {
	if b {
		return "1"
	}
	return ""
}

// decode reads the reply of a script.
func decode(o *Op, result rueidis.RedisResult) Reply {
	if err := result.Error(); rueidis.IsRedisNil(err) {
		return Reply{Answer: No} // SET NX
	} else if err != nil {
		return failure(err)
	}
	if o.Quick {
		if text, err := result.ToString(); err == nil && text == "OK" {
			return Reply{Answer: Yes}
		}
	}
	if o.Kind == Release || o.Kind == Extend || o.Kind == Raise || o.Kind == RecordOwner {
		done, err := result.AsInt64()
		switch {
		case err != nil:
			return failure(err)
		case done == 1:
			return Reply{Answer: Yes}
		}
		return Reply{Answer: No, Foreign: done == 2}
	}
	parts, err := result.ToArray()
	if err != nil {
		return Reply{Answer: Failed, Err: fmt.Errorf("unexpected reply: %w", err), Maybe: true}
	}
	if len(parts) < 2 {
		return Reply{Answer: Failed, Err: fmt.Errorf("unexpected reply: an array of %d values: there must be at least 2", len(parts)), Maybe: true}
	}
	if o.Kind == Show && len(parts) == 5 {
		value, _ := parts[0].ToString()
		left, _ := parts[1].AsInt64()
		waiters, _ := parts[2].AsInt64()
		quarantined, _ := parts[3].AsInt64()
		foreign := value != "" && !IsValue(value)
		if foreign && left < 0 {
			return Reply{Answer: Failed, Err: ErrNotLock}
		}
		return Reply{
			Answer: Yes, Value: clip(value), Foreign: foreign, TTL: time.Duration(max(left, 0)) * time.Millisecond, Waiters: waiters,
			Quarantined: time.Duration(quarantined) * time.Millisecond, Owner: decodeOwner(parts[4], value),
		}
	}
	code, _ := parts[0].AsInt64()
	number, _ := parts[1].AsInt64()
	left := time.Duration(max(number, 0)) * time.Millisecond
	switch code {
	case 1:
		reply := Reply{Answer: Yes, Token: uint64(number)}
		if len(parts) > 2 {
			fresh, _ := parts[2].AsInt64()
			reply.Fresh = fresh == 1
		}
		return reply
	case 0:
		reply := Reply{Answer: No, TTL: left}
		if len(parts) > 2 {
			reply.Value, _ = parts[2].ToString()
		}
		return reply
	case -1:
		return Reply{Answer: Failed, TTL: left, Err: QuarantineError{left}}
	default:
		return Reply{Answer: Failed, Err: ErrNotLock}
	}
}

// failure returns the reply for an error. An error reply means that the op was not executed; after
// a connection error, the outcome is unknown.
func failure(err error) Reply {
	if refused, ok := rueidis.IsRedisErr(err); ok {
		text := refused.Error()
		if strings.Contains(text, "WRONGTYPE") {
			// Another key has the wrong type, not the name: the scripts read the name with pcall.
			err = relatedKeyError{}
		}
		if strings.HasPrefix(text, "MOVED ") || strings.HasPrefix(text, "CLUSTERDOWN") {
			err = fmt.Errorf("%w: a node of a Cluster is not an independent server: create the Manager with New and a client of the Cluster", err)
		}
		return Reply{Answer: Failed, Err: err}
	}
	if errors.Is(err, rueidis.ErrClosing) {
		err = errors.New("the client was closed")
	}
	return Reply{Answer: Failed, Maybe: true, Broken: true, Err: err}
}

// Listen implements Server.
func (s *Redis) Listen(ctx context.Context, channel string, ready func(), receive func(message string)) error {
	defer s.listens.Store(false)
	ctx = rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) {
		s.listens.Store(true)
		ready()
	})
	client, err := s.connect()
	if err != nil {
		return err
	}
	subscribe := func(c rueidis.CoreClient) error {
		return c.Receive(ctx, c.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { receive(m.Message) })
	}
	if s.cluster {
		return subscribe(client)
	}
	// The subscription has its own connection, because rueidis answers a single caller faster on a
	// connection without subscriptions.
	return client.Dedicated(func(d rueidis.DedicatedClient) error {
		// Returning the connection to the pool would send UNSUBSCRIBE and PING, and rueidis
		// panics if the server refuses PING because it cannot write its snapshot or has lost its
		// master.
		defer d.Close()
		return subscribe(d)
	})
}

// ReplyTimeout is how long a connection may be silent before it is closed. Ops that the server
// executes later are undone over the next connection.
const ReplyTimeout = 2 * time.Second

// sha1Hex returns the digest by which servers identify a script.
func sha1Hex(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
