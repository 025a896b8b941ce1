package bulk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"retwis/bulk/internal/command"
	"retwis/bulk/resp"
	"retwis/internal/redis/keys"
)

// recovery replaces broken connections and resends commands: commands without a reply, and commands
// that a server refused temporarily or because their slot has moved.
type recovery struct {
	router   *router
	sender   *sender
	check    *command.Checker
	count    *counts
	resend   Resend
	retryFor time.Duration
}

// unit is a command or a transaction in a chunk: items that are sent together.
type unit struct {
	c        *chunk
	from, to int
}

func (u unit) no() int64 { return u.c.items[u.from].no }

// temporarilyRefused reports whether a server refused a unit that it may accept later: a multi-key
// command whose slot is moving waits until all of its keys are on one server.
func (u unit) temporarilyRefused() bool {
	for i := u.from; i < u.to; i++ {
		if u.c.items[i].flags&later != 0 {
			return true
		}
	}
	return false
}

// units returns the held units with any of the wanted flags, or all held units if wanted is 0, in
// the order of the input. It leaves out units that were moved into another chunk.
func (r *recovery) units(wanted itemFlags) []unit {
	var all []unit
	for _, c := range r.sender.held {
		for i := 0; i < len(c.items); {
			u := unit{c, i, i + 1}
			for u.to < len(c.items) && c.items[u.to].flags&inUnit != 0 {
				u.to++
			}
			i = u.to
			if c.items[u.from].flags&internal != 0 { // ASKING, or the final ECHO
				u.from++
			}
			if u.from == u.to {
				continue
			}
			if flags := c.items[u.from].flags; flags&moved == 0 && (wanted == 0 || flags&wanted != 0) {
				all = append(all, u)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b unit) int { return int(a.no() - b.no()) })
	return all
}

// refusal returns the error with which a server temporarily refused a unit, or "".
func (u unit) refusal() string {
	for i := u.from; i < u.to; i++ {
		if why := u.c.refused[i]; why.text != "" {
			return why.text
		}
	}
	return ""
}

// effect describes what a unit changes.
type effect struct {
	keys []string
	// all means that the unit may change any key. The field all is not used on a Cluster, where
	// such a unit is the only one in flight.
	all        bool
	repeatable bool
}

// effectOf returns the effect of a unit.
func (r *recovery) effectOf(u unit) effect {
	var f resp.Frame
	e := effect{repeatable: true}
	for i := u.from; i < u.to; i++ {
		u.c.frame(i, &f)
		s := r.check.Spec(&f)
		e.repeatable = e.repeatable && (s.Repeatable(&f) || u.c.items[i].flags&markedRepeatable != 0)
		e.all = e.all || !r.router.cluster && (s.Kind == command.Unknown || s.Kind == command.AllNodes)
		found, _ := s.AppendKeys(nil, &f)
		for _, k := range found {
			e.keys = append(e.keys, string(k))
		}
	}
	return e
}

// effects is the union of the effects of units.
type effects struct {
	keys map[string]bool
	all  bool
}

func (s *effects) add(e effect) {
	if s.keys == nil {
		s.keys = make(map[string]bool)
	}
	s.all = s.all || e.all
	for _, k := range e.keys {
		s.keys[k] = true
	}
}

// conflict reports whether a unit with effect e must stay in order with the units of s.
func (s *effects) conflict(e effect) bool {
	return s.all && (e.all || len(e.keys) > 0) || e.all && len(s.keys) > 0 ||
		slices.ContainsFunc(e.keys, func(k string) bool { return s.keys[k] })
}

// keepOrder marks for resending the commands that a server executed although an earlier command
// with the same key must be resent.
func (r *recovery) keepOrder() error {
	all := r.units(0)
	if err := r.failOvertaken(all); err != nil {
		return err
	}
	var late effects
	for _, u := range all {
		flags, e := &u.c.items[u.from].flags, r.effectOf(u)
		switch {
		case *flags&resend != 0:
			late.add(e)
		case *flags&answeredWithError == 0 && late.conflict(e):
			for i := u.from; i < u.to; i++ {
				u.c.items[i].flags |= resend
				u.c.node.replies.Add(-int64(u.c.items[i].commands))
			}
			late.add(e)
		}
	}
	return nil
}

// failOvertaken fails the commands that were temporarily refused although a later command with the
// same key was executed and must not be repeated. Resending such a command would change the order.
func (r *recovery) failOvertaken(all []unit) error {
	var fixed effects // of later units that must not be repeated
	for _, u := range slices.Backward(all) {
		flags, e := u.c.items[u.from].flags, r.effectOf(u)
		overtaken := fixed.conflict(e)
		switch {
		case flags&answeredWithError != 0:
		case flags&resend == 0 && (overtaken || !e.repeatable):
			fixed.add(e)
		case flags&resend != 0 && overtaken && u.refusal() == "":
			return lost(fmt.Errorf("the Cluster executed a later command with the same key before command %d (%s), "+
				"and repeating it is not safe", u.no(), resp.Text(u.c.raw(u.from))))
		case flags&resend != 0 && overtaken:
			r.fail(u, u.refusal())
		}
	}
	return nil
}

// fail counts the error of a refused unit.
func (r *recovery) fail(u unit, text string) {
	for i := u.from; i < u.to; i++ {
		it := &u.c.items[i]
		it.flags = it.flags&^(resend|later) | answeredWithError
		u.c.node.replies.Add(int64(it.commands))
	}
	last := u.to - 1
	r.router.judge.failed(u.c.node, u.c, last, text, u.c.buf[u.c.begin(u.from):u.c.items[last].end])
}

// releaseDone returns to the pool all chunks that have nothing left to resend.
func (r *recovery) releaseDone() {
	s := r.sender
	s.held = slices.DeleteFunc(s.held, func(c *chunk) bool {
		for i := range c.items {
			if c.items[i].flags&(resend|internal) == resend {
				return false
			}
		}
		s.pool.put(c)
		return true
	})
}

// checkResendable returns an error if a command that may have been executed cannot be resent.
func (r *recovery) checkResendable(cause error) error {
	for _, u := range r.units(unsure) {
		if err := r.checkRepeatable(r.effectOf(u).repeatable, u.c, u.from, cause); err != nil {
			return err
		}
	}
	return nil
}

// checkRepeatable returns an error if item i, which was sent and not answered, cannot be resent.
func (r *recovery) checkRepeatable(repeatable bool, c *chunk, i int, cause error) error {
	if r.resend == ResendAlways || repeatable && r.resend == ResendHarmless {
		return nil
	}
	if cause == nil {
		cause = errMoved
	}
	return lost(fmt.Errorf("%w before command %d (%s, %s) was answered: it may have been executed, and repeating it may not be safe",
		cause, c.items[i].no, resp.Text(c.raw(i)), r.count.where(c.items[i].no, c.items[i].at)))
}

// dispatch resends the held units, in the order of the input. A unit whose slot has no server stays
// held. A unit that shares a key with an earlier unit also stays held if the earlier unit stays
// held, goes to another server, or may be refused again: otherwise it could overtake the earlier
// unit.
func (r *recovery) dispatch(ctx context.Context) error {
	filling := make(map[*pipe]*chunk)
	lastPipe := make(map[string]*pipe) // by key, the pipe of the last unit; nil: later units must wait
	for _, u := range r.units(resend) {
		keys := r.effectOf(u).keys
		p, asking := r.destination(ctx, u, keys)
		if !r.inOrder(keys, p, lastPipe) {
			p = nil
		}
		next := p
		if u.temporarilyRefused() || asking && len(keys) > 1 {
			next = nil
		}
		for _, k := range keys {
			lastPipe[k] = next
		}
		if p == nil {
			continue
		}
		c := filling[p]
		if c == nil {
			c = newExtra()
			filling[p] = c
		}
		r.move(c, u, asking)
		if len(c.buf) >= chunkSize {
			delete(filling, p)
			if err := r.sender.send(ctx, p, c); err != nil {
				return err
			}
		}
	}
	for p, c := range filling {
		if err := r.sender.send(ctx, p, c); err != nil {
			return err
		}
	}
	r.releaseDone()
	return nil
}

// destination returns the pipe for a unit, or nil if its server is unknown, and whether ASKING
// must be sent first.
func (r *recovery) destination(ctx context.Context, u unit, touched []string) (p *pipe, asking bool) {
	if to := u.c.refused[u.from]; to.addr != "" {
		delete(u.c.refused, u.from)
		p, err := r.router.pipeTo(ctx, to.addr)
		switch {
		case err != nil: // the next attempt asks for the owners again
			return nil, false
		case !to.ask:
			return p, false
		// ASKING applies to one command. A transaction has to wait until its slot has moved.
		case u.to == u.from+1:
			return p, true
		}
	}
	at := 0
	if len(touched) > 0 {
		at = keys.Slot([]byte(touched[0]))
	}
	return r.router.pipeFor(at), false
}

// inOrder reports whether a unit with these keys, sent to p, is executed after the earlier units
// with the same keys: the commands of one connection are executed in order.
func (r *recovery) inOrder(keys []string, p *pipe, lastPipe map[string]*pipe) bool {
	if !r.router.cluster {
		return true
	}
	for _, k := range keys {
		if before, ok := lastPipe[k]; ok && before != p {
			return false
		}
	}
	return true
}

// move copies a unit into another chunk.
func (r *recovery) move(c *chunk, u unit, asking bool) {
	if asking {
		c.add([]byte("*1\r\n$6\r\nASKING\r\n"), item{no: u.no(), commands: 1, flags: internal})
	}
	for i := u.from; i < u.to; i++ {
		from := &u.c.items[i]
		it := item{no: from.no, at: from.at, commands: from.commands, flags: from.flags & markedRepeatable}
		if i > u.from || asking {
			it.flags |= inUnit
		}
		if it.commands > 1 {
			it.first = int32(len(c.sets))
			c.sets = append(c.sets, u.c.sets[from.first:from.first+from.commands]...)
		}
		c.add(u.c.raw(i), it)
		if from.flags&fresh != 0 {
			r.count.commands.Add(int64(from.commands))
		} else {
			r.count.resent.Add(int64(from.commands))
		}
		from.flags = from.flags&^(resend|unsure|fresh|later) | moved
	}
}
