package work

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

//go:embed drop.lua
var dropSource string

var dropScript = script.New(dropSource).Retryable()

const (
	// maxLetters is the maximum number of dead letters that are kept.
	maxLetters = 1000
	// maxError limits the text of an error, in bytes.
	maxError = 500
)

// Letter is a dead letter: a task that was given up.
type Letter struct {
	ID    string // the ID of its stream entry
	Task  string
	Error string // the last error
	At    time.Time
	Tries int64
}

// Letters returns the number of dead letters. One round trip.
func Letters(ctx context.Context, client rueidis.Client) (int64, error) {
	n, err := client.Do(ctx, client.B().Xlen().Key(storage.DeadTasks).Build()).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("social: key %s: %w", storage.DeadTasks, err)
	}
	return n, nil
}

// Letters returns the dead letters, at most 1,000, oldest first. One round trip.
func (e *Engine) Letters(ctx context.Context) ([]Letter, error) {
	entries, err := e.client.Do(ctx, e.client.B().Xrange().Key(storage.DeadTasks).Start("-").End("+").Count(maxLetters).Build()).AsXRange()
	if err != nil {
		return nil, fmt.Errorf("social: key %s: %w", storage.DeadTasks, err)
	}
	all := make([]Letter, len(entries))
	for i, entry := range entries {
		at, _ := strconv.ParseInt(entry.FieldValues["time"], 10, 64)
		tries, _ := strconv.ParseInt(entry.FieldValues["tries"], 10, 64)
		all[i] = Letter{ID: entry.ID, Task: entry.FieldValues["job"], Error: entry.FieldValues["error"], At: time.Unix(at, 0), Tries: tries}
	}
	return all, nil
}

// RetryLetters queues the task of each dead letter again, and removes dead letters that name no
// task because they are damaged. It returns the number of both.
func (e *Engine) RetryLetters(ctx context.Context) (queued, removed int, err error) {
	all, err := e.Letters(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, letter := range all {
		_, _, isTask := strings.Cut(letter.Task, ":")
		if isTask {
			err = e.Add(ctx, letter.Task)
		}
		if err == nil {
			err = dropScript.Run(ctx, e.client, []string{storage.DeadTasks}, []string{letter.ID}).Error()
		}
		switch {
		case err != nil:
			return queued, removed, fmt.Errorf("social: key %s: %w", storage.DeadTasks, err)
		case isTask:
			queued++
		default:
			removed++
		}
	}
	return queued, removed, nil
}

// State describes the unfinished tasks of a class.
type State struct {
	Unfinished int64         // tasks, including running ones
	Oldest     time.Duration // the waiting time of the oldest task that no process has started
	Overdue    time.Duration // the longest delay of a task that a process should have started or renewed
	Stats      Stats
}

// Stats counts the tasks of a class in this process since its start.
type Stats struct {
	Done      int64 // finished tasks
	Failed    int64 // failed tries
	Dead      int64 // tasks that became dead letters
	Lost      int64 // tasks taken over by another process
	Reclaimed int64 // tasks taken over from dead processes
	Running   int64 // currently running
}

const (
	// band and epoch match those in lib.lua.
	band  = 2_000_000_000_000_000
	epoch = 1_704_067_200_000_000
)

// Overdue returns the time for which a task with the given score has been due. It is negative if
// the task is not due yet.
func Overdue(score float64) time.Duration {
	from := math.Floor(score/band) * band
	return time.Duration(time.Now().UnixMicro()-epoch-int64(score-from)) * time.Microsecond
}

// States returns the unfinished tasks by class. One round trip.
func (e *Engine) States(ctx context.Context) ([classes]State, error) {
	b, cmds, all := e.client.B(), rueidis.Commands{}, [classes]State{}
	score := func(n int64) string { return strconv.FormatInt(n, 10) }
	for class := range int64(classes) {
		begun, waiting, end := (class*2-3)*band, (class*2-2)*band, (class*2-1)*band
		cmds = append(cmds, b.Zcount().Key(storage.Tasks).Min(score(begun)).Max("("+score(end)).Build())
		for _, from := range []int64{begun, waiting} {
			cmds = append(cmds, b.Zrange().Key(storage.Tasks).Min(score(from)).Max("("+score(from+band)).Byscore().Limit(0, 1).Withscores().Build())
		}
	}
	res := e.client.DoMulti(ctx, cmds...)
	for class := range all {
		s, replies := &all[class], res[3*class:]
		var err error
		if s.Unfinished, err = replies[0].AsInt64(); err != nil && !rediserr.IsWrongType(err) {
			return all, fmt.Errorf("social: key %s: %w", storage.Tasks, err)
		}
		for i := range 2 {
			first, err := replies[1+i].AsZScores()
			if err != nil && !rediserr.IsWrongType(err) {
				return all, fmt.Errorf("social: key %s: %w", storage.Tasks, err)
			}
			if len(first) == 0 {
				continue
			}
			late := max(0, Overdue(first[0].Score))
			s.Overdue = max(s.Overdue, late)
			if i == 1 {
				s.Oldest = late
			}
		}
		c := &e.counts[class]
		s.Stats = Stats{
			Done: c.done.Load(), Failed: c.failed.Load(), Dead: c.dead.Load(), Lost: c.lost.Load(),
			Reclaimed: c.reclaimed.Load(), Running: e.running[class].Load(),
		}
	}
	return all, nil
}

// Backlog returns the number of waiting short and long tasks, as of at most ten seconds ago. No
// round trip if this process runs tasks, otherwise at most one per second.
func (e *Engine) Backlog(ctx context.Context) (int64, error) {
	maxAge := time.Second
	if e.works.Load() {
		maxAge = 2 * poll
	}
	if time.Since(time.Unix(0, e.counted.Load())) <= maxAge {
		return e.backlog.Load(), nil
	}
	var sum int64
	b, score := e.client.B(), func(n int64) string { return strconv.FormatInt(n*band, 10) }
	for _, res := range e.client.DoMulti(ctx,
		b.Zcount().Key(storage.Tasks).Min(score(-2)).Max("("+score(-1)).Build(),
		b.Zcount().Key(storage.Tasks).Min(score(0)).Max("("+score(1)).Build()) {
		n, err := res.AsInt64()
		if err != nil {
			return 0, fmt.Errorf("social: key %s: %w", storage.Tasks, err)
		}
		sum += n
	}
	e.backlog.Store(sum)
	e.counted.Store(time.Now().UnixNano())
	return sum, nil
}
