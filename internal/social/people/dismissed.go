package people

import (
	"context"
	"fmt"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// maxDismissed is how many of the latest dismissals of a user are kept.
const maxDismissed = 200

// Dismiss ensures that the second user is no longer suggested to the first. A repeated dismissal
// becomes the latest of the 200 that are kept. It returns *InvalidError if both are the same user,
// and ErrNotFound if the second user does not exist. One or two round trips. A process that dies
// between the two commands leaves one entry too many until the next dismissal.
func (s *Suggestions) Dismiss(ctx context.Context, from, to social.User) error {
	if from.ID == to.ID {
		return social.Invalid("user", "You can't dismiss yourself.")
	}
	if _, err := s.opt.Users.Record(ctx, to.ID); err != nil {
		return err
	}
	key, b := storage.DismissedKey(from.ID), s.opt.DB.Client.B()
	// The second command also ensures that the invalidation message of the first has arrived.
	err := reply.FirstError(s.opt.DB.Client.DoMulti(ctx,
		b.Zadd().Key(key).ScoreMember().ScoreMember(float64(s.opt.Now().Unix()), storage.Itoa(to.ID)).Build().ToRetryable(),
		b.Zremrangebyrank().Key(key).Start(0).Stop(-maxDismissed-1).Build().ToRetryable()))
	if err != nil {
		return fmt.Errorf("social: dismiss a suggestion: %w", err)
	}
	return nil
}

// Forget removes an account from the set of active accounts, as part of the deletion of the
// account.
func (s *Suggestions) Forget(ctx context.Context, uid int64) error {
	err := s.opt.DB.Client.Do(ctx, s.opt.DB.Client.B().Zrem().Key(storage.Active).Member(storage.Itoa(uid)).Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: remove an active account: %w", err)
	}
	return nil
}
