package jobs

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
)

var (
	//go:embed add_dead.lua
	addDeadSource string
	addDeadScript = script.New(addDeadSource).Retryable()

	//go:embed drop_dead.lua
	dropDeadSource string
	dropDeadScript = script.New(dropDeadSource).Retryable()
)

const (
	// maxDead is how many dead letters are kept.
	maxDead = 1000
	// maxError bounds the text of an error, in bytes.
	maxError = 500
)

// Dead is a job that was given up.
type Dead struct {
	ID    string // of its entry
	Job   string
	Error string // the last one
	At    time.Time
	Tries int64
}

// Letters are the dead letters at a key. Queues can share them.
type Letters struct {
	client rueidis.Client
	key    string
}

// NewLetters returns the dead letters at key.
func NewLetters(client rueidis.Client, key string) Letters { return Letters{client, key} }

// add adds a dead letter.
func (l Letters) add(ctx context.Context, d Dead) error {
	text := d.Error
	if len(text) > maxError {
		text = text[:maxError]
	}
	return addDeadScript.Run(ctx, l.client, []string{l.key},
		[]string{strconv.Itoa(maxDead), d.Job, text, strconv.FormatInt(d.At.Unix(), 10), strconv.FormatInt(d.Tries, 10)}).Error()
}

// Len returns how many there are. One round trip.
func (l Letters) Len(ctx context.Context) (int64, error) {
	n, err := l.client.Do(ctx, l.client.B().Xlen().Key(l.key).Build()).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("jobs: %s: %w", l.key, err)
	}
	return n, nil
}

// All returns the dead letters, at most 1,000, the oldest first. One round trip.
func (l Letters) All(ctx context.Context) ([]Dead, error) {
	entries, err := l.client.Do(ctx, l.client.B().Xrange().Key(l.key).Start("-").End("+").Count(maxDead).Build()).AsXRange()
	if err != nil {
		return nil, fmt.Errorf("jobs: %s: %w", l.key, err)
	}
	all := make([]Dead, len(entries))
	for i, e := range entries {
		at, _ := strconv.ParseInt(e.FieldValues["time"], 10, 64)
		tries, _ := strconv.ParseInt(e.FieldValues["tries"], 10, 64)
		all[i] = Dead{ID: e.ID, Job: e.FieldValues[field], Error: e.FieldValues["error"], At: time.Unix(at, 0), Tries: tries}
	}
	return all, nil
}

// Remove removes a dead letter: after its job was added again, say. One that is gone is
// no error.
func (l Letters) Remove(ctx context.Context, id string) error {
	if err := dropDeadScript.Run(ctx, l.client, []string{l.key}, []string{id}).Error(); err != nil {
		return fmt.Errorf("jobs: %s: %w", l.key, err)
	}
	return nil
}
