// Package notify stores notifications: each user has a list that is capped at about 1,000 entries,
// newest first, of about 30 bytes each. The first entry takes 250 bytes of the server's memory; in
// a stream, it would take 4.35 KB.
//
// Adding an entry is not retried after an error. A repeated action does not add an entry that the
// list has received since the action began, so the action notifies only once.
package notify

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

var (
	//go:embed entries.lua
	entriesSource string
	//go:embed add.lua
	addSource string
	addScript = script.New(entriesSource, addSource)

	//go:embed remove.lua
	removeSource string
	removeScript = script.New(entriesSource, removeSource).Retryable()

	//go:embed remove_actor.lua
	removeActorSource string
	removeActorScript = script.New(entriesSource, removeActorSource).Retryable()

	//go:embed mark_read.lua
	markReadSource string
	markReadScript = script.New(markReadSource).Retryable()

	//go:embed set_off.lua
	setOffSource string
	setOffScript = script.New(setOffSource).Retryable()
)

const (
	// maxKept is the maximum number of notifications of a user: 1,000, and up to 100 more before
	// the oldest are removed.
	maxKept = 1100
	// newestScan limits the number of entries read to find the newest undamaged one.
	newestScan = 100
	// Skew is the maximum clock difference between a process and the server.
	Skew = time.Minute
)

// Store reads and writes notifications. Its zero value is not usable; see New.
type Store struct{ client rueidis.Client }

// New returns the Store of a database.
func New(client rueidis.Client) Store { return Store{client: client} }

// call returns a call of a script on the notifications of a user.
func call(uid int64, args ...string) script.Call {
	return script.Call{Keys: []string{storage.NotificationsKey(uid)}, Args: args}
}

// Add adds a notification for each user in to, except users who have received the same notification
// since a time of the server's clock. If since is zero, it adds the notification in any case. One
// round trip.
func (s Store) Add(ctx context.Context, e Entry, since time.Time, to ...int64) error {
	if len(to) == 0 {
		return nil
	}
	packed, sinceMS := e.pack(), "0"
	if !since.IsZero() {
		sinceMS = storage.Itoa(since.UnixMilli())
	}
	calls := make([]script.Call, len(to))
	for i, uid := range to {
		calls[i] = call(uid, packed, sinceMS)
	}
	return reply.FirstError(addScript.RunMany(ctx, s.client, calls))
}

// Remove removes the notification of an action at about the given time. Repeating the removal
// changes nothing. One round trip.
func (s Store) Remove(ctx context.Context, uid int64, e Entry, at time.Time) error {
	run := call(uid, e.pack(), storage.Itoa(at.Add(-Skew).UnixMilli()))
	if err := removeScript.Run(ctx, s.client, run.Keys, run.Args).Error(); err != nil {
		return fmt.Errorf("social: remove a notification: %w", err)
	}
	return nil
}

// RemoveActors removes the notifications that the actors have caused for the users in from, which
// takes about 0.3 ms of the server's time for each user. It skips keys of the wrong type. One round
// trip.
func (s Store) RemoveActors(ctx context.Context, actors []int64, from ...int64) error {
	args := make([]string, len(actors))
	for i, actor := range actors {
		args[i] = storage.Itoa(actor)
	}
	calls := make([]script.Call, len(from))
	for i, uid := range from {
		calls[i] = call(uid, args...)
	}
	if err := reply.Written(removeActorScript.RunMany(ctx, s.client, calls)...); err != nil {
		return fmt.Errorf("social: remove notifications: %w", err)
	}
	return nil
}

// Page returns up to n entries before an ID, newest first; the zero ID starts at the newest. next
// is the ID of the last entry read, including damaged ones, or zero at the end. One round trip.
func (s Store) Page(ctx context.Context, uid int64, before ID, n int) (entries []Entry, next ID, err error) {
	read := n
	if before != (ID{}) {
		read = maxKept
	}
	all, err := parse(s.client.Do(ctx, rueidis.Completed(s.NewestCommand(uid, read))))
	if err != nil {
		return nil, ID{}, err
	}
	if before != (ID{}) {
		all = slices.DeleteFunc(all, func(e Entry) bool { return !e.ID.Less(before) })
	}
	if len(all) >= n && n > 0 {
		all = all[:n]
		next = all[n-1].ID
	}
	return readable(all), next, nil
}

