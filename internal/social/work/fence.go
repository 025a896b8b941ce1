package work

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/nodes"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// Until a replica has a write, the write can be lost with its master. So a task is finished, and
// success is reported to a user, only if two conditions hold.
//
//   - The masters still have the replication histories that they had before the first write. After
//     a failover or a restart, some writes may be lost.
//   - All replicas of each master have acknowledged all writes, because any replica can be
//     promoted. WAIT covers the last write of its own connection, so a round first writes
//     something, which covers all earlier writes of all connections.
//
// On a single server without replicas, the script that finishes a task checks the history itself.
// With several masters, a round asks all masters.

//go:embed fence.lua
var fenceSource string

var fenceScript = script.New(Library, fenceSource)

const (
	// roundTimeout limits a round.
	roundTimeout = 3 * time.Second
	// ackTimeout limits the wait for acknowledgments, and slowAck limits it once replicas have
	// failed to acknowledge.
	ackTimeout = time.Second
	slowAck    = 10 * time.Millisecond
	// uncertainFor is the time for which writes are uncertain after a replica fails to acknowledge
	// or disconnects, because the replica may be about to replace its master. After that, a
	// disconnected replica no longer has to acknowledge, and writes without acknowledgments count
	// as kept by the master alone.
	uncertainFor = 5 * time.Second
	// replicaTimeout is the time for which finished tasks wait for a replica that acknowledges
	// nothing, and for which a disconnected replica still counts, because it may be about to
	// replace its master.
	replicaTimeout = 5 * time.Minute
	// refreshAfter is the time after which an idle process asks the masters again for their state.
	refreshAfter = 5 * time.Second
	// maxMovedSlots limits the tries of a round with slots that may be migrating to another master.
	maxMovedSlots = 20
	// maxUnconfirmed limits the number of tasks that wait for replicas. Further tasks are started
	// again.
	maxUnconfirmed = 1 << 13
	// maxFinished limits the number of tasks that one script finishes.
	maxFinished = 200
)

// fence asks the masters for their replication histories and the replicas for acknowledgments.
type fence struct {
	client       rueidis.Client
	log          *slog.Logger
	cluster      bool
	unknownMarks atomic.Int64  // number of marks issued by unknownMark
	patient      time.Duration // uncertainFor, except in tests

	mu       sync.Mutex
	identity string               // of all histories; empty if unknown
	asked    time.Time            // when identity was read
	address  string               // the address of the only master
	seen     map[string]replicas  // by address of the master
	behind   map[string]time.Time // the time since which the replicas of a master have not acknowledged
}

// replicas describes the replicas of a master.
type replicas struct {
	lastSeen   time.Time // when the master last had a replica
	count      int64     // the number of replicas that must acknowledge writes
	countSince time.Time // when the master last had that many replicas
}

// saw records the number of replicas of a master.
func (f *fence) saw(master string, n int64) {
	r, now := f.seen[master], time.Now()
	if n == 0 && r.count == 0 {
		return
	}
	if n > 0 {
		r.lastSeen = now
	}
	if n >= r.count || now.Sub(r.countSince) > f.patient {
		r.count, r.countSince = max(n, 1), now
	}
	f.seen[master] = r
}

func newFence(client rueidis.Client, log *slog.Logger) *fence {
	return &fence{
		client: client, log: log, cluster: client.Mode() == rueidis.ClientModeCluster, patient: uncertainFor,
		seen: map[string]replicas{}, behind: map[string]time.Time{},
	}
}

// unknownMark returns a unique mark, which is used if the masters cannot be asked.
func (f *fence) unknownMark() string { return "unknown" + strconv.FormatInt(f.unknownMarks.Add(1), 10) }

// mark returns the identity of the replication histories.
func (f *fence) mark(ctx context.Context) string {
	f.mu.Lock()
	id := f.identity
	f.mu.Unlock()
	if id == "" {
		ctx, cancel := context.WithTimeout(ctx, roundTimeout)
		defer cancel()
		if now, err := f.round(ctx, false); err == nil {
			id = now.identity
		}
	}
	if id == "" {
		return f.unknownMark()
	}
	return id
}

// replicated reports whether a master has a replica, or had one recently.
func (f *fence) replicated() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen) > 0
}

