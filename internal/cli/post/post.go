// Package post implements the retwis post commands.
package post

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
)

// New returns the retwis post command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "post",
		Short: "Show and delete posts",
		Long: `Shows and deletes posts, even while the site is served. A post is named by its number, the
last part of its URL.`,
		Example: `  retwis post show 17
  retwis post delete 17 --yes`,
	}, newShow(env), newDelete(env))
}

// entry is a post as printed.
type entry struct {
	ID      int64     `json:"id"`
	Author  string    `json:"author"`
	Time    site.Time `json:"time"`
	Text    string    `json:"text"`
	Parent  int64     `json:"parent,omitempty"`
	Deleted bool      `json:"deleted,omitempty"`
	Likes   int64     `json:"likes"`
	Replies int64     `json:"replies"`
}

func (e entry) String() string {
	body := shell.ForTerminal(e.Text)
	if e.Deleted {
		body = "(deleted)"
	}
	return fmt.Sprintf("%s\n%s, %s: %s, %s", body, e.Author, e.Time,
		shell.Plural(e.Likes, "like", "likes"), shell.Plural(e.Replies, "reply", "replies"))
}

// find returns the post with a number.
func find(ctx context.Context, db *site.Database, text string) (social.Post, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return social.Post{}, shell.Usage(fmt.Errorf("%q is not the number of a post", text))
	}
	views, err := db.Social.Views.Get(ctx, id)
	if err != nil {
		return social.Post{}, err
	}
	if views[0] == nil {
		return social.Post{}, fmt.Errorf("there is no post %d", id)
	}
	return views[0].Post, nil
}

func newShow(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "show [flags] NUMBER",
		Short: "Show a post",
		Long: `Shows the text of a post, its author, its time, and its number of likes and replies, even
if moderators have hidden the post.`,
		Example: `  retwis post show 17
  retwis post show 17 --json`,
		Args: shell.Arguments(1, 1, ""),
	})
	return site.Act(c, "print the post as JSON", func(ctx context.Context, db *site.Database, args []string) (entry, error) {
		p, err := find(ctx, db, args[0])
		return entry{
			ID: p.ID, Author: p.Author.Name, Time: site.Time{Time: p.Time}, Text: p.Body,
			Parent: p.Parent, Deleted: p.Deleted, Likes: p.Counts.Likes, Replies: p.Counts.Replies,
		}, err
	})
}

func newDelete(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "delete [flags] NUMBER",
		Short: "Delete a post",
		Long: `Permanently deletes a post, including its earlier texts, from all timelines.
Replies to the post stay. Without --yes nothing is deleted.`,
		Example: `  retwis post delete 17 --yes`,
		Args:    shell.Arguments(1, 1, ""),
	})
	var yes bool
	c.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	return site.Act(c, "print the result as JSON", func(ctx context.Context, db *site.Database, args []string) (site.Result, error) {
		p, err := find(ctx, db, args[0])
		switch {
		case err != nil:
			return site.Result{}, err
		case p.Deleted:
			return site.Result{}, fmt.Errorf("post %d has already been deleted", p.ID)
		case !yes:
			return site.Result{}, shell.Usage(fmt.Errorf("this permanently deletes post %d of %s; add --yes to proceed", p.ID, p.Author.Name))
		}
		err = db.Social.Moderation.RemovePost(ctx, social.Operator, p.ID, "")
		if errors.Is(err, social.ErrNotFound) {
			err = fmt.Errorf("post %d has just been deleted", p.ID)
		}
		return site.Result{
			Object: shell.Object{{Name: "deleted", Value: p.ID}},
			Text:   fmt.Sprintf("deleted post %d of %s", p.ID, p.Author.Name),
		}, err
	})
}
