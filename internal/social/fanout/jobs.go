package fanout

import (
	"context"
	"strings"

	"retwis/internal/jobs"
	"retwis/internal/social/layout"
	"retwis/internal/social/task"
)

// Jobs are the queues of the tasks, and what was interrupted or given up.
type Jobs struct {
	db
	writer  *writer
	tasks   *task.Engine
	queues  task.Queues
	letters jobs.Letters
}

func newJobs(d db, w *writer) *Jobs {
	j := &Jobs{db: d, writer: w, letters: jobs.NewLetters(d.client, layout.DeadJobs)}
	j.queues = task.Queues{
		Short: j.newQueue(layout.JobsPrefix, 0), Long: j.newQueue(layout.LongJobsPrefix, 0), Mail: j.newQueue(layout.MailJobsPrefix, mailTries),
	}
	j.tasks = task.NewEngine(d.ledger, j.queues, d.log)
	return j
}

// mailTries is how often a mail may fail: with pauses of five minutes more often than it can
// before it is too old.
const mailTries = 1000

// newQueue returns a queue of jobs; tries is 0 for as many as usual.
func (j *Jobs) newQueue(prefix string, tries int) *jobs.Queue {
	opt := jobs.Options{Prefix: prefix, Dead: layout.DeadJobs, OnDead: j.forgetDead, Log: j.log, Now: j.now, Tries: tries}
	if j.cluster {
		opt.Streams = layout.JobStreams // its masters share them
	}
	return jobs.New(j.client, opt)
}

// Queues are the queues of jobs.
func (j *Jobs) Queues() task.Queues { return j.queues }

// Backlog returns how many jobs wait, without mails, as of at most two seconds ago. Without a round trip
// where this process works, else with one a second.
func (j *Jobs) Backlog(ctx context.Context) (int64, error) {
	short, err := j.queues.Short.Len(ctx)
	if err != nil {
		return 0, err
	}
	long, err := j.queues.Long.Len(ctx)
	return short + long, err
}

// RetryAll finishes the tasks that dead processes left unfinished. Each is claimed by one
// process. One that cannot be finished does not delay the others: it is logged, tried
// again by a later call, and counted in the error that comes back at the end.
func (j *Jobs) RetryAll(ctx context.Context) error {
	return j.tasks.RetryAll(ctx)
}

// Sweep queues the tasks again that no process and no queue has: their process has died,
// or a failover has lost a queue. Where the queues cannot be written, it finishes them
// itself.
func (j *Jobs) Sweep(ctx context.Context) error {
	return j.tasks.Sweep(ctx)
}

// Renew renews the claims of this process, as it does every two seconds.
func (j *Jobs) Renew(ctx context.Context) { j.ledger.Renew(ctx) }

// Claims returns on how many tasks this process works.
func (j *Jobs) Claims() int { return j.ledger.Claims() }

// Dead are the jobs that were given up.
func (j *Jobs) Dead() jobs.Letters { return j.letters }

// RetryDead notes and queues each dead letter again, and removes those that name no job:
// the rest of a damaged entry. It returns how many of each.
func (j *Jobs) RetryDead(ctx context.Context) (queued, removed int, err error) {
	all, err := j.letters.All(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, letter := range all {
		_, _, isTask := strings.Cut(letter.Job, ":")
		if isTask {
			if err = j.tasks.Note(ctx, letter.Job); err == nil {
				j.tasks.Queue(letter.Job)
			}
		}
		if err == nil {
			err = j.letters.Remove(ctx, letter.ID)
		}
		switch {
		case err != nil:
			return queued, removed, err
		case isTask:
			queued++
		default:
			removed++
		}
	}
	return queued, removed, nil
}

// forgetDead removes a task from the ledger that was given up; it is a dead letter now.
func (j *Jobs) forgetDead(ctx context.Context, member string) error {
	return j.tasks.Forget(ctx, member)
}
