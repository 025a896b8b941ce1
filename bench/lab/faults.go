package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"retwis/bench/lab/history"
	"retwis/bench/lab/network"
	"retwis/internal/sleep"
)

// faults injects faults into the site, one at a time, and ends each of them.
type faults struct {
	cluster     *cluster
	fans        *audience
	rec         *history.Recorder
	webs        []*process
	rng         *rand.Rand
	minReplicas int
	rest        time.Duration
	report      func(format string, args ...any)
	epoch       string   // of the Cluster, after the last fault
	only        []string // the kinds of faults to inject; empty means all
}

// replicationLag is an upper bound for the lag of a healthy replica.
const replicationLag = time.Second

// kinds returns the faults by name. Each function injects its fault and removes the cause again.
func (f *faults) kinds() map[string]func(ctx context.Context, fault *history.Fault) error {
	kinds := map[string]func(ctx context.Context, fault *history.Fault) error{
		"kill web":       f.killWeb,
		"stop web":       f.stopWeb,
		"kill master":    f.killMaster,
		"lagging master": f.killLagging,
		"fail-over":      f.failOver,
		"move slots":     f.moveSlots,
		"slow links":     f.slowLinks,
		"cut master":     f.cutMaster,
		"cut replica":    f.cutReplica,
		"cut web":        f.cutWeb,
		"stop master":    f.stopMaster,
		"kill all webs":  f.killAll,
	}
	for name := range kinds {
		if len(f.only) > 0 && !slices.Contains(f.only, name) {
			delete(kinds, name)
		}
	}
	return kinds
}