// since returns the mark for writes that follow a script, which has seen the given replication
// history.
func (f *fence) since(ctx context.Context, history string) string {
	if f.cluster {
		return f.mark(ctx)
	}
	mark := f.mark(ctx)
	if !strings.HasPrefix(mark, history) { // the identity was read before a failover
		f.mu.Lock()
		f.identity = ""
		f.mu.Unlock()
		if mark = f.mark(ctx); !strings.HasPrefix(mark, history) { // there was another failover after the script
			mark = f.unknownMark()
		}
	}
	return mark
}

// note records what a script reports about the only master; see history in lib.lua.
func (f *fence) note(history, replicas rueidis.RedisMessage) {
	if f.cluster {
		return
	}
	id, _ := history.ToString()
	n, _ := replicas.AsInt64()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.HasPrefix(f.identity, id) {
		f.identity = "" // the next call of mark reads the identity again
	} else {
		f.asked = time.Now()
	}
	if f.identity != "" && f.address != "" {
		f.saw(f.address, n)
	} else {
		f.saw(id, n) // the next round finds out the address
	}
}

// sameHistories reports whether the writes since a mark are part of the histories with the identity
// now; see lib.lua.
func sameHistories(mark, now string) bool {
	oldIDs, newIDs := strings.Fields(mark), strings.Fields(now)
	if len(oldIDs) != len(newIDs) {
		return false
	}
	for i := range newIDs {
		before, after := strings.Split(oldIDs[i], ":"), strings.Split(newIDs[i], ":")
		if len(before) != 3 || len(after) != 3 {
			return false
		}
		if before[0] != after[0] && (before[1] != after[1] || strings.Trim(after[2], "0") != "") {
			return false
		}
	}
	return true
}

// roundResult is the result of a round.
type roundResult struct {
	identity    string
	kept        bool // the replicas have all writes before the round
	newlyBehind bool // replicas are behind, and were not behind a few seconds ago
}

// round asks all masters for their identities and, if acks is set, waits for their replicas.
func (f *fence) round(ctx context.Context, acks bool) (roundResult, error) {
	servers, err := nodes.Masters(ctx, f.client)
	if err != nil {
		return roundResult{}, fmt.Errorf("social: ask for the masters: %w", err)
	}
	answers, errs := make([]answer, len(servers)), make([]error, len(servers))
	var wg sync.WaitGroup
	for i, server := range servers {
		wg.Go(func() { answers[i], errs[i] = f.ask(ctx, server, acks) })
	}
	wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := errors.Join(errs...); err != nil {
		return roundResult{}, fmt.Errorf("social: ask for the state of replication: %w", err)
	}
	now := roundResult{kept: acks, identity: identity(answers)}
	if now.identity != f.identity {
		clear(f.behind) // a newly promoted server may have been behind when it was a master before
	}
	for _, a := range answers {
		f.address = a.address
		f.saw(a.address, a.replicas)
		if a.acked {
			delete(f.behind, a.address)
		}
		if _, ok := f.seen[a.address]; !ok || !acks || a.acked {
			continue
		}
		now.kept = false
		since, ok := f.behind[a.address]
		now.newlyBehind = now.newlyBehind || !ok || time.Since(since) < f.patient
		if !ok {
			f.behind[a.address] = time.Now()
			f.log.Warn("the replicas of a server do not acknowledge writes: until they do, only that server has them",
				"server", a.address)
		}
	}
	maps.DeleteFunc(f.seen, func(_ string, r replicas) bool { return time.Since(r.lastSeen) > replicaTimeout })
	f.identity, f.asked = now.identity, time.Now()
	return now, nil
}

// identity returns the identity of all histories together.
func identity(answers []answer) string {
	ids := make([]string, len(answers))
	for i, a := range answers {
		ids[i] = a.id
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(process(a), process(b)) })
	return strings.Join(ids, " ")
}

// process returns the part of an identity that stays the same when the first replica connects.
func process(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	return rest
}

// answer is the state of a master.
type answer struct {
	id       string // the identity of the replication history
	address  string // the address of the master, which is the same after a restart
	replicas int64
	acked    bool // all replicas have all writes
}

