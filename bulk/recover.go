package bulk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"retwis/internal/keys"
)

// recover puts right what went wrong on the way: connections that broke, and commands
// that belong elsewhere, or later, as a Cluster says. It lets all pipes run dry first,
// so that nothing can overtake what is sent again; that takes milliseconds, and while
// the slots of a Cluster move it happens a few times a second.
func (l *loader) recover(ctx context.Context) error { return l.recoverFor(ctx, anySlot) }

// anySlot is for those who need no slot in particular.
const anySlot = -1

// recoverFor is recover, and waits until somebody serves a slot.
func (l *loader) recoverFor(ctx context.Context, slot int) error {
	began, before := time.Now(), l.answered
	for wait := time.Duration(0); ; wait = min(max(2*wait, 5*time.Millisecond), time.Second) {
		if err := l.quiesce(ctx); err != nil {
			return err
		}
		cause := l.lost()
		l.takeBack()
		if err := l.keepOrder(); err != nil {
			return err
		}
		l.sweep()
		l.trouble = false
		if len(l.held) == 0 && l.connected(slot) {
			return nil
		}
		if err := l.mayResend(cause); err != nil {
			return err
		}
		if l.answered > before {
			began, before, wait = time.Now(), l.answered, 0
		}
		if time.Since(began) > max(l.opt.RetryFor, 0) && wait > 0 {
			return l.gone(l.stuck(cause, slot))
		}
		if cause != nil && l.opt.RetryFor < 0 {
			return l.gone(cause)
		}
		if err := pause(ctx, wait); wait > 0 && err != nil {
			return err
		}
		if err := l.reconnect(ctx, began, cause); err != nil {
			return err
		}
		if err := l.dispatch(ctx); err != nil {
			return err
		}
	}
}

// connected tells whether each pipe to a single server is there, or the one to the owner
// of a slot of a Cluster.
func (l *loader) connected(slot int) bool {
	if l.cluster {
		return slot == anySlot || l.owners[slot] != nil
	}
	return !slices.Contains(l.pipes, nil)
}

// stuck words what has not gone in for too long.
func (l *loader) stuck(cause error, slot int) error {
	if cause != nil {
		return cause
	}
	if waiting := l.units(resend); len(waiting) > 0 {
		u := waiting[0]
		return fmt.Errorf("the Cluster did not take command %d (%s) in %v", u.no(), describe(u.c.raw(u.from)), l.opt.RetryFor)
	}
	return fmt.Errorf("nobody in the Cluster serves slot %d, to which command %d belongs", slot, l.no)
}

// lost takes the pipes away whose connections broke, and returns why the first did.
func (l *loader) lost() (cause error) {
	keep := l.pipes[:0]
	for i, p := range l.pipes {
		switch {
		case p != nil && p.failed != nil:
			if cause == nil {
				cause = fmt.Errorf("%s: %w", p.conn.addr, p.failed)
			}
			l.bury(p)
			p = nil
			for s, owner := range l.owners {
				if owner == l.pipes[i] {
					l.owners[s] = nil
				}
			}
		case p != nil && p.troubled && l.dialer.opt.Sentinel.MasterSet != "": // it was replaced
			p.stop()
			p = nil
		}
		if p != nil || !l.cluster {
			keep = append(keep, p)
		}
		if p != nil {
			p.troubled = false
		}
	}
	l.pipes = keep
	return cause
}

// bury marks what a broken connection leaves behind: what was certainly not executed,
// and what may have been.
func (l *loader) bury(p *pipe) {
	p.stop()
	for k, c := range p.pending {
		sent := 0
		switch ordinal := p.back + k + 1; {
		case ordinal < p.begun, ordinal == p.begun && p.cut < 0:
			sent = len(c.buf)
		case ordinal == p.begun:
			sent = p.cut
		}
		for i := c.done; i < len(c.items); i++ {
			it := &c.items[i]
			it.flags |= resend
			// A transaction is executed by its end.
			last := i
			for last+1 < len(c.items) && c.items[last+1].flags&inUnit != 0 {
				last++
			}
			if int(c.items[last].end) <= sent {
				it.flags |= unsure
			}
		}
		l.held = append(l.held, c)
	}
	p.pending = nil
	l.takeCur(p)
}