// run injects faults until ctx ends, and then waits until the site is healthy.
func (f *faults) run(ctx context.Context) error {
	uncanceled := context.WithoutCancel(ctx) // every injected fault is also ended
	kinds := f.kinds()
	var order []string
	f.epoch = f.cluster.epoch(uncanceled)
	for {
		began := f.rec.Now()
		if !sleep.For(ctx, f.rest+time.Duration(f.rng.Int64N(int64(f.rest)))) {
			f.recordUnplanned(uncanceled, began)
			return f.cluster.waitHealthy(uncanceled)
		}
		f.recordUnplanned(uncanceled, began)
		if len(order) == 0 { // every kind runs once before any is repeated
			order = shuffled(f.rng, kinds)
		}
		kind := order[0]
		order = order[1:]
		if err := f.inject(uncanceled, kind, kinds[kind]); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
}

// shuffled returns the names of the faults in an order that depends only on the seed.
func shuffled[V any](rng *rand.Rand, kinds map[string]V) []string {
	names := sortedKeys(kinds)
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// inject runs a fault. Sometimes it kills a web process during the fault.
func (f *faults) inject(ctx context.Context, kind string, do func(context.Context, *history.Fault) error) error {
	fault := history.Fault{Kind: kind, Start: f.rec.Now()}
	killed := make(chan error, 1)
	if len(f.only) == 0 && kind != "kill web" && kind != "stop web" && kind != "cut web" && f.rng.Float64() < 0.2 {
		second, wait := history.Fault{Kind: "kill web", Start: fault.Start}, time.Duration(f.rng.Int64N(int64(3*time.Second)))
		target := f.rng.IntN(len(f.webs))
		go func() {
			time.Sleep(wait)
			second.Start = f.rec.Now()
			err := f.killOne(ctx, &second, target, time.Second)
			second.End = f.rec.Now()
			f.rec.Fault(second)
			killed <- err
		}()
	} else {
		killed <- nil
	}
	err := do(ctx, &fault)
	if e := <-killed; err == nil {
		err = e
	}
	if err == nil {
		err = f.cluster.waitHealthy(ctx)
	}
	for _, web := range f.webs {
		if err == nil {
			err = web.waitReady(ctx)
		}
	}
	fault.End = f.rec.Now()
	f.rec.Fault(fault)
	f.epoch = f.cluster.epoch(ctx)
	f.report("%s %s: %.1f s", fault.Kind, fault.Target, (fault.End - fault.Start).Seconds())
	return err
}

// recordUnplanned records a failover that was caused by the load of the machine.
func (f *faults) recordUnplanned(ctx context.Context, since time.Duration) {
	epoch := f.cluster.epoch(ctx)
	if epoch == f.epoch {
		return
	}
	now := f.rec.Now()
	f.rec.Fault(history.Fault{Kind: "unplanned fail-over", Start: since - 10*time.Second, End: now, Data: true, RiskFrom: since - 10*time.Second, RiskTo: now})
	f.epoch = epoch
	f.report("an unplanned failover: the machine is too busy")
}

// between returns a random duration of at least lo and less than hi.
func (f *faults) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(f.rng.Int64N(int64(hi-lo)))
}

func (f *faults) killWeb(ctx context.Context, fault *history.Fault) error {
	return f.killOne(ctx, fault, f.rng.IntN(len(f.webs)), f.between(500*time.Millisecond, 3*time.Second))
}

func (f *faults) killOne(ctx context.Context, fault *history.Fault, i int, down time.Duration) error {
	p := f.webs[i]
	fault.Target, fault.Killed = p.name, i+1
	p.Kill()
	sleep.For(ctx, down)
	return p.start(ctx)
}

// killAll kills all web processes while segments of a fan-out are pending.
func (f *faults) killAll(ctx context.Context, fault *history.Fault) error {
	fault.Target = "all web processes"
	pending := func() bool {
		tasks, _ := f.fans.client.Do(ctx, f.fans.client.B().Zrange().Key("tasks").Min("0").Max("99").Build()).AsStrSlice()
		return slices.ContainsFunc(tasks, func(task string) bool { return strings.HasPrefix(task, "push:") })
	}
	for end := time.Now().Add(f.rest); !pending() && time.Now().Before(end); {
		sleep.For(ctx, time.Millisecond)
	}
	killed := f.rec.Now()
	for _, web := range f.webs {
		web.Signal(syscall.SIGKILL)
	}
	for i := range f.webs {
		kill := history.Fault{Kind: "kill web", Start: killed}
		if err := f.killOne(ctx, &kill, i, 0); err != nil {
			return err
		}
		kill.End = f.rec.Now()
		f.rec.Fault(kill)
	}
	return nil
}

func (f *faults) stopWeb(ctx context.Context, fault *history.Fault) error {
	p := f.webs[f.rng.IntN(len(f.webs))]
	fault.Target = p.name
	p.Signal(syscall.SIGSTOP)
	sleep.For(ctx, f.between(500*time.Millisecond, 6*time.Second))
	p.Signal(syscall.SIGCONT)
	return nil
}

// pickShard picks a random shard as the target of a fault.
func (f *faults) pickShard(ctx context.Context, fault *history.Fault) (master, replica *node, err error) {
	master, replica, err = f.cluster.shard(ctx, f.rng.IntN(masters))
	if err == nil {
		fault.Target, fault.Data = master.name, true
	}
	return master, replica, err
}

// markRisk records that Redis may lose the writes that it acknowledged between from and now.
func (f *faults) markRisk(fault *history.Fault, from time.Duration) {
	fault.RiskFrom, fault.RiskTo = from, f.rec.Now()
}

// waitPromoted waits until a replica is promoted. If the wait times out, it adds a note to the
// target of the fault.
func (f *faults) waitPromoted(ctx context.Context, fault *history.Fault, replica *node) {
	if !f.cluster.promoted(ctx, replica) {
		fault.Target += ", whose replica was not promoted"
	}
}

func (f *faults) killMaster(ctx context.Context, fault *history.Fault) error {
	master, replica, err := f.pickShard(ctx, fault)
	if err != nil {
		return err
	}
	return f.killAndPromote(ctx, fault, master, replica, f.rec.Now()-replicationLag)
}

// killAndPromote kills a master, waits until its replica is promoted, and restarts it. Writes since
// riskFrom may be lost.
func (f *faults) killAndPromote(ctx context.Context, fault *history.Fault, master, replica *node, riskFrom time.Duration) error {
	err := master.Kill()
	if err == nil {
		<-master.Done()
	}
	f.markRisk(fault, riskFrom)
	f.cluster.net.Set(master.name, replica.name, network.Rule{}) // repairs the link that killLagging cut
	if err != nil {
		return err
	}
	f.waitPromoted(ctx, fault, replica)
	sleep.For(ctx, f.between(0, 2*time.Second))
	return f.cluster.start(ctx, master)
}

// killLagging kills a master after its replica has been cut off for a while.
func (f *faults) killLagging(ctx context.Context, fault *history.Fault) error {
	master, replica, err := f.pickShard(ctx, fault)
	if err != nil {
		return err
	}
	began := f.rec.Now() - replicationLag
	f.cluster.net.Set(master.name, replica.name, network.Rule{Cut: true})
	sleep.For(ctx, f.between(500*time.Millisecond, 2500*time.Millisecond)) // less than nodeTimeout
	return f.killAndPromote(ctx, fault, master, replica, began)
}

// stopMaster suspends a master until its replica is promoted.
func (f *faults) stopMaster(ctx context.Context, fault *history.Fault) error {
	master, replica, err := f.pickShard(ctx, fault)
	if err != nil {
		return err
	}
	fault.RiskFrom = f.rec.Now() - replicationLag
	if err := master.Freeze(); err != nil {
		return err
	}
	f.waitPromoted(ctx, fault, replica)
	err = master.Thaw()
	// It takes a moment until the old master notices that it was replaced.
	sleep.For(ctx, time.Second)
	f.markRisk(fault, fault.RiskFrom)
	return err
}

func (f *faults) failOver(ctx context.Context, fault *history.Fault) error {
	_, replica, err := f.pickShard(ctx, fault)
	if err != nil {
		return err
	}
	if err := replica.do(ctx, "CLUSTER", "FAILOVER").Error(); err != nil {
		return err
	}
	f.waitPromoted(ctx, fault, replica)
	return nil
}

// moveSlots migrates non-empty slots to another master and back while both serve requests.
func (f *faults) moveSlots(ctx context.Context, fault *history.Fault) error {
	from, _, err := f.cluster.shard(ctx, f.rng.IntN(masters))
	if err != nil {
		return err
	}
	to := from
	for to == from {
		if to, _, err = f.cluster.shard(ctx, f.rng.IntN(masters)); err != nil {
			return err
		}
	}
	fault.Data = true
	moved := map[int]bool{}
	keys := 0
	for range 30 {
		slot, err := randomSlot(ctx, from)
		if err != nil {
			return err
		}
		if moved[slot] {
			continue
		}
		moved[slot] = true
		n, err := f.cluster.migrate(ctx, slot, from, to)
		if err != nil {
			return err
		}
		keys += n
	}
	sleep.For(ctx, f.between(0, 2*time.Second))
	for slot := range moved {
		n, err := f.cluster.migrate(ctx, slot, to, from)
		if err != nil {
			return err
		}
		keys += n
	}
	fault.Target = fmt.Sprintf("%s to %s and back: %d slots, %d keys", from.name, to.name, len(moved), keys)
	return nil
}

// randomSlot returns the slot of a random key of a master.
func randomSlot(ctx context.Context, n *node) (int, error) {
	key, err := n.do(ctx, "RANDOMKEY").ToString()
	if err != nil {
		return 0, err
	}
	slot, err := n.do(ctx, "CLUSTER", "KEYSLOT", key).AsInt64()
	return int(slot), err
}

func (f *faults) slowLinks(ctx context.Context, fault *history.Fault) error {
	rule := network.Rule{Delay: f.between(2*time.Millisecond, 40*time.Millisecond), Loss: f.rng.Float64() * 0.03}
	n := f.cluster.nodes[f.rng.IntN(nodeCount)]
	from := network.Any
	if f.rng.IntN(2) == 0 {
		from = f.webs[f.rng.IntN(len(f.webs))].name
	}
	fault.Target = fmt.Sprintf("%s to %s: %d ms, %.1f %% lost", strings.ReplaceAll("all "+from, "all web", "web"), n.name, rule.Delay.Milliseconds(), 100*rule.Loss)
	f.link(ctx, from, n.name, rule, 3*time.Second, 8*time.Second)
	return nil
}

// cutMaster cuts a master off from all other nodes, and half of the time from all web processes,
// until its replica is promoted and for a moment longer.
func (f *faults) cutMaster(ctx context.Context, fault *history.Fault) error {
	master, replica, err := f.pickShard(ctx, fault)
	if err != nil {
		return err
	}
	fault.RiskFrom = f.rec.Now() - replicationLag
	var others []string
	for _, n := range f.cluster.nodes {
		if n != master {
			others = append(others, n.name)
		}
	}
	if f.rng.IntN(2) == 0 {
		fault.Target += " from everybody"
		others = append(others, network.Any)
	}
	for _, other := range others {
		f.cluster.net.Set(other, master.name, network.Rule{Cut: true})
	}
	f.waitPromoted(ctx, fault, replica)
	sleep.For(ctx, f.between(0, 3*time.Second))
	for _, other := range others {
		f.cluster.net.Set(other, master.name, network.Rule{})
	}
	sleep.For(ctx, time.Second)
	f.markRisk(fault, fault.RiskFrom)
	if f.minReplicas > 0 { // the master checks maxLag once per second, and then refuses writes
		fault.RiskTo = min(fault.RiskTo, fault.RiskFrom+replicationLag+maxLag+2*time.Second)
	}
	return nil
}

// link applies a rule to the link between two processes for a random time between lo and hi.
func (f *faults) link(ctx context.Context, from, to string, rule network.Rule, lo, hi time.Duration) {
	f.cluster.net.Set(from, to, rule)
	sleep.For(ctx, f.between(lo, hi))
	f.cluster.net.Set(from, to, network.Rule{})
}

func (f *faults) cutReplica(ctx context.Context, fault *history.Fault) error {
	master, replica, err := f.cluster.shard(ctx, f.rng.IntN(masters))
	if err == nil {
		fault.Target = replica.name
		f.link(ctx, master.name, replica.name, network.Rule{Cut: true}, 2*time.Second, 7*time.Second)
	}
	return err
}

func (f *faults) cutWeb(ctx context.Context, fault *history.Fault) error {
	web := f.webs[f.rng.IntN(len(f.webs))]
	master, _, err := f.cluster.shard(ctx, f.rng.IntN(masters))
	if err == nil {
		fault.Target = web.name + " from " + master.name
		f.link(ctx, web.name, master.name, network.Rule{Cut: true}, 2*time.Second, 6*time.Second)
	}
	return err
}

// watchStalls records when the machine did not schedule the lab itself, because delays during such
// stalls are not caused by Retwis.
func watchStalls(ctx context.Context, rec *history.Recorder) {
	const every = 50 * time.Millisecond
	const stall = 700 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := rec.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := rec.Now()
		if now-last > stall {
			rec.Fault(history.Fault{Kind: "stall of the machine", Target: strconv.FormatInt((now-last).Milliseconds(), 10) + " ms", Start: last, End: now, Data: true})
		}
		last = now
	}
}
