package social

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
	"retwis/internal/social/task"
)

var (
	//go:embed post_hide.lua
	postHideSource string
	postHideScript = script.New(postHideSource).Retryable()
)

// moderation are the methods of a Service for roles, standings and hidden posts.
type moderation struct {
	audit     *auditLog
	client    rueidis.Client
	users     *users
	sessions  *sessions
	lists     *listings
	fanOut    *fanout.Engine
	tasks     *task.Engine
	standings *standings
	log       *slog.Logger
	now       func() time.Time
}

// moderationOptions are what moderation needs; all are required.
type moderationOptions struct {
	Users     *users
	Sessions  *sessions
	Lists     *listings
	FanOut    *fanout.Engine
	Standings *standings
	Audit     *auditLog
	Log       *slog.Logger
	Now       func() time.Time
}

func newModeration(opt moderationOptions) *moderation {
	m := &moderation{
		audit: opt.Audit, client: opt.Users.db.client, users: opt.Users, sessions: opt.Sessions, lists: opt.Lists,
		fanOut: opt.FanOut, tasks: opt.FanOut.Tasks(), standings: opt.Standings, log: opt.Log, now: opt.Now,
	}
	m.tasks.Handle(strings.TrimSuffix(roleTask, ":"), m.copyRole)
	m.tasks.Handle(strings.TrimSuffix(standingTask, ":"), m.FollowStanding)
	return m
}

// HidePost hides a post from everybody but its author, who reads the message, and
// moderators, who read the note. Where it is hidden with that message already, nothing
// is written. It returns ErrForbidden, *InvalidError for a text that is too long, and
// ErrNotFound. About five round trips.
func (m *moderation) HidePost(ctx context.Context, actor Actor, post int64, message, note string) error {
	_, err := m.hidePost(ctx, actor, post, message, note)
	return err
}

// hidePost is HidePost; it reports whether it has changed something.
func (m *moderation) hidePost(ctx context.Context, actor Actor, post int64, message, note string) (changed bool, err error) {
	message, err = cleanNote(message)
	if err != nil {
		return false, &InvalidError{"message", "Use at most 1,000 characters."}
	}
	return m.decideOnPost(ctx, postDecision{
		actor: actor, action: "hide", post: post, note: note,
		done: func(p *View) bool { return !p.Hidden.IsZero() && p.HiddenMessage == message },
		do:   func() error { return m.setHidden(ctx, post, layout.Seconds(m.now())+" "+message) },
	})
}

// UnhidePost shows a hidden post again; see HidePost.
func (m *moderation) UnhidePost(ctx context.Context, actor Actor, post int64, note string) error {
	_, err := m.decideOnPost(ctx, postDecision{
		actor: actor, action: "unhide", post: post, note: note,
		done: func(p *View) bool { return p.Hidden.IsZero() },
		do:   func() error { return m.setHidden(ctx, post, "") },
	})
	return err
}

// RemovePost deletes a post; see HidePost and Delete.
func (m *moderation) RemovePost(ctx context.Context, actor Actor, post int64, note string) error {
	_, err := m.decideOnPost(ctx, postDecision{
		actor: actor, action: "delete", post: post, note: note,
		done: func(*View) bool { return false },
		do: func() error {
			defer m.lists.views.touch(post)
			return m.fanOut.Delete(ctx, post)
		},
	})
	return err
}

// postDecision is what an actor has decided about a post.
type postDecision struct {
	actor  Actor
	action string
	post   int64
	note   string
	done   func(*View) bool // the post is so already
	do     func() error
}

// decideOnPost does what an actor has decided about a post. It reports whether that has
// changed something: what does not is not in the audit log, which would be full of it.
func (m *moderation) decideOnPost(ctx context.Context, d postDecision) (changed bool, err error) {
	found, err := m.lists.views.Views(WithFresh(ctx, d.post), d.post)
	if err != nil {
		return false, err
	}
	if found[0] == nil || found[0].Deleted {
		return false, ErrNotFound
	}
	author := found[0].Author.ID
	if err := m.authorize(ctx, d.actor, author); err != nil {
		return false, err
	}
	if d.done(found[0]) {
		return false, nil
	}
	err = m.audit.Audit(ctx, AuditEntry{Actor: d.actor, Action: d.action, Target: PostTarget(d.post), Person: author, Note: d.note})
	if err != nil {
		return false, err
	}
	return true, d.do()
}

func (m *moderation) setHidden(ctx context.Context, post int64, hidden string) error {
	ok, err := postHideScript.RunFenced(ctx, m.client, []string{layout.PostKey(post)}, []string{hidden}).AsBool()
	m.lists.views.touch(post)
	if err != nil {
		return fmt.Errorf("social: hide a post: %w", err)
	}
	if !ok {
		return ErrNotFound
	}
	return nil
}
