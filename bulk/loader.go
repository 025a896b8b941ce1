package bulk

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/internal/command"
	"retwis/bulk/internal/input"
	"retwis/bulk/internal/server"
	"retwis/bulk/resp"
)

// stopFor is how long an interrupted load waits for replies.
const stopFor = 10 * time.Second

// loader runs one load: it reads and checks commands and passes them to the parts below. The loader
// runs in the goroutine of Load; each pipe has two goroutines of its own.
//
//	input -> checker -> batcher -> sender -> pipe -> judge
//	                    broadcaster  router     recovery
type loader struct {
	opt      Options
	begin    int // the database in which each file starts
	bad      *badRecords
	count    counts
	judge    judge
	db       database
	in       *input.Input
	check    command.Checker
	promised int64 // an earlier load may have sent the input up to this offset

	router    router
	sender    sender
	recovery  recovery
	batch     batcher
	broadcast broadcaster

	frame resp.Frame
	no    int64 // number of the current command
	at    input.Place
	pos   input.Where // resume point of a checkpoint: after a record whose commands are all in chunks
	posNo int64       // number of commands before pos
}

func newLoader(to rueidis.ClientOption, opt Options) *loader {
	l := &loader{opt: opt, begin: to.SelectDB, db: database{selected: to.SelectDB}}
	l.bad = newBadRecords(opt, &l.count)
	l.count.began = time.Now()
	l.count.maxFailures = opt.ShowErrors
	l.count.to, l.count.toDB = opt.ErrorsTo, to.SelectDB
	l.judge.count, l.judge.db, l.judge.failFast = &l.count, &l.db, opt.FailFast
	l.router = router{
		dialer: server.Dialer{Options: to}, connections: opt.Connections, retryFor: opt.RetryFor,
		count: &l.count, db: &l.db, judge: &l.judge,
		events: make(chan event, 2*opt.MaxInflight/chunkSize+256),
	}
	l.sender = sender{router: &l.router, pacer: pacer{rate: opt.Rate}}
	l.recovery = recovery{
		router: &l.router, sender: &l.sender, check: &l.check, count: &l.count, resend: opt.Resend, retryFor: opt.RetryFor,
	}
	l.batch = newBatcher(opt, &l.sender, &l.recovery)
	l.broadcast = broadcaster{
		batch: &l.batch, sender: &l.sender, recovery: &l.recovery, router: &l.router, judge: &l.judge, count: &l.count, db: &l.db,
	}
	return l
}

// run loads all files.
func (l *loader) run(ctx context.Context, files []File) (Report, error) {
	stop := l.count.watch(l.opt.OnProgress)
	defer stop()
	err := l.open(ctx, files)
	if err == nil {
		err = l.load(ctx)
	}
	if l.in != nil {
		l.in.Close()
	}
	l.router.close()
	if err == nil && l.count.toErr != nil {
		err = fmt.Errorf("bulk: Options.ErrorsTo: %w", l.count.toErr)
	}
	return l.count.report(), err
}

// open connects and opens the input.
func (l *loader) open(ctx context.Context, files []File) error {
	saves, from, err := openCheckpoint(l.opt)
	if err != nil {
		return err
	}
	l.sender.saves = saves
	if err := l.router.open(ctx); err != nil {
		return err
	}
	l.check.Cluster, l.judge.cluster = l.router.cluster, l.router.cluster
	opt := l.opt.input()
	opt.Start = from.start()
	opt.Interrupted = ctx.Err
	opt.SkipBad = l.bad.skipper()
	opt.Redis6 = func() bool { return strings.HasPrefix(l.router.version(ctx), "6.") }
	if l.in, err = input.Open(inputFiles(files), opt, &l.count.input, l.waitForInput(ctx)); err != nil {
		return err
	}
	commands := int64(0)
	if from != nil {
		commands = from.Commands
	}
	l.count.begin(l.in, commands)
	saves.begin(l.in)
	if from == nil {
		return nil
	}
	l.no, l.sender.last, l.promised, l.count.from = from.Commands, from.Commands, from.Promised, from.Offset
	l.pos, l.posNo = opt.Start.Where, from.Commands
	if from.DB == l.db.selected {
		return nil
	}
	l.db.selected = from.DB
	l.router.close()
	return l.router.connect(ctx)
}