// takeBack takes what is gathered from all pipes, so that what is sent again comes first.
func (l *loader) takeBack() {
	for _, p := range l.pipes {
		if p != nil {
			l.takeCur(p)
		}
	}
}

func (l *loader) takeCur(p *pipe) {
	p.closeSet()
	if p.cur == nil {
		return
	}
	for i := range p.cur.items {
		p.cur.items[i].flags |= resend | fresh
	}
	p.cur.done = len(p.cur.items)
	if len(p.cur.items) > 0 {
		l.held = append(l.held, p.cur)
	} else {
		l.give(p.cur)
	}
	p.cur = nil
}

// unit is some items of a chunk that belong together.
type unit struct {
	c        *chunk
	from, to int
}

func (u unit) no() int64 { return u.c.items[u.from].no }

// units are those of the chunks that are held, in the order of the input.
func (l *loader) units(wanted itemFlags) []unit {
	var all []unit
	for _, c := range l.held {
		for i := 0; i < len(c.items); {
			u := unit{c, i, i + 1}
			for u.to < len(c.items) && c.items[u.to].flags&inUnit != 0 {
				u.to++
			}
			i = u.to
			if c.items[u.from].flags&internal != 0 { // ASKING, or our echo
				u.from++
			}
			if u.from < u.to && (wanted == 0 || c.items[u.from].flags&wanted != 0) {
				all = append(all, u)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b unit) int { return int(a.no() - b.no()) })
	return all
}

// keepOrder finds the commands that a Cluster executed though one before them with the
// same key has to be sent again. They are sent again too, behind it.
func (l *loader) keepOrder() error {
	if !l.cluster {
		return nil
	}
	late := make(map[string]bool)
	for _, u := range l.units(0) {
		waits := u.c.items[u.from].flags&resend != 0
		keys, repeatable := l.keysOf(u)
		if !waits {
			touched := slices.ContainsFunc(keys, func(k string) bool { return late[k] })
			if !touched || u.c.items[u.from].flags&erred != 0 {
				continue
			}
			if !repeatable {
				return l.gone(fmt.Errorf("the Cluster executed command %d (%s) before one with the same key that comes before it, "+
					"and doing it again would do harm", u.no(), describe(u.c.raw(u.from))))
			}
			for i := u.from; i < u.to; i++ {
				u.c.items[i].flags |= resend
				u.c.pipe.node.replies.Add(-int64(u.c.items[i].many))
			}
		}
		for _, k := range keys {
			late[k] = true
		}
	}
	return nil
}

// keysOf returns the keys of a unit, and whether all of it can be sent again.
func (l *loader) keysOf(u unit) (keys []string, repeatable bool) {
	var f Frame
	repeatable = true
	for i := u.from; i < u.to; i++ {
		u.c.frame(i, &f)
		s := l.check.find(&f)
		repeatable = repeatable && s.repeatable(&f)
		found, _ := s.findKeys(nil, &f)
		for _, k := range found {
			keys = append(keys, string(k))
		}
	}
	return keys, repeatable
}

// sweep gives the chunks back in which nothing has to be sent again.
func (l *loader) sweep() {
	l.held = slices.DeleteFunc(l.held, func(c *chunk) bool {
		for i := range c.items {
			if c.items[i].flags&(resend|internal) == resend {
				return false
			}
		}
		l.give(c)
		return true
	})
}

// forget gives all chunks back.
func (l *loader) forget() {
	l.lost()
	for _, c := range l.held {
		l.give(c)
	}
	l.held, l.trouble = nil, false
}

// mayResend refuses to send again what could do harm.
func (l *loader) mayResend(cause error) error {
	for _, u := range l.units(unsure) {
		_, repeatable := l.keysOf(u)
		if err := l.mayRepeat(repeatable, u.c, u.from, cause); err != nil {
			return err
		}
	}
	return nil
}

// mayRepeat is the error of a command that was sent, was not answered, and must not be
// sent again.
func (l *loader) mayRepeat(repeatable bool, c *chunk, i int, cause error) error {
	if l.opt.Resend == ResendAlways || repeatable && l.opt.Resend == ResendHarmless {
		return nil
	}
	if cause == nil {
		cause = errMoved
	}
	return l.gone(fmt.Errorf("%w before command %d (%s, %s) was answered: it may have been executed, and doing it again may do harm",
		cause, c.items[i].no, describe(c.raw(i)), l.where(c.items[i].at)))
}

// dispatch sends again what has to be, in the order of the input. What nobody takes at
// the moment stays held, and so does what shares a key with a command that stays, or goes
// to another server, or is likely to be refused again: it would overtake that command.
func (l *loader) dispatch(ctx context.Context) error {
	filling := make(map[*pipe]*chunk)
	went := make(map[string]*pipe) // where the commands of a key went; nil: one of them waits
	for _, u := range l.units(resend) {
		keys, _ := l.keysOf(u)
		p, asked, err := l.destination(ctx, u, keys)
		if err != nil {
			return err
		}
		if !l.follows(keys, p, went) {
			p = nil
		}
		next := p
		if u.putOff() || asked && len(keys) > 1 {
			next = nil
		}
		for _, k := range keys {
			went[k] = next
		}
		if p == nil {
			continue
		}
		c := filling[p]
		if c == nil {
			c = l.newExtra()
			filling[p] = c
		}
		l.copy(c, u, asked)
		if len(c.buf) >= chunkSize {
			delete(filling, p)
			if err := l.send(ctx, p, c); err != nil {
				return err
			}
		}
	}
	for p, c := range filling {
		if err := l.send(ctx, p, c); err != nil {
			return err
		}
	}
	l.sweep()
	return nil
}

// follows reports whether a command that goes to p stays behind those before it that have
// a key in common: on one connection they are executed in order.
func (l *loader) follows(keys []string, p *pipe, went map[string]*pipe) bool {
	if !l.cluster {
		return true
	}
	for _, k := range keys {
		if before, ok := went[k]; ok && before != p {
			return false
		}
	}
	return true
}

// putOff reports whether a server refused a unit for now: while a slot moves, a command of
// several keys waits until all of them are in one place.
func (u unit) putOff() bool {
	for i := u.from; i < u.to; i++ {
		if u.c.items[i].flags&later != 0 {
			return true
		}
	}
	return false
}

// copy puts a unit into another chunk.
func (l *loader) copy(c *chunk, u unit, asked bool) {
	if asked {
		c.add([]byte("*1\r\n$6\r\nASKING\r\n"), item{no: u.no(), many: 1, flags: internal})
	}
	for i := u.from; i < u.to; i++ {
		from := &u.c.items[i]
		it := item{no: from.no, at: from.at, many: from.many}
		if i > u.from || asked {
			it.flags = inUnit
		}
		if it.many > 1 {
			it.first = int32(len(c.sets)) // never more than the sets of a chunk
			c.sets = append(c.sets, u.c.sets[from.first:from.first+from.many]...)
		}
		c.add(u.c.raw(i), it)
		if from.flags&fresh != 0 {
			l.count.commands.Add(int64(from.many))
		} else {
			l.count.resent.Add(int64(from.many))
		}
		from.flags &^= resend | unsure | fresh | later
	}
}

// destination is where a unit goes now: nil if nobody is known.
func (l *loader) destination(ctx context.Context, u unit, touched []string) (p *pipe, asked bool, err error) {
	if to, ok := u.c.turned[u.from]; ok {
		delete(u.c.turned, u.from)
		p, err := l.pipeTo(ctx, to.addr)
		switch {
		case err != nil: // it is asked again who owns the slot
			return nil, false, nil
		case !to.once:
			return p, false, nil
		// A server takes ASKING for one command only. A transaction has to wait until
		// its slot has moved.
		case u.to == u.from+1:
			return p, true, nil
		}
	}
	at := 0
	if len(touched) > 0 {
		at = keys.Slot([]byte(touched[0]))
	}
	return l.pipeFor(at), false, nil
}