// NewestCommand returns the command that reads the newest n entries of a user. ParseNewest parses
// the reply.
func (s Store) NewestCommand(uid int64, n int) rueidis.Cacheable {
	return s.client.B().Lrange().Key(storage.NotificationsKey(uid)).Start(0).Stop(int64(n - 1)).Cache()
}

// ParseNewest parses the reply to NewestCommand and returns the entries after an ID, newest first.
// A key of the wrong type counts as empty.
func ParseNewest(res rueidis.RedisResult, seen ID) ([]Entry, error) {
	all, err := parse(res)
	return slices.DeleteFunc(readable(all), func(e Entry) bool { return !seen.Less(e.ID) }), err
}

// parse parses the entries of a list, newest first. An unreadable entry has only its ID; it is
// skipped if its ID is unreadable, too.
func parse(res rueidis.RedisResult) ([]Entry, error) {
	texts, err := reply.OrEmpty(res.AsStrSlice())
	if err != nil {
		return nil, fmt.Errorf("social: read notifications: %w", err)
	}
	all := make([]Entry, 0, len(texts))
	for _, text := range texts {
		if e, _ := unpack(text); e.ID != (ID{}) {
			all = append(all, e)
		}
	}
	return all, nil
}

// readable returns the entries that are not damaged.
func readable(all []Entry) []Entry {
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Kind == 0 })
}

// Settings are the fields of a user about notifications.
type Settings struct {
	Off  []Kind // kinds that are turned off
	Seen ID     // the last entry that the user has seen
}

func (s Settings) isOff(k Kind) bool { return slices.Contains(s.Off, k) }

// SettingsCommand returns the command that reads the settings of a user. ParseSettings parses the
// reply.
func (s Store) SettingsCommand(uid int64) rueidis.Cacheable {
	return s.client.B().Hmget().Key(storage.UserKey(uid)).Field("notify_off", "notifications_seen").Cache()
}

// ParseSettings parses the reply to SettingsCommand. Damaged settings count as not set.
func ParseSettings(res rueidis.RedisResult) (Settings, error) {
	fields, err := reply.Fields(res)
	if err != nil {
		return Settings{}, fmt.Errorf("social: read the settings of a user: %w", err)
	}
	var set Settings
	for name := range strings.SplitSeq(fields[0], ",") {
		if kind, ok := ParseKind(name); ok {
			set.Off = append(set.Off, kind)
		}
	}
	set.Seen, _ = ParseID(fields[1])
	return set, nil
}

// MarkRead records that a user has seen the entries up to an ID, at most the newest. The recorded
// ID never decreases. Two round trips.
func (s Store) MarkRead(ctx context.Context, uid int64, upTo ID) error {
	newest, err := s.newest(ctx, uid)
	if err != nil {
		return err
	}
	if newest.Less(upTo) {
		upTo = newest
	}
	return s.changeUser(ctx, markReadScript, uid, storage.Itoa(upTo.MS), storage.Itoa(upTo.Seq))
}

// newest returns the ID of the newest entry.
func (s Store) newest(ctx context.Context, uid int64) (ID, error) {
	all, err := parse(s.client.Do(ctx, rueidis.Completed(s.NewestCommand(uid, newestScan))))
	if err != nil || len(all) == 0 {
		return ID{}, err
	}
	return all[0].ID, nil
}

// SetOff sets which kinds are turned off. One round trip.
func (s Store) SetOff(ctx context.Context, uid int64, off []Kind) error {
	var names []string
	for _, kind := range Kinds() {
		if slices.Contains(off, kind) {
			names = append(names, kind.String())
		}
	}
	return s.changeUser(ctx, setOffScript, uid, strings.Join(names, ","))
}

// changeUser runs a script on the hash of a user, followed by a PING. The reply to the PING arrives
// after the server's invalidation messages, so that a later read sees the change.
func (s Store) changeUser(ctx context.Context, change script.Script, uid int64, args ...string) error {
	key := storage.UserKey(uid)
	res := s.client.DoMulti(ctx, change.Command(s.client, []string{key}, args), s.client.B().Ping().Build().ToRetryable())
	if err := reply.FirstError(res); err != nil {
		return fmt.Errorf("social: change the settings of a user: %w", err)
	}
	return nil
}
