// Package removal deletes accounts, and every trace of them.
//
// Closing an account is one write: the field `standing` of the user becomes "closed", the password
// and the sessions are removed, and nobody sees the user any more. The rest is a task (see package
// work), which can be repeated from its beginning, and which another process finishes if this
// process dies:
//
//  1. The name leaves `users_by_time` and the completions. Posts, replies, reposts, likes, follows,
//     blocks and followed tags are removed one by one, together with their counterparts: timeline
//     entries, counters, the other direction.
//  2. Requests of the user that were running when the account was closed may have written since. So
//     step 1 is repeated until [Grace] after the account was closed.
//  3. A scan of all keys, shared by all users waiting for a scan, finds entries that no list leads to:
//     stubs of posts deleted earlier, mutes and dismissals by others, places on the lists of others,
//     notifications that the user caused, limits.
//  4. The name is reserved: `users` maps it to 0, which is nobody. The hash of the user is deleted.
//
// Work is done in steps of about a millisecond of the server's time, with pauses. A post costs about
// fifteen commands, any other entry two to six; the scan reads all keys once. Texts of others that
// mention the name stay, and so does the audit log.
package removal

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
	"retwis/internal/social/notify"
	"retwis/internal/social/posts"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"

	"retwis/internal/social/work"
)

// Each script can be sent again if its reply was lost: repeating it changes nothing.
var (
	//go:embed close.lua
	closeSource string
	closeScript = script.New(closeSource).Retryable()

	//go:embed forget_user.lua
	forgetUserSource string
	forgetUserScript = script.New(forgetUserSource).Retryable()
)

// Grace is how long after an account was closed a request of its user may still be running.
const Grace = 10 * time.Second

// Kind is the kind of the tasks: "remove:<uid>:<joined>:<name>". Time and name distinguish an
// account that a failover lost from a new account with the same ID.
const Kind = "remove"

// ErrNoUser reports that there is no such user.
var ErrNoUser = errors.New("social: no such user")

// Step is a part of the deletion of an account that another package performs. Run can be repeated,
// and returns when nothing is left to delete.
type Step struct {
	Name string // for errors
	Run  func(ctx context.Context, uid int64) error
}

// Options configure an Engine; all but Steps are required.
type Options struct {
	storage.Parts
	Directory *storage.Directory
	FanOut    *posts.Engine
	Names     *search.CompletionIndex
	Steps     []Step
	// RemoveMembers removes deleted users from the lists of others.
	RemoveMembers func(ctx context.Context, owners []int64, gone func(owner, member int64) bool) error
}

// Engine deletes accounts. It is safe for concurrent use.
type Engine struct {
	Options
	follows   storage.Follows
	likes     storage.Reactions
	relations storage.Relations
	notify    notify.Store
	sweeper   *sweeper
}

// New returns an Engine, and registers its tasks with the task engine of opt.FanOut.
func New(opt Options) *Engine {
	e := &Engine{
		Options: opt, follows: storage.NewFollows(opt.DB.Client), likes: storage.NewReactions(opt.DB.Client), relations: storage.NewRelations(opt.DB.Client),
		notify: notify.New(opt.DB.Client),
	}
	e.sweeper = newSweeper(e.sweep, opt.FanOut.Tasks().Mark, opt.Log)
	opt.FanOut.Tasks().Handle(Kind, e.task)
	return e
}

// Close stops the background work.
func (e *Engine) Close() { e.sweeper.close() }

// account is an account that is being deleted.
type account struct {
	id     int64
	joined string // as stored
	name   string
}

func (a account) member() string { return Member(a.id, a.name, a.joined) }

// Member returns the member of `tasks` that deletes an account.
func Member(uid int64, name, joined string) string {
	return fmt.Sprintf("%s:%d:%s:%s", Kind, uid, joined, name)
}

// parse parses the argument of a task.
func parse(argument string) (account, bool) {
	id, rest, _ := strings.Cut(argument, ":")
	joined, name, _ := strings.Cut(rest, ":")
	uid, ok := storage.ParseID(id)
	return account{id: uid, joined: joined, name: name}, ok && name != ""
}

