package bulk

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// stopFor is how long a load that is stopped waits for answers.
const stopFor = 10 * time.Second

// loader is one load. One goroutine, which is Load's, reads the input, fills chunks,
// and decides; each pipe has two that write and read.
type loader struct {
	opt     Options
	dialer  dialer
	count   counts
	check   checker
	in      *input
	saves   *checkpoint // nil without one
	saveErr error
	until   int64 // what a checkpoint says may have been sent: an offset
	topology

	events   chan event
	free     []*chunk
	made     int      // chunks of the pool
	held     []*chunk // with items that have to be sent again
	trouble  bool
	hasty    atomic.Bool // a command failed and FailFast is set
	answered int         // chunks that have come back: progress

	frame     Frame
	no        int64 // of the current command
	at        place
	tx        chunk        // the transaction that is being read
	pos       position     // behind the last record all of whose commands are sent or gathered
	posNo     int64        // the commands up to there
	sent      int64        // nothing behind this offset has been sent
	last      int64        // all up to this command are in chunks that have been sent or are being filled
	db        int          // that all connections have selected
	databases map[int]bool // that are known to exist
	within    []selection  // of the transaction that is under way alone
	refusals  refusals
	due       time.Time // when the next command may be sent, with a rate
}

func newLoader(server rueidis.ClientOption, opt Options) *loader {
	l := &loader{opt: opt, dialer: dialer{opt: server}, db: server.SelectDB}
	l.count.began = time.Now()
	l.count.most = opt.ShowErrors
	l.count.to, l.count.toDB = opt.ErrorsTo, server.SelectDB
	l.events = make(chan event, 2*opt.MaxInflight/chunkSize+256)
	return l
}

// run loads all of r.
func (l *loader) run(ctx context.Context, r io.Reader) (Report, error) {
	stop := l.count.watch(l.opt.OnProgress)
	defer stop()
	err := l.open(ctx, r)
	if err == nil {
		err = l.work(ctx)
	}
	if l.in != nil {
		l.in.close()
	}
	l.stopPipes()
	if err == nil && l.count.toErr != nil {
		err = fmt.Errorf("bulk: Options.ErrorsTo: %w", l.count.toErr)
	}
	return l.count.report(), err
}

// open connects and opens the input.
func (l *loader) open(ctx context.Context, r io.Reader) error {
	var from *saved
	if l.opt.Checkpoint != "" {
		var err error
		if l.saves, from, err = openCheckpoint(l.opt); err != nil {
			return err
		}
	}
	if err := l.connectFirst(ctx); err != nil {
		return err
	}
	in, err := openInput(r, l.opt, &l.count.input, l.wait(ctx), from)
	if err != nil {
		return err
	}
	l.in = in
	if l.saves != nil {
		l.saves.begin(in)
	}
	if from != nil {
		l.no, l.last, l.until, l.count.from = from.Commands, from.Commands, from.Promised, from.Offset
		l.pos, l.posNo = position{from.Offset, from.Line, from.Record}, from.Commands
		if from.DB != l.db {
			return l.useDB(ctx, from.DB)
		}
	}
	return nil
}

// work sends all commands, and ends.
func (l *loader) work(ctx context.Context) error {
	err := l.all(ctx)
	var interrupted *interruptedError
	if errors.As(err, &interrupted) {
		err = interrupted.err
	}
	var input *InputError
	switch {
	case err == nil, errors.As(err, &input):
		// What stands before the damage is loaded.
		err = errors.Join(err, l.finish(ctx))
	case ctx.Err() != nil || errors.Is(err, ErrFailed):
		l.halt(context.WithoutCancel(ctx))
	}
	if l.saves != nil {
		err = errors.Join(err, l.stopSaving())
	}
	return err
}

// halt ends a load before its end: what is gathered is still sent, unless a command has
// failed, and what was sent is waited for.
func (l *loader) halt(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopFor)
	defer cancel()
	if l.hasty.Load() || l.flushAll(ctx) != nil {
		l.drop()
	}
	_ = l.quiesce(ctx)
}

// stopSaving writes down where a later load goes on.
func (l *loader) stopSaving() error {
	low := l.low()
	if low >= l.posNo && l.posNo > 0 {
		l.saves.mark(l.pos, l.posNo, l.db, l.in.digest)
	}
	l.pass()
	sent := l.sent
	if low == l.posNo && l.last == l.posNo { // nothing is in doubt
		sent = 0
	}
	return errors.Join(l.saveErr, l.saves.stop(sent))
}

// all reads the input and sends what it says.
func (l *loader) all(ctx context.Context) error {
	for {
		var err error
		l.at, err = l.in.next(&l.frame)
		if l.at.Record > 0 {
			l.count.records.Store(l.at.Record)
			l.count.skipped.Store(l.in.passedOver())
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			if err := l.check.end(); err != nil {
				return &InputError{Offset: l.at.Offset, Line: l.at.Line, Msg: err.Error()}
			}
			l.mark()
			return nil
		}
		l.no++
		if err := l.command(ctx); err != nil {
			return err
		}
		l.mark()
	}
}

// mark notes the place that the load has come to, and now and then tells the checkpoint.
func (l *loader) mark() {
	if l.saves == nil || l.check.open != 0 {
		return
	}
	pos, ok := l.in.end()
	if !ok {
		return
	}
	if l.pos, l.posNo = pos, l.no; pos.Offset >= l.saves.next {
		l.saves.mark(pos, l.no, l.db, l.in.digest)
	}
}

