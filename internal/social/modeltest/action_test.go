package modeltest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/people"
)

// action is an action of a person.
type action struct {
	Kind  string
	At    int64 // the time, in Unix seconds
	User  int   // the actor; the number of a person, not the ID
	Other int   // the target person
	Post  int64
	Text  string // the text of a post, or a tag
	Until int64  // the end of a mute or a block; 0 for none
}

func (a action) String() string {
	return fmt.Sprintf("%d: person %d: %s post=%d other=%d text=%q until=%d", a.At, a.User, a.Kind, a.Post, a.Other, a.Text, a.Until)
}

// isDecision reports whether a moderator performs the action.
func (a action) isDecision() bool { return a.Kind == "hide" || a.Kind == "unhide" }

// outcome is the result of an action: the ID of a post, or the kind of an error.
type outcome struct {
	ID    int64
	Error string
}

// failure returns the name of an error, or "" for nil.
func failure(err error) string {
	var invalid *social.InvalidError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, social.ErrNotFound):
		return "not found"
	case errors.Is(err, people.ErrBlocked):
		return "blocked"
	case errors.Is(err, social.ErrNotAuthor):
		return "not the author"
	case errors.As(err, &invalid):
		return "invalid"
	}
	return err.Error()
}

// perform performs an action through a service.
func perform(ctx context.Context, s *app.App, people []social.User, a action) outcome {
	me, other := people[a.User], people[a.Other]
	// The server sends invalidation messages for changes of other processes before it answers the
	// ping.
	if err := s.Ping(ctx); err != nil {
		return outcome{Error: err.Error()}
	}
	until := time.Time{}
	if a.Until != 0 {
		until = time.Unix(a.Until, 0)
	}
	var post social.Post
	var err error
	switch a.Kind {
	case "post":
		post, err = s.Posts.Post(ctx, me, a.Text)
	case "reply":
		post, err = s.Posts.Reply(ctx, me, a.Post, a.Text)
	case "repost":
		post, err = s.Posts.Repost(ctx, me, a.Post)
	case "unrepost":
		err = s.Posts.Unrepost(ctx, me, a.Post)
	case "edit":
		err = s.Posts.Edit(ctx, me, a.Post, a.Text)
	case "delete":
		err = s.Posts.Delete(ctx, me, a.Post)
	case "hide":
		err = s.Moderation.HidePost(ctx, social.Operator, a.Post, "", "")
	case "unhide":
		err = s.Moderation.UnhidePost(ctx, social.Operator, a.Post, "")
	case "like":
		err = s.Reactions.Like(ctx, me, a.Post)
	case "unlike":
		err = s.Reactions.Unlike(ctx, me, a.Post)
	case "bookmark":
		err = s.Reactions.Bookmark(ctx, me, a.Post)
	case "unbookmark":
		err = s.Reactions.Unbookmark(ctx, me, a.Post)
	case "follow":
		err = s.Follows.Follow(ctx, me, other)
	case "unfollow":
		err = s.Follows.Unfollow(ctx, me, other)
	case "mute":
		err = s.Relations.Mute(ctx, me, other, until)
	case "unmute":
		err = s.Relations.Unmute(ctx, me, other)
	case "block":
		err = s.Relations.Block(ctx, me, other, until)
	case "unblock":
		err = s.Relations.Unblock(ctx, me, other)
	case "follow tag":
		err = s.Tags.FollowTag(ctx, me, a.Text)
	case "unfollow tag":
		err = s.Tags.UnfollowTag(ctx, me, a.Text)
	default:
		err = fmt.Errorf("unknown action %q", a.Kind)
	}
	return outcome{ID: post.ID, Error: failure(err)}
}