// load sends all commands and waits for the replies.
func (l *loader) load(ctx context.Context) error {
	err := l.readAll(ctx)
	var interrupted *input.InterruptedError
	if errors.As(err, &interrupted) {
		err = interrupted.Err
	}
	var damaged *InputError
	switch {
	case err == nil, errors.As(err, &damaged): // the commands before the damage are loaded
		err = errors.Join(err, l.finish(ctx))
	case ctx.Err() != nil || errors.Is(err, ErrFailed):
		l.stop(context.WithoutCancel(ctx))
	}
	return errors.Join(err, l.saveEnd())
}

// readAll reads the input and sends its commands.
func (l *loader) readAll(ctx context.Context) error {
	for {
		var err error
		l.at, err = l.in.Next(&l.frame)
		l.batch.offset = l.at.Total + 1
		if l.at.Record > 0 {
			l.count.records.Store(l.at.Record)
			l.count.skipped.Store(l.in.Skipped())
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			if err := l.endFile(); err != nil {
				return err
			}
			if err := l.nextFile(ctx); err != nil {
				return input.NotEOF(err)
			}
			continue
		}
		l.no++
		if err := l.command(ctx); err != nil {
			return err
		}
		l.mark()
	}
}

// endFile ends the current file.
func (l *loader) endFile() error {
	cut := l.in.Truncation(l.check.Open)
	l.count.end(cut)
	if cut != "" && l.check.Open != 0 { // no part of the transaction was sent: a load resumes before it
		l.no = l.check.Open - 1
		l.check.Open = 0
		l.batch.tx.reset()
		return nil
	}
	if err := l.check.End(); err != nil {
		return endError(l.in, l.at, err)
	}
	l.mark()
	return nil
}

// nextFile opens the next file, or returns io.EOF. Each file starts in the database of the URL.
func (l *loader) nextFile(ctx context.Context) error {
	if err := l.in.NextFile(); err != nil {
		return err
	}
	l.count.begin(l.in, l.no)
	if l.db.selected == l.begin {
		return nil
	}
	if err := l.batch.drain(ctx); err != nil {
		return err
	}
	failed, err := l.broadcast.selectDB(ctx, l.begin, item{no: l.no, commands: 1})
	if err == nil && failed.node != nil {
		err = &selectError{fmt.Sprintf("database %d, in which %s begins, cannot be selected: %s", l.begin, l.in.Name(), failed.text)}
	}
	return err
}

// mark records the position after a command or transaction as a resume point. The checkpoint
// receives only some of the resume points.
func (l *loader) mark() {
	saves := l.sender.saves
	if saves == nil || l.check.Open != 0 {
		return
	}
	pos, ok := l.in.End()
	if !ok {
		return
	}
	l.pos, l.posNo = pos, l.no
	if pos.Offset >= saves.next {
		saves.mark(pos, l.no, l.db.selected, l.in.Digest)
	}
}

// command checks the current command and passes it to the part that sends it.
func (l *loader) command(ctx context.Context) error {
	got, err := l.checkCommand(ctx)
	if err != nil && l.bad.canSkip(got, &l.check) {
		l.no--
		return l.bad.command(l.in, l.at, &l.frame, err)
	}
	if err != nil {
		return inputError(l.in, l.at, l.no, err)
	}
	it := item{no: l.no, at: l.at.Offset, commands: 1}
	if l.at.Repeatable {
		it.flags = markedRepeatable
	}
	if l.in.ByLine() {
		it.at = l.at.Line
	}
	if l.at.Total < l.promised && !l.at.InKey && !l.at.Repeatable && l.opt.Resend != ResendAlways && !got.Repeatable(&l.frame) {
		return lost(fmt.Errorf("the load that wrote %s ended before command %d (%s, %s) was known to be answered: it may have been executed, "+
			"and repeating it is not safe", l.opt.Checkpoint, l.no, resp.Text(l.frame.Raw()), l.count.where(l.no, it.at)))
	}
	slot, raw := max(got.Slot, 0), l.frame.Raw()
	switch {
	case l.check.Open != 0 || got.Kind == command.Exec:
		return l.transaction(ctx, got, it)
	case got.Kind == command.AllNodes && l.router.cluster, got.Kind == command.Select:
		return l.broadcast.toAll(ctx, got.Kind, &l.frame, it)
	case got.CrossSlot, (got.Kind == command.Unknown || got.Kind == command.AllNodes) && l.router.needsSlots():
		return l.batch.putExclusive(ctx, slot, raw, it)
	case l.opt.Coalesce && got.Name == "SET" && l.frame.Len() == 3:
		return l.batch.putSet(ctx, slot, &l.frame, it)
	}
	return l.batch.put(ctx, slot, raw, it)
}