// command deals with the current command.
func (l *loader) command(ctx context.Context) error {
	got, err := l.check.check(&l.frame, l.no, l.many())
	if err == nil && l.cluster && got.kind == unknown {
		got, err = l.ask(ctx, got)
	}
	if err == nil && l.frame.Len() > oldArgs {
		err = l.takesMany(ctx)
	}
	if err == nil && len(l.frame.raw)+len(l.tx.buf) > maxUnit {
		err = fmt.Errorf("the command, with the transaction before it, has more than %d bytes", maxUnit)
	}
	if err != nil {
		return at(l.at, l.no, err)
	}
	if l.at.Offset < l.until && l.opt.Resend != ResendAlways && !got.repeatable(&l.frame) {
		return l.gone(fmt.Errorf("the load that wrote %s ended before command %d (%s, %s) was known to be answered: it may have been executed, "+
			"and doing it again would do harm", l.opt.Checkpoint, l.no, describe(l.frame.raw), l.where(l.placeOf())))
	}
	it := item{no: l.no, at: l.placeOf(), many: 1}
	switch {
	case l.check.open != 0 || got.kind == executes:
		return l.transaction(ctx, got, it)
	case got.kind == everywhere && l.cluster, got.kind == selects:
		return l.everywhere(ctx, got, it)
	case got.across, got.kind == unknown && l.many(), got.kind == everywhere && l.many():
		return l.alone(ctx, max(got.slot, 0), it)
	case l.opt.Coalesce && got.name == "SET" && l.frame.Len() == 3:
		return l.gather(ctx, max(got.slot, 0), it)
	}
	return l.put(ctx, max(got.slot, 0), l.frame.raw, it)
}

// placeOf is the place of the current command, as it is told.
func (l *loader) placeOf() int64 {
	if l.in.byLine() {
		return l.at.Line
	}
	return l.at.Offset
}

// where words a place.
func (l *loader) where(at int64) string {
	if l.in.byLine() {
		return fmt.Sprintf("line %d", at)
	}
	return fmt.Sprintf("byte %d", at)
}

// put adds the current command to the pipe of a slot.
func (l *loader) put(ctx context.Context, slot int, raw []byte, it item) error {
	p, err := l.room(ctx, slot, len(raw))
	if err != nil {
		return err
	}
	p.closeSet()
	p.cur.add(raw, it)
	l.last = it.no
	return nil
}

// transaction gathers the commands from MULTI to EXEC, which stay together.
func (l *loader) transaction(ctx context.Context, got checked, it item) error {
	if got.kind != begins {
		it.flags = inUnit
	}
	l.tx.add(l.frame.raw, it)
	if got.kind != executes {
		return nil
	}
	if len(l.check.selections) > 0 && got.name == "EXEC" {
		return l.selecting(ctx, max(got.slot, 0))
	}
	if got.across {
		if err := l.settle(ctx); err != nil {
			return err
		}
	}
	if err := l.putTransaction(ctx, max(got.slot, 0)); err != nil {
		return err
	}
	if got.across {
		return l.settle(ctx)
	}
	return nil
}

// putTransaction adds the transaction that was gathered to the pipe of a slot.
func (l *loader) putTransaction(ctx context.Context, slot int) error {
	p, err := l.room(ctx, slot, len(l.tx.buf))
	if err != nil {
		return err
	}
	p.closeSet()
	for i, it := range l.tx.items {
		p.cur.add(l.tx.raw(i), it)
	}
	l.last = l.no
	l.tx.reset()
	return nil
}

// settle sends what is gathered and waits until all is answered.
func (l *loader) settle(ctx context.Context) error {
	for {
		if err := l.flushAll(ctx); err != nil {
			return err
		}
		if err := l.quiesce(ctx); err != nil {
			return err
		}
		if !l.trouble {
			return l.hurried()
		}
		if err := l.recover(ctx); err != nil {
			return err
		}
	}
}

// hurried is the error of a load that is to end at the first command that fails.
func (l *loader) hurried() error {
	if l.hasty.Load() {
		return ErrFailed
	}
	return nil
}

// finish sends the rest, and an echo behind it: when that is back, all is.
func (l *loader) finish(ctx context.Context) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	var echo bytes.Buffer
	e := NewEncoder(&echo)
	if err := errors.Join(e.Encode("ECHO", rand.Text()[:20]), e.Flush()); err != nil {
		return err
	}
	for _, p := range l.pipes {
		if p.node.commands.Load() == 0 || p.failed != nil {
			continue
		}
		c := l.newExtra()
		c.add(echo.Bytes(), item{no: l.no, many: 1, flags: internal})
		if err := l.send(ctx, p, c); err != nil {
			return err
		}
	}
	if err := l.quiesce(ctx); err != nil {
		return err
	}
	for _, p := range l.pipes { // an echo that is lost with its connection: all else was answered
		if p.failed != nil && errors.Is(p.failed, errProtocol) {
			return p.failed
		}
	}
	l.forget()
	return nil
}

// wait waits for input. Meanwhile nothing that was gathered is kept back, and what the
// pipes say is heeded.
func (l *loader) wait(ctx context.Context) waiter {
	return func(blocks <-chan block) (block, error) {
		if err := l.flushAll(ctx); err != nil {
			return block{}, err
		}
		for {
			select {
			case b := <-blocks:
				return b, nil
			case <-ctx.Done():
				return block{}, ctx.Err()
			case ev := <-l.events:
				l.handle(ev)
				if err := l.mend(ctx); err != nil {
					return block{}, err
				}
			}
		}
	}
}

// mend recovers if there is trouble.
func (l *loader) mend(ctx context.Context) error {
	if err := l.hurried(); err != nil || !l.trouble {
		return err
	}
	return l.recover(ctx)
}
