package social

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/script"
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
	*auditLog
	client    rueidis.Client
	users     *users
	logins    *accounts
	follows   *follows
	lists     *listings
	fanOut    *fanout.Engine
	tasks     *task.Engine
	standings *standings
	log       *slog.Logger
	now       func() time.Time
}

// HidePost hides a post from everybody but its author, who reads the message, and
// moderators, who read the note. It returns ErrForbidden, *InvalidError for a text
// that is too long, and ErrNotFound. About five round trips.
func (m *moderation) HidePost(ctx context.Context, actor Actor, post int64, message, note string) error {
	message, err := cleanNote(message)
	if err != nil {
		return &InvalidError{"message", "Use at most 1,000 characters."}
	}
	return m.decideOnPost(ctx, actor, "hide", post, note, func() error {
		return m.setHidden(ctx, post, layout.Seconds(m.now())+" "+message)
	})
}

// UnhidePost shows a hidden post again; see HidePost.
func (m *moderation) UnhidePost(ctx context.Context, actor Actor, post int64, note string) error {
	return m.decideOnPost(ctx, actor, "unhide", post, note, func() error { return m.setHidden(ctx, post, "") })
}

// RemovePost deletes a post; see HidePost and Delete.
func (m *moderation) RemovePost(ctx context.Context, actor Actor, post int64, note string) error {
	return m.decideOnPost(ctx, actor, "delete", post, note, func() error {
		defer m.lists.touch(post)
		return m.fanOut.Delete(ctx, post)
	})
}

// decideOnPost does what an actor has decided about a post.
func (m *moderation) decideOnPost(ctx context.Context, actor Actor, action string, pid int64, note string, do func() error) error {
	found, err := m.lists.Views(WithFresh(ctx, pid), pid)
	if err != nil {
		return err
	}
	if found[0] == nil || found[0].Deleted {
		return ErrNotFound
	}
	author := found[0].Author.ID
	if err := m.authorize(ctx, actor, author); err != nil {
		return err
	}
	err = m.Audit(ctx, AuditEntry{Actor: actor, Action: action, Target: PostTarget(pid), Person: author, Note: note})
	if err != nil {
		return err
	}
	return do()
}

func (m *moderation) setHidden(ctx context.Context, post int64, hidden string) error {
	ok, err := postHideScript.RunFenced(ctx, m.client, []string{layout.PostKey(post)}, []string{hidden}).AsBool()
	m.lists.touch(post)
	if err != nil {
		return fmt.Errorf("social: hide a post: %w", err)
	}
	if !ok {
		return ErrNotFound
	}
	return nil
}
