package moderation

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/notify"
	"retwis/internal/social/removal"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

var (
	//go:embed standing_set.lua
	standingSetSource string
	standingSetScript = script.New(standingSetSource).Retryable()

	//go:embed standing_note.lua
	standingNoteSource string
	standingNoteScript = script.New(standingNoteSource).Retryable()
)

// StandingChange is a decision about a user.
type StandingChange struct {
	Standing social.Standing
	Until    time.Time // when the standing expires; zero for no end, and for Good
	Message  string    // for the user, at most MaxNote characters
	Note     string    // for other moderators, at most MaxNote characters
}

// standingTask is the prefix of the task that makes everything that depends on a standing agree
// with it.
const standingTask = "standing:"

// standingActions are the audit log actions for each standing.
var standingActions = [...]string{social.Good: "restore", social.Limited: "limit", social.Suspended: "suspend"}

// SetStanding limits a user (absent from public lists), suspends them (their sessions end, they
// cannot log in, and only moderators see their posts), or restores them. It returns ErrForbidden if
// the actor may not change the standing, *InvalidError if a text is too long or the end has passed,
// and ErrNotFound. If the standing is already in effect, nothing is written. The user is notified,
// with the message. For a limit or a suspension, the message is also stored with the standing.
//
// `user:<uid>` is authoritative and written by one script. A task carries out the consequences; if
// this process dies, another one finishes the task. About ten round trips.
func (m *Service) SetStanding(ctx context.Context, actor social.Actor, uid int64, change StandingChange) error {
	_, err := m.changeStanding(ctx, actor, uid, change)
	return err
}

// changeStanding implements SetStanding and reports whether anything changed.
func (m *Service) changeStanding(ctx context.Context, actor social.Actor, uid int64, change StandingChange) (changed bool, err error) {
	if change.Standing > social.Suspended {
		return false, social.Invalid("standing", "Use good, limited or suspended.")
	}
	if !change.Until.IsZero() && change.Until.Unix() <= m.Now().Unix() {
		return false, social.Invalid("until", "Choose an end date in the future.")
	}
	message, err := cleanMessage(change.Message)
	if err != nil {
		return false, err
	}
	kept := message // with the standing
	if change.Standing == social.Good {
		kept, change.Until = "", time.Time{}
	}
	if _, err := m.Users.Record(social.WithFresh(ctx), uid); err != nil {
		return false, err
	}
	if err := m.authorize(ctx, actor, uid); err != nil {
		return false, err
	}
	before, err := m.Users.Standing(social.WithFresh(ctx), uid)
	if err != nil {
		return false, err
	}
	if !before.Pending() && before.Standing == change.Standing && before.Message == kept && storage.Seconds(before.Until) == storage.Seconds(change.Until) {
		return false, nil
	}
	err = m.Audit.Add(ctx, audit.Entry{Actor: actor, Action: standingActions[change.Standing], Target: audit.UserTarget(uid), Note: change.Note})
	if err != nil {
		return false, err
	}
	if err := m.setStanding(ctx, uid, change.Standing, change.Until, kept, ""); err != nil {
		return true, err
	}
	// An approved user was not told of the suspension, and needs no notification without a message.
	if !before.Pending() || change.Standing == social.Good && message != "" {
		m.Notices.NotifyDecision(ctx, notify.Decision{
			Action: standingActions[change.Standing], Person: uid, Reason: message, Since: m.Now().Add(-time.Minute),
		}, uid)
	}
	return true, nil
}

// setStanding writes a standing and its consequences. If expected is not empty, nothing is written
// unless it is still the end of the former standing.
func (m *Service) setStanding(ctx context.Context, uid int64, standing social.Standing, until time.Time, message, expected string) error {
	var name, ends string
	if standing != social.Good {
		name = standing.String()
	}
	if !until.IsZero() {
		ends = storage.Seconds(until)
	}
	var found bool
	err := m.FanOut.Tasks().Do(ctx, storage.Key(standingTask, uid), func(ctx context.Context) (err error) {
		found, err = standingSetScript.RunFenced(ctx, m.DB.Client, []string{storage.UserKey(uid)},
			[]string{name, storage.Seconds(m.Now()), ends, message, expected}).AsBool()
		return err
	}, nil)
	switch {
	case err != nil:
		return fmt.Errorf("social: set a standing: %w", err)
	case !found && expected == "":
		return social.ErrNotFound
	}
	m.Users.ForgetLatest()
	return m.Standings.Reload(ctx)
}