// Delete closes an account, and leaves the remaining steps of the deletion to a task. It returns
// ErrNoUser if there is no such user. Repeating it changes nothing. Four round trips.
func (e *Engine) Delete(ctx context.Context, uid int64) error {
	fields, err := reply.Fields(e.DB.Client.Do(ctx, e.DB.Client.B().Hmget().Key(storage.UserKey(uid)).Field("username", "joined").Build()))
	if err != nil {
		return fmt.Errorf("social: delete an account: %w", err)
	}
	if fields[0] == "" {
		return ErrNoUser
	}
	a := account{id: uid, joined: fields[1], name: fields[0]}
	if err := e.FanOut.Tasks().Note(ctx, a.member()); err != nil {
		return err
	}
	defer e.FanOut.Tasks().Queue(a.member())
	_, err = e.close(ctx, a)
	return err
}

// Finish deletes the remaining data of an account that Delete has closed, and returns when no data
// is left.
func (e *Engine) Finish(ctx context.Context, uid int64) error {
	prefix := fmt.Sprintf("%s:%d:", Kind, uid)
	for page, err := range scan.SortedSet(ctx, e.DB.Client, storage.Tasks, 1000) {
		if err != nil {
			return fmt.Errorf("social: delete an account: %w", err)
		}
		for i := 0; i < len(page); i += 2 {
			if !strings.HasPrefix(page[i], prefix) {
				continue
			}
			if err := e.FanOut.Tasks().Finish(ctx, page[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// closed describes an account at the time it was closed.
type closed struct {
	at      time.Time
	display string
	gone    bool // whether the hash is already deleted
}

// close hides an account and ends its sessions.
func (e *Engine) close(ctx context.Context, a account) (closed, error) {
	args := append([]string{a.name, a.joined, storage.Seconds(e.Now())}, secretFields...)
	fields, err := closeScript.RunFenced(ctx, e.DB.Client, []string{storage.UserKey(a.id)}, args).AsStrSlice()
	if rueidis.IsRedisNil(err) {
		return closed{gone: true}, nil
	}
	if err != nil {
		return closed{}, fmt.Errorf("social: close an account: %w", err)
	}
	if err := e.DB.Client.Do(ctx, e.DB.Client.B().Unlink().Key(storage.SessionsKey(a.id)).Build().ToRetryable()).Error(); err != nil {
		return closed{}, fmt.Errorf("social: close an account: %w", err)
	}
	return closed{at: storage.ParseTime(fields[0]), display: fields[1]}, nil
}

// task runs a task of Kind.
func (e *Engine) task(ctx context.Context, argument string) error {
	a, ok := parse(argument)
	if !ok {
		return nil
	}
	if err := e.remove(ctx, a); err != nil {
		if errors.Is(err, work.ErrAgain) {
			return err
		}
		return fmt.Errorf("social: delete user %d: %w", a.id, err)
	}
	return nil
}

// remove deletes an account completely.
func (e *Engine) remove(ctx context.Context, a account) error {
	state, err := e.close(ctx, a)
	if err != nil {
		return err
	}
	if state.gone {
		other, err := e.isAnother(ctx, a)
		if err != nil || other {
			return err
		}
	}
	if !e.sweeper.known(a) {
		// Read the time before removing the lists, because the steps depend on it too.
		isOver := state.gone || !e.Now().Before(state.at.Add(Grace))
		if err := e.removeFromLists(ctx, a, state); err != nil {
			return err
		}
		if !isOver {
			return work.ErrAgain
		}
	}
	if err := e.sweeper.sweep(ctx, a); err != nil {
		return err
	}
	if err := e.runSteps(ctx, a); err != nil { // for data recorded during the scan
		return err
	}
	if err := e.unlink(ctx, a.id, ownKeys, mirroredKeys); err != nil {
		return err
	}
	if err := e.Directory.Reserve(ctx, a.name, a.id); err != nil {
		return err
	}
	return forgetUserScript.RunFenced(ctx, e.DB.Client, []string{storage.UserKey(a.id)}, []string{a.name, a.joined}).Error()
}

// isAnother reports whether the ID belongs to another account now.
func (e *Engine) isAnother(ctx context.Context, a account) (bool, error) {
	name, err := reply.TextOrEmpty(e.DB.Client.Do(ctx, e.DB.Client.B().Hget().Key(storage.UserKey(a.id)).Field("username").Build()))
	return name != "", err
}

// unlink deletes keys of a user.
func (e *Engine) unlink(ctx context.Context, uid int64, tables ...[]func(uid int64) string) error {
	var cmds rueidis.Commands
	for _, keys := range tables {
		for _, key := range keys {
			cmds = append(cmds, e.DB.Client.B().Unlink().Key(key(uid)).Build().ToRetryable())
		}
	}
	return reply.FirstError(e.DB.Client.DoMulti(ctx, cmds...))
}
