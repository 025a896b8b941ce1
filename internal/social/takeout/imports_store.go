package takeout

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

var (
	//go:embed import_begin.lua
	beginSource string
	beginScript = script.New(beginSource).Retryable()

	//go:embed import_note.lua
	noteSource string
	noteScript = script.New(noteSource).Retryable()
)

// Mark is the result of an entry. It is the first byte of the entry in the list.
type Mark byte

// The marks.
const (
	Pending  Mark = '.'
	Done     Mark = '+'
	NotFound Mark = '-' // no such user or post here
	Refused  Mark = '!' // not allowed by the site
	Unread   Mark = '?' // not understood
)

// resultTTL is how long the result of an import is kept.
const resultTTL = 7 * 24 * time.Hour

// State is the state of an import.
type State string

// The states. A user without an import has an empty state.
const (
	Running  State = "running"
	Finished State = "done"
	Stopped  State = "stopped"
)

// Progress is the progress of an import.
type Progress struct {
	ID     string
	Kind   Kind
	State  State
	Began  time.Time
	Total  int
	Done   int // including failed ones
	Failed int
}

// Store stores the imports of all users.
type Store struct{ client rueidis.Client }

// NewStore returns the Store of the database of client.
func NewStore(client rueidis.Client) Store { return Store{client} }

func keys(uid int64) []string { return []string{storage.ImportKey(uid), storage.ImportEntriesKey(uid)} }

// begin stores an import, unless another one is running.
func (s Store) begin(ctx context.Context, uid int64, p Progress, entries []string) (bool, error) {
	args := append(make([]string, 0, len(entries)+3), p.ID, string(p.Kind), storage.Seconds(p.Began))
	for _, entry := range entries {
		args = append(args, string(Pending)+entry)
	}
	begun, err := beginScript.Run(ctx, s.client, keys(uid), args).AsBool()
	return begun, failed(err)
}

// note records the result of the next entry. It returns false if the import has ended, or the entry
// was already recorded: by another process, or by an earlier call whose reply was lost.
func (s Store) note(ctx context.Context, uid int64, p Progress, mark Mark, entry string) (noted bool, err error) {
	isFailed := "0"
	if mark != Done {
		isFailed = "1"
	}
	noted, err = noteScript.RunFenced(ctx, s.client, keys(uid), []string{
		p.ID, strconv.Itoa(p.Done), string(mark) + entry, isFailed, string(Done), storage.Itoa(int64(resultTTL / time.Second)),
	}).AsBool()
	return noted, failed(err)
}

// stop ends the running import.
func (s Store) stop(ctx context.Context, uid int64) error {
	return failed(noteScript.Run(ctx, s.client, keys(uid),
		[]string{"", "-1", "", "0", string(Done), storage.Itoa(int64(resultTTL / time.Second))}).Error())
}

// Get returns the progress of a user's import, or the zero value if there is none.
func (s Store) Get(ctx context.Context, uid int64) (Progress, error) {
	fields, err := s.client.Do(ctx, s.client.B().Hgetall().Key(storage.ImportKey(uid)).Build()).AsStrMap()
	if err != nil || len(fields) == 0 {
		return Progress{}, failed(err)
	}
	p := Progress{ID: fields["id"], Kind: Kind(fields["kind"]), State: State(fields["state"]), Began: storage.ParseTime(fields["began"])}
	for name, n := range map[string]*int{"total": &p.Total, "done": &p.Done, "failed": &p.Failed} {
		*n, _ = strconv.Atoi(fields[name])
	}
	return p, nil
}

// entries returns the entries from index from up to, but not including, index to, each after its
// mark.
func (s Store) entries(ctx context.Context, uid int64, from, to int) ([]string, error) {
	all, err := s.client.Do(ctx, s.client.B().Lrange().Key(storage.ImportEntriesKey(uid)).Start(int64(from)).Stop(int64(to)-1).Build()).AsStrSlice()
	return all, failed(err)
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("social: import: %w", err)
}