// FollowStanding makes `standings`, `standing_ends`, `signups` and the sessions of a user agree
// with their standing.
func (m *Service) FollowStanding(ctx context.Context, argument string) error {
	uid, ok := storage.ParseID(argument)
	if !ok {
		return nil
	}
	// Somebody else may change the standing between the read and the writes.
	for before := (social.StandingInfo{Standing: social.Closed + 1}); ; {
		info, err := m.Users.Standing(social.WithFresh(ctx), uid)
		if errors.Is(err, social.ErrNotFound) { // deleted, possibly since the last read
			return reply.FirstError(m.DB.Client.DoMulti(ctx, m.dropStanding(uid)...))
		}
		if err != nil || info == before {
			return err
		}
		before = info
		member, b := storage.Itoa(uid), m.DB.Client.B()
		ends := b.Zrem().Key(storage.StandingEnds).Member(member).Build().ToRetryable()
		if !info.Until.IsZero() && info.Standing != social.Closed {
			ends = b.Zadd().Key(storage.StandingEnds).ScoreMember().ScoreMember(float64(info.Until.Unix()), member).Build().ToRetryable()
		}
		waits := b.Zrem().Key(storage.SignUps).Member(member).Build().ToRetryable()
		if info.Pending() {
			waits = b.Zadd().Key(storage.SignUps).ScoreMember().ScoreMember(float64(info.Since.Unix()), member).Build().ToRetryable()
		}
		if err := reply.FirstError(m.DB.Client.DoMulti(ctx, ends, waits)); err != nil {
			return fmt.Errorf("social: set a standing: %w", err)
		}
		err = standingNoteScript.RunFenced(ctx, m.DB.Client, []string{storage.Standings},
			[]string{member, storage.Itoa(int64(info.Standing)), storage.Itoa(m.Now().UnixMilli())}).Error()
		if err != nil {
			return fmt.Errorf("social: set a standing: %w", err)
		}
		if info.Standing.Hidden() {
			if err := m.Sessions.LogoutEverywhere(ctx, uid); err != nil {
				return err
			}
		}
	}
}

// Forget removes a user from the standings, the staff and the decision histories, as part of the
// deletion of the account; see package removal. It keeps the standing, so that all processes hide
// the user, until running requests have ended.
func (m *Service) Forget(ctx context.Context, uid int64) error {
	closed, err := reply.TextOrEmpty(m.DB.Client.Do(ctx, m.DB.Client.B().Hget().Key(storage.UserKey(uid)).Field("closed").Build()))
	if err != nil {
		return fmt.Errorf("social: forget a user: %w", err)
	}
	if at := storage.ParseTime(closed); !at.IsZero() && m.Now().Before(at.Add(removal.Grace)) {
		return m.FollowStanding(ctx, storage.Itoa(uid))
	}
	b := m.DB.Client.B()
	return reply.FirstError(m.DB.Client.DoMulti(ctx, append(m.dropStanding(uid),
		b.Hdel().Key(storage.Staff).Field(storage.Itoa(uid)).Build().ToRetryable(),
		b.Unlink().Key(storage.DecisionsKey(uid)).Build().ToRetryable(),
	)...))
}

// dropStanding removes a user who does not exist from the standings.
func (m *Service) dropStanding(uid int64) rueidis.Commands {
	member, b := storage.Itoa(uid), m.DB.Client.B()
	return rueidis.Commands{
		b.Zrem().Key(storage.Standings).Member(member).Build().ToRetryable(),
		b.Zrem().Key(storage.StandingEnds).Member(member).Build().ToRetryable(),
		b.Zrem().Key(storage.SignUps).Member(member).Build().ToRetryable(),
	}
}

// CopyStanding makes everything that depends on the standing of a user agree with it, for repairs.
func (m *Service) CopyStanding(ctx context.Context, uid int64) error {
	return m.FollowStanding(ctx, storage.Itoa(uid))
}

// StandingOf returns the standing of a user, or ErrNotFound. No round trip for a recently requested
// user, otherwise one.
func (m *Service) StandingOf(ctx context.Context, uid int64) (social.StandingInfo, error) {
	return m.Users.Standing(ctx, uid)
}

// StandingPeople returns a page of the users who are limited or suspended, latest decision first,
// and the cursor of the next page. One or two round trips, or more if many were restored.
func (m *Service) StandingPeople(ctx context.Context, cursor string, limit int) (social.People, error) {
	filter := func(page []storage.Member) ([]storage.Member, error) {
		kept := page[:0]
		for _, entry := range page {
			if score, err := storage.ParseScore(entry.Score); err == nil && timeline.StandingOfScore(float64(score)) != social.Good {
				kept = append(kept, entry)
			}
		}
		return kept, nil
	}
	return m.Users.People(ctx, storage.Standings, cursor, limit, filter)
}

// maxLifts is how many expired standings one call of LiftEnded examines.
const maxLifts = 100

// LiftEnded restores the users whose limit or suspension has expired. One round trip if there are
// none.
func (m *Service) LiftEnded(ctx context.Context) error {
	now := storage.Seconds(m.Now())
	ended, err := m.DB.Client.Do(ctx, m.DB.Client.B().Zrangebyscore().Key(storage.StandingEnds).
		Min("-inf").Max(now).Withscores().Limit(0, maxLifts).Build()).AsZScores()
	if err != nil {
		return fmt.Errorf("social: restore users: %w", err)
	}
	for _, entry := range ended {
		uid, ok := storage.ParseID(entry.Member)
		if !ok {
			continue
		}
		err = errors.Join(err, m.lift(ctx, uid, storage.Itoa(int64(entry.Score))))
	}
	return err
}

// lift restores a user whose standing ends at a time, unless somebody has changed the standing
// since.
func (m *Service) lift(ctx context.Context, uid int64, ends string) error {
	info, err := m.Users.Standing(social.WithFresh(ctx), uid)
	if err != nil && !errors.Is(err, social.ErrNotFound) {
		return err
	}
	if err == nil && info.Standing == social.Closed { // a closed account stays closed
		return m.FollowStanding(ctx, storage.Itoa(uid))
	}
	if err == nil && !info.Until.IsZero() && storage.Seconds(info.Until) == ends {
		err := m.Audit.Add(ctx, audit.Entry{Actor: social.Automatic, Action: standingActions[social.Good], Target: audit.UserTarget(uid), Note: "the time was over"})
		if err != nil {
			return err
		}
	}
	return m.setStanding(ctx, uid, social.Good, time.Time{}, "", ends)
}