// ask asks a master for its state and, if acks is set, waits for its replicas.
func (f *fence) ask(ctx context.Context, server nodes.Master, acks bool) (answer, error) {
	b, a := server.Client.B(), answer{address: server.Address}
	f.mu.Lock()
	address := a.address
	if !f.cluster {
		address = f.address
	}
	expected := f.seen[address].count
	timeout := ackTimeout
	if _, ok := f.behind[address]; ok {
		timeout = slowAck
	}
	f.mu.Unlock()
	for try := 0; ; try++ {
		key := storage.FenceKey
		if f.cluster {
			key = server.OwnKey("fence")
		}
		cmds := rueidis.Commands{fenceScript.Command(server.Client, []string{key}, nil)}
		if !f.cluster {
			cmds = append(cmds, b.ClientInfo().Build())
		}
		if acks && expected > 0 {
			cmds = append(cmds, b.Wait().Numreplicas(expected).Timeout(timeout.Milliseconds()).Build())
		}
		res := server.Client.DoMulti(ctx, cmds...)
		reply, err := res[0].ToArray()
		if _, isReply := rueidis.IsRedisErr(err); isReply && f.cluster && try < maxMovedSlots {
			continue // the slot is migrating to another master
		}
		if err != nil {
			return a, err
		}
		a.id, _ = reply[0].ToString()
		a.replicas, _ = reply[1].AsInt64()
		if !f.cluster {
			a.address = cmp.Or(localAddress(res[1]), a.id)
		}
		if !acks || a.replicas == 0 {
			return a, nil
		}
		if expected >= a.replicas {
			n, err := res[len(res)-1].AsInt64()
			if rediserr.Of(err) == rediserr.Unavailable {
				return a, err
			}
			a.acked = err == nil && n >= expected
			return a, nil
		}
		expected = a.replicas // another replica has connected
	}
}

// localAddress returns the server's address from CLIENT INFO, or an empty string if the client may
// not run the command.
func localAddress(info rueidis.RedisResult) string {
	text, _ := info.ToString()
	_, rest, _ := strings.Cut(text, " laddr=")
	address, _, _ := strings.Cut(rest, " ")
	return address
}

// ended is a task that is done or, without a task, a caller of Fenced.
type ended struct {
	*Held
	mark   string
	since  time.Time
	result chan error // for the caller; nil if no caller is waiting
	known  bool       // the task was examined, so it is not in Engine.unsettled
}

// resolve sends the result to the caller, if a caller is waiting.
func (e *Engine) resolve(x *ended, err error) {
	if !x.known {
		x.known = true
		e.unsettled.Add(-1)
	}
	if x.result != nil {
		x.result <- err
		x.result = nil
	}
}

// offer submits x to be finished. It returns false if the engine is closed or ctx has ended.
func (e *Engine) offer(ctx context.Context, x *ended) bool {
	x.since = time.Now()
	e.unsettled.Add(1)
	select {
	case e.ended <- x:
		return true
	case <-e.ctx.Done():
	case <-ctx.Done():
	}
	e.unsettled.Add(-1)
	return false
}

// submit submits tasks to be finished, and waits until their writes are known to be kept.
func (e *Engine) submit(ctx context.Context, all ...*ended) error {
	results := make([]chan error, 0, len(all))
	for i, x := range all {
		result := x.result
		if !e.offer(ctx, x) {
			for _, x := range all[i:] {
				e.leave(x.Held, 0, false)
			}
			return uncertain(ctx.Err())
		}
		results = append(results, result)
	}
	var firstErr error
	for _, result := range results {
		select {
		case err := <-result:
			firstErr = cmp.Or(firstErr, err)
		case <-e.ctx.Done():
			return uncertain(nil)
		case <-ctx.Done():
			return uncertain(ctx.Err())
		}
	}
	return firstErr
}

// uncertain wraps reason, which may be nil, in social.ErrUncertain.
func uncertain(reason error) error {
	if reason == nil || errors.Is(reason, social.ErrUncertain) {
		return cmp.Or(reason, social.ErrUncertain)
	}
	return fmt.Errorf("%w: %w", social.ErrUncertain, reason)
}

// settle finishes ended tasks until the engine is closed. It batches the tasks that end while it
// waits for a server.
func (e *Engine) settle() {
	var waiting []*ended
	timer := time.NewTimer(refreshAfter)
	defer timer.Stop()
	pause := slowAck
	for {
		select {
		case <-e.ctx.Done():
			return
		case x := <-e.ended:
			waiting = append(waiting, x)
			for len(e.ended) > 0 {
				waiting = append(waiting, <-e.ended)
			}
		case <-timer.C:
		}
		before := len(waiting)
		if before > 0 {
			waiting = e.finish(waiting)
		} else if e.fence.isOld() {
			ctx, cancel := context.WithTimeout(e.ctx, roundTimeout)
			_, _ = e.fence.round(ctx, false)
			cancel()
		}
		switch {
		case len(waiting) == 0:
			pause = slowAck
			timer.Reset(refreshAfter)
		default:
			pause = min(2*pause, time.Second)
			timer.Reset(pause)
		}
	}
}

