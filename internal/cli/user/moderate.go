package user

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/social"
	"retwis/internal/social/moderation"
)

func newRole(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "role [flags] NAME member|moderator|admin|owner",
		Short: "Give a user a role",
		Long: `Gives a user a role, or removes it with "member". A moderator decides about reports and
invites people, an admin also appoints moderators, and an owner gives and removes every
role. The change is recorded in the audit log.`,
		Example: `  retwis user role ada owner
  retwis user role grace member --note 'left the team'`,
		Args:              shell.Arguments(2, 2, ""),
		ValidArgsFunction: shell.CompleteArgument(1, social.RoleNames()...),
	})
	var note string
	c.Flags().StringVar(&note, "note", "", "why, for the audit log")
	c.Check = func(args []string) error {
		if _, ok := social.ParseRole(args[1]); !ok {
			return shell.Usage(fmt.Errorf("unknown role %q: use member, moderator, admin or owner", args[1]))
		}
		return nil
	}
	return site.Act(c, "print the user as JSON", func(ctx context.Context, db *site.Database, args []string) (entry, error) {
		role, _ := social.ParseRole(args[1])
		return change(ctx, db, args[0], func(u social.User) error {
			return db.Social.Moderation.SetRole(ctx, social.Operator, u.ID, role, note)
		})
	})
}

// standings returns the commands that change the standing of a user.
func standings(env shell.Env) []*cobra.Command {
	return []*cobra.Command{
		newStanding(env, social.Suspended, "suspend", "Suspend a user",
			"Ends the sessions of a user, refuses log-ins, and hides what the user has written from\neverybody, until \"retwis user restore\" or --for is over. Nothing is deleted."),
		newStanding(env, social.Limited, "limit", "Keep a user out of public lists",
			"Leaves a user out of the public timeline and other public lists, until \"retwis user\nrestore\" or --for is over. Followers still see the posts."),
		newStanding(env, social.Good, "restore", "End the suspension or the limit of a user", "Ends the suspension or the limit of a user."),
	}
}

func newStanding(env shell.Env, standing social.Standing, name, short, long string) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:     name + " [flags] NAME",
		Short:   short,
		Long:    long + "\nThe change is recorded in the audit log.",
		Example: "  retwis user " + name + " ada\n  retwis user " + name + " ada --note 'reported by several people'",
		Args:    shell.Arguments(1, 1, ""),
	})
	var decision moderation.StandingChange
	var duration time.Duration
	f := c.Flags()
	f.StringVar(&decision.Note, "note", "", "why, for the audit log")
	f.StringVar(&decision.Message, "message", "", "the reason that the user sees")
	if standing != social.Good {
		f.DurationVar(&duration, "for", 0, "how long, as in 72h; 0 for no expiry")
	}
	c.Check = func([]string) error {
		if duration < 0 {
			return shell.Usage(errors.New("--for cannot be negative"))
		}
		return nil
	}
	return site.Act(c, "print the user as JSON", func(ctx context.Context, db *site.Database, args []string) (entry, error) {
		return change(ctx, db, args[0], func(u social.User) error {
			decision.Standing = standing
			if duration > 0 {
				decision.Until = time.Now().Add(duration)
			}
			return db.Social.Moderation.SetStanding(ctx, social.Operator, u.ID, decision)
		})
	})
}

// approvals returns the commands that decide about pending sign-ups.
func approvals(env shell.Env) []*cobra.Command {
	return []*cobra.Command{
		newApproval(env, moderation.Approve, "Approve a pending account",
			"Approves a pending account: its owner can log in from now on."),
		newApproval(env, moderation.Refuse, "Refuse a pending account",
			"Refuses a pending account and deletes it. The name stays reserved."),
	}
}

func newApproval(env shell.Env, decision moderation.Approval, short, long string) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:     string(decision) + " NAME",
		Short:   short,
		Long:    long + "\nThe decision is recorded in the audit log.\n\nTo list pending accounts: retwis user list --standing pending.",
		Example: "  retwis user " + string(decision) + " ada",
		Args:    shell.Arguments(1, 1, ""),
	})
	return site.Act(c, "", ofUser(func(ctx context.Context, db *site.Database, u social.User) (string, error) {
		err := db.Social.Applications.Decide(ctx, social.Operator, u.ID, decision)
		if errors.Is(err, social.ErrNotFound) {
			err = shell.Hint(fmt.Errorf("%s is not waiting for approval", u.Name), "List pending accounts with: retwis user list --standing pending")
		}
		return fmt.Sprintf("%sd %s", decision, u.Name), err
	}))
}

// standingOf returns the standing of a user as printed.
func standingOf(u social.User) string {
	if u.Pending {
		return pending
	}
	return u.Standing.String()
}

// pending is printed for users waiting for approval.
const pending = "pending"

// change changes a user and returns the updated user.
func change(ctx context.Context, db *site.Database, name string, do func(social.User) error) (entry, error) {
	u, err := find(ctx, db, name)
	if err == nil {
		err = do(u)
	}
	if err != nil {
		return entry{}, err
	}
	u, err = db.Social.Users.UserByName(social.WithFresh(ctx), u.Name)
	return newEntry(u), err
}
