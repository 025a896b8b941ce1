package moderation

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/auth"
	"retwis/internal/social/notify"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

var (
	//go:embed post_hide.lua
	postHideSource string
	postHideScript = script.New(postHideSource).Retryable()
)

// Service decides about roles, standings and posts.
type Service struct{ Options }

// Options configure a Service; all are required.
type Options struct {
	timeline.Parts
	Sessions *auth.Sessions
	FanOut   *posts.Engine
	Audit    *audit.Log
	Notices  *notify.Service
}

// New returns a Service, and registers its tasks with the task engine of the fan-out.
func New(opt Options) *Service {
	m := &Service{opt}
	m.FanOut.Tasks().Handle(strings.TrimSuffix(roleTask, ":"), m.copyRole)
	m.FanOut.Tasks().Handle(strings.TrimSuffix(standingTask, ":"), m.FollowStanding)
	return m
}

// HidePost hides a post from everybody except its author, who is notified with the message, and
// moderators, who can read the note. If the post is already hidden with that message, nothing is
// written. It returns ErrForbidden, *InvalidError if a text is too long, or ErrNotFound. About five
// round trips.
func (m *Service) HidePost(ctx context.Context, actor social.Actor, post int64, message, note string) error {
	_, err := m.hidePost(ctx, actor, post, message, note)
	return err
}

// hidePost implements HidePost; see decideOnPost for changed.
func (m *Service) hidePost(ctx context.Context, actor social.Actor, post int64, message, note string) (changed bool, err error) {
	if message, err = cleanMessage(message); err != nil {
		return false, err
	}
	return m.decideOnPost(ctx, postDecision{
		actor: actor, action: "hide", post: post, message: message, note: note,
		isDone: func(p *timeline.View) bool { return !p.Hidden.IsZero() && p.HiddenMessage == message },
		do:     func() (bool, error) { return m.setHidden(ctx, post, storage.Seconds(m.Now())+" "+message) },
	})
}

// UnhidePost shows a hidden post again; see HidePost.
func (m *Service) UnhidePost(ctx context.Context, actor social.Actor, post int64, note string) error {
	_, err := m.unhidePost(ctx, actor, post, "", note)
	return err
}

// unhidePost is UnhidePost with a message for the author, which only the notification contains; see
// decideOnPost for changed.
func (m *Service) unhidePost(ctx context.Context, actor social.Actor, post int64, message, note string) (changed bool, err error) {
	if message, err = cleanMessage(message); err != nil {
		return false, err
	}
	return m.decideOnPost(ctx, postDecision{
		actor: actor, action: "unhide", post: post, message: message, note: note,
		isDone: func(p *timeline.View) bool { return p.Hidden.IsZero() },
		do:     func() (bool, error) { return m.setHidden(ctx, post, "") },
	})
}

// RemovePost deletes a post; see HidePost and Delete.
func (m *Service) RemovePost(ctx context.Context, actor social.Actor, post int64, note string) error {
	return m.removePost(ctx, actor, post, "", note)
}

// removePost is RemovePost with a message for the author.
func (m *Service) removePost(ctx context.Context, actor social.Actor, post int64, message, note string) error {
	message, err := cleanMessage(message)
	if err != nil {
		return err
	}
	_, err = m.decideOnPost(ctx, postDecision{
		actor: actor, action: "delete", post: post, message: message, note: note,
		isDone: func(*timeline.View) bool { return false },
		do: func() (bool, error) {
			defer m.Views.Touch(post)
			return true, m.FanOut.Deletions.Delete(ctx, post)
		},
	})
	return err
}

// cleanMessage returns a message to a person as it is stored, or *InvalidError if it is too long.
func cleanMessage(message string) (string, error) {
	message, err := social.CleanNote(message)
	if err != nil {
		return "", social.Invalid("message", "Use at most 1,000 characters.")
	}
	return message, nil
}

// postDecision is an actor's decision about a post.
type postDecision struct {
	actor   social.Actor
	action  string
	post    int64
	message string // for the author
	note    string
	isDone  func(*timeline.View) bool // whether the decision is already in effect
	do      func() (changed bool, err error)
}

// decideOnPost carries out a decision about a post, and notifies its author, once even if several
// moderators decide at the same time. changed is false if the decision had no effect; such a
// decision is not in the audit log, to keep the log short.
func (m *Service) decideOnPost(ctx context.Context, d postDecision) (changed bool, err error) {
	found, err := m.Views.Get(social.WithFresh(ctx, d.post), d.post)
	if err != nil {
		return false, err
	}
	if found[0] == nil || found[0].Deleted {
		return false, social.ErrNotFound
	}
	author := found[0].Author.ID
	if err := m.authorize(ctx, d.actor, author); err != nil {
		return false, err
	}
	if d.isDone(found[0]) {
		return false, nil
	}
	err = m.Audit.Add(ctx, audit.Entry{Actor: d.actor, Action: d.action, Target: audit.PostTarget(d.post), Person: author, Note: d.note})
	if err != nil {
		return false, err
	}
	changed, err = d.do()
	if err == nil && changed {
		decision := notify.Decision{Action: d.action, Person: author, Post: d.post, Reason: d.message}
		if d.action == "delete" { // a post can be deleted only once
			decision.Since = found[0].Time
		}
		m.Notices.NotifyDecision(ctx, decision, author)
	}
	return true, err
}

// setHidden hides a post or shows it again, and reports whether that changed anything.
func (m *Service) setHidden(ctx context.Context, post int64, hidden string) (changed bool, err error) {
	found, err := postHideScript.RunFenced(ctx, m.DB.Client, []string{storage.PostKey(post)}, []string{hidden}).AsInt64()
	m.Views.Touch(post)
	if err != nil {
		return false, fmt.Errorf("social: hide a post: %w", err)
	}
	if found == 0 {
		return false, social.ErrNotFound
	}
	return found == 1, nil
}