// isOld reports whether the state of the masters was last read more than refreshAfter ago.
func (f *fence) isOld() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.asked) >= refreshAfter
}

// finish finishes the tasks that can be finished, and returns the tasks that must wait longer.
func (e *Engine) finish(all []*ended) (waiting []*ended) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), roundTimeout)
	defer cancel()
	done, fenced := all, e.fence.cluster || e.fence.replicated()
	if fenced {
		now, err := e.fence.round(ctx, true)
		if err != nil {
			return e.wait(all, err)
		}
		done = nil
		for _, x := range all {
			switch {
			case !sameHistories(x.mark, now.identity):
				e.repeat(x)
			case now.kept || time.Since(x.since) > replicaTimeout:
				done = append(done, x)
			case now.newlyBehind:
				waiting = append(waiting, e.wait([]*ended{x}, errBehind)...)
			default: // the replicas are known to be behind, and the master has the writes
				waiting = append(waiting, e.wait([]*ended{x}, nil)...)
			}
		}
	}
	for chunk := range slices.Chunk(done, maxFinished) {
		waiting = append(waiting, e.remove(ctx, chunk, fenced)...)
	}
	if excess := len(waiting) - maxUnconfirmed; excess > 0 {
		for _, x := range waiting[:excess] {
			e.drop(x.Held) // the lease expires, and the task is started again
		}
		waiting = waiting[excess:]
	}
	return waiting
}

// errBehind means that replicas have not acknowledged writes.
var errBehind = errors.New("the replicas do not answer")

// wait sends the result to the callers, and returns the tasks, which continue to wait.
func (e *Engine) wait(all []*ended, err error) (tasks []*ended) {
	if err != nil {
		err = uncertain(err)
	}
	for _, x := range all {
		e.resolve(x, err)
		if x.Held != nil {
			tasks = append(tasks, x)
		}
	}
	return tasks
}

// repeat makes a task start again, because a server has restarted or failed over.
func (e *Engine) repeat(x *ended) {
	if x.Held != nil {
		e.log.Warn("repeating a task because a server has restarted or failed over", storage.Tasks, x.Member)
		e.leave(x.Held, 0, true)
	}
	e.resolve(x, uncertain(errors.New("a server has restarted or failed over")))
}

// remove removes tasks that are done, and returns those that it could not remove. If fenced is
// false, the replicas have not been asked; remove asks them if the server has replicas by now.
func (e *Engine) remove(ctx context.Context, done []*ended, fenced bool) (waiting []*ended) {
	var args []string
	var asked []*ended
	for _, x := range done {
		if x.Held == nil {
			e.resolve(x, nil)
			continue
		}
		token, ok := e.ending(x.Held)
		if !ok { // another process holds the task
			e.resolve(x, nil)
			continue
		}
		mark := x.mark
		if e.fence.cluster {
			mark = ""
		}
		args, asked = append(args, x.Member, token, mark), append(asked, x)
	}
	if len(asked) == 0 {
		return nil
	}
	reply, err := finishScript.Run(ctx, e.client, []string{storage.Tasks, storage.Tries}, args).ToArray()
	if err == nil && len(reply) != 2+len(asked) {
		err = errors.New("unexpected reply from a script")
	}
	if err != nil {
		for _, x := range asked {
			e.keep(x.Held)
		}
		return e.wait(asked, err)
	}
	e.fence.note(reply[0], reply[1])
	answer := func(x *ended) { e.resolve(x, nil) }
	if n, _ := reply[1].AsInt64(); n > 0 && !fenced {
		now, err := e.fence.round(ctx, true)
		answer = func(x *ended) {
			switch {
			case err != nil:
				e.resolve(x, uncertain(err))
			case !sameHistories(x.mark, now.identity), !now.kept && now.newlyBehind:
				e.resolve(x, uncertain(errBehind))
			default:
				e.resolve(x, nil)
			}
		}
	}
	for i, x := range asked {
		switch result, _ := reply[2+i].AsInt64(); result {
		case 1:
			e.counts[x.class].done.Add(1)
			e.drop(x.Held)
			answer(x)
		case 0:
			e.counts[x.class].lost.Add(1)
			e.drop(x.Held)
			answer(x)
		default:
			e.repeat(x)
		}
	}
	return nil
}
