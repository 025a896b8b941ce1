package accounts

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/limits"
	"retwis/internal/social/storage"
)

// MaxReason is the maximum length of the reason for joining, in characters.
const MaxReason = 500

// apply creates an account that needs approval: the account is suspended from the moment it is
// written, before its name is claimed. It returns ErrPending on success.
func (s *SignUps) apply(ctx context.Context, p SignUp) error {
	reason, err := social.CleanLine(p.Reason, "reason", MaxReason)
	if err != nil {
		return err
	}
	if reason == "" {
		return social.Invalid("reason", "Say in a few words why you want to join.")
	}
	place := ""
	if from := social.AddressOf(ctx); from.IsValid() {
		place = limits.Place(from)
	}
	n := p.account()
	n.fields = append(n.fields,
		"standing", social.Suspended.String(), "standing_since", storage.Seconds(s.accounts.Now()), "signup", social.FormatSignUp(place, reason))
	n.onWritten = s.opt.FollowStanding
	user, err := s.accounts.create(ctx, n)
	if err != nil {
		return err
	}
	// For other accounts, opening the first session does this.
	list := s.accounts.Directory.AddLatest(user.Name, float64(user.Joined.Unix()))
	if err := reply.FirstError(s.accounts.DB.Client.DoMulti(ctx, list...)); err != nil {
		return fmt.Errorf("social: register: %w", err)
	}
	return social.ErrPending
}

var (
	//go:embed mode_replace.lua
	modeReplaceSource string
	modeReplaceScript = script.New(modeReplaceSource).Retryable()
)

// watchCrowd counts a sign-up on an open site, and makes approval required if there are too many.
// The account already exists, so errors are only logged; the next sign-up counts again. One round
// trip.
func (s *SignUps) watchCrowd(ctx context.Context) {
	reason, err := s.countSignUp(ctx)
	if err == nil && reason != "" {
		err = s.requireApproval(ctx, reason)
	}
	if err != nil && ctx.Err() == nil {
		s.opt.Log.WarnContext(ctx, "cannot count sign-ups", "error", err)
	}
}

// countSignUp adds a sign-up to `signup_times`, the times of the latest ones. If a limit is
// reached, it returns the number of sign-ups and the time as a text, otherwise an empty string.
func (s *SignUps) countSignUp(ctx context.Context) (string, error) {
	windows := s.opt.Limits.Crowds()
	if len(windows) == 0 {
		return "", nil
	}
	maxCount, longest := 0, time.Duration(0)
	for _, w := range windows {
		maxCount, longest = max(maxCount, w.Rate), max(longest, w.Per)
	}
	now, b := s.accounts.Now(), s.accounts.DB.Client.B()
	res := s.accounts.DB.Client.DoMulti(ctx,
		b.Lpush().Key(storage.SignUpTimes).Element(storage.Seconds(now)).Build(),
		b.Ltrim().Key(storage.SignUpTimes).Start(0).Stop(int64(maxCount)-1).Build(),
		b.Expire().Key(storage.SignUpTimes).Seconds(int64(longest/time.Second)+1).Build(),
		b.Lrange().Key(storage.SignUpTimes).Start(0).Stop(-1).Build())
	times, err := res[3].AsStrSlice()
	if err != nil {
		return "", fmt.Errorf("social: count sign-ups: %w", err)
	}
	for _, w := range windows {
		if len(times) < w.Rate {
			continue
		}
		first, _ := strconv.ParseInt(times[w.Rate-1], 10, 64)
		if now.Sub(time.Unix(first, 0)) <= w.Per {
			return fmt.Sprintf("%d people have signed up within %v", w.Rate, w.Per), nil
		}
	}
	return "", nil
}

// requireApproval changes the mode to SignUpApproval, unless the mode is no longer SignUpOpen.
func (s *SignUps) requireApproval(ctx context.Context, reason string) error {
	mode, err := s.SignUpMode(social.WithFresh(ctx))
	if err != nil || mode != SignUpOpen {
		return err
	}
	err = s.opt.Audit.Add(ctx, audit.Entry{Actor: social.Automatic, Action: "sign-up-mode", Note: string(SignUpApproval) + ": " + reason})
	if err != nil {
		return err
	}
	c := s.accounts.DB.Client
	err = modeReplaceScript.Run(ctx, c, []string{storage.Site}, []string{string(SignUpOpen), string(SignUpApproval)}).Error()
	if err == nil {
		// Counting starts over when the site is opened again.
		err = c.Do(ctx, c.B().Del().Key(storage.SignUpTimes).Build().ToRetryable()).Error()
	}
	if err != nil {
		return fmt.Errorf("social: require approval of sign-ups: %w", err)
	}
	s.opt.Log.WarnContext(ctx, "new accounts now need approval by a moderator", "reason", reason)
	return nil
}