// checkCommand checks the current command and determines its slot.
func (l *loader) checkCommand(ctx context.Context) (command.Checked, error) {
	got, err := l.check.Check(&l.frame, l.no, l.router.needsSlots())
	if err == nil && l.router.cluster && got.Kind == command.Unknown && got.Name != "" {
		var keys [][]byte
		if keys, err = l.router.askKeys(ctx, &l.frame, got.Name); err == nil {
			got, err = l.check.PlaceKeys(got, keys)
		}
	}
	if err == nil {
		err = l.router.checkArgs(ctx, l.frame.Len())
	}
	if err == nil && len(l.frame.Raw())+len(l.batch.tx.buf) > maxUnit {
		err = fmt.Errorf("the command, with the transaction before it, has more than %d bytes", maxUnit)
	}
	return got, err
}

// transaction collects the commands from MULTI to EXEC, which are sent together.
func (l *loader) transaction(ctx context.Context, got command.Checked, it item) error {
	if got.Kind != command.Multi {
		it.flags |= inUnit
	}
	l.batch.tx.add(l.frame.Raw(), it)
	if got.Kind != command.Exec {
		return nil
	}
	slot := max(got.Slot, 0)
	if len(l.check.Selections) > 0 && got.Name == "EXEC" {
		return l.broadcast.transaction(ctx, slot, l.check.Selections)
	}
	if !got.CrossSlot {
		return l.batch.putTransaction(ctx, slot)
	}
	if err := l.batch.drain(ctx); err != nil {
		return err
	}
	if err := l.batch.putTransaction(ctx, slot); err != nil {
		return err
	}
	return l.batch.drain(ctx)
}

// waitForInput returns a Waiter that sends the buffered commands before it waits, and handles
// events of the pipes while it waits.
func (l *loader) waitForInput(ctx context.Context) input.Waiter {
	return func(blocks <-chan input.Block) (input.Block, error) {
		if err := l.batch.flushAll(ctx); err != nil {
			return input.Block{}, err
		}
		for {
			select {
			case b := <-blocks:
				return b, nil
			case <-ctx.Done():
				return input.Block{}, ctx.Err()
			case ev := <-l.router.events:
				l.sender.handle(ev)
				if err := l.batch.handleTrouble(ctx); err != nil {
					return input.Block{}, err
				}
			}
		}
	}
}

// finish sends the remaining commands and then an ECHO on each connection. When the echoes
// arrive, all replies have been read.
func (l *loader) finish(ctx context.Context) error {
	if err := l.batch.drain(ctx); err != nil {
		return err
	}
	var echo bytes.Buffer
	e := resp.NewEncoder(&echo)
	if err := errors.Join(e.Encode("ECHO", rand.Text()[:20]), e.Flush()); err != nil {
		return err
	}
	for _, p := range l.router.pipes {
		if p.node.commands.Load() == 0 || p.failed != nil {
			continue
		}
		c := newExtra()
		c.add(echo.Bytes(), item{no: l.no, commands: 1, flags: internal})
		if err := l.sender.send(ctx, p, c); err != nil {
			return err
		}
	}
	if err := l.sender.quiesce(ctx); err != nil {
		return err
	}
	for _, p := range l.router.pipes { // a lost echo is harmless: all commands were answered
		if p.failed != nil && errors.Is(p.failed, server.ErrProtocol) {
			return p.failed
		}
	}
	l.recovery.releaseAll()
	return nil
}

// stop ends a load early. It sends the buffered commands, unless the load stops because a command
// failed, and waits for outstanding replies.
func (l *loader) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopFor)
	defer cancel()
	if l.judge.stopped() != nil || l.batch.flushAll(ctx) != nil {
		l.batch.drop()
	}
	_ = l.sender.quiesce(ctx)
}

// saveEnd writes the checkpoint at the end of a load.
func (l *loader) saveEnd() error {
	saves := l.sender.saves
	if saves == nil {
		return nil
	}
	low := l.sender.low()
	if low >= l.posNo && l.posNo > 0 {
		saves.mark(l.pos, l.posNo, l.db.selected, l.in.Digest)
	}
	l.sender.passed()
	return saves.stop(low == l.posNo && l.sender.last == l.posNo)
}
