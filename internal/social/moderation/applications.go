package moderation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/storage"
)

// Applications are the accounts of people who have signed up and need approval. Until they are
// approved, the accounts are suspended and have the field `signup`, so nobody sees them or can log
// in to them. FollowStanding lists the accounts in `signups`.
//
// An account is written before its name is claimed. If the process dies in between, the name leads
// to no account, or to another account if the person sends the form again. An account that does not
// own its name is not an application.
type Applications struct {
	moderation *Service
	directory  *storage.Directory
	remove     func(ctx context.Context, uid int64) error
}

// NewApplications returns the Applications; remove deletes an account.
func NewApplications(m *Service, directory *storage.Directory, remove func(ctx context.Context, uid int64) error) *Applications {
	return &Applications{m, directory, remove}
}

// Application is a person who needs approval.
type Application struct {
	User   social.User
	Since  time.Time
	Reason string
	Place  string // the address or network of the sign-up; empty if unknown
}

// Approval is a decision about an application.
type Approval string

// The decisions.
const (
	Approve Approval = "approve"
	Refuse  Approval = "refuse" // the account is deleted
)

// ParseApproval parses a decision.
func ParseApproval(text string) (Approval, bool) {
	a := Approval(text)
	return a, a == Approve || a == Refuse
}

// Count returns the number of applications. No round trip while the number is unchanged.
func (a *Applications) Count(ctx context.Context) (int64, error) {
	c := a.moderation.DB.Client
	n, err := c.DoCache(ctx, c.B().Zcard().Key(storage.SignUps).Cache().ToStaticTTL(), time.Minute).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("social: count sign-ups that need approval: %w", err)
	}
	return n, nil
}

// Waiting returns the applications, oldest first, and whether there are more than limit. Three
// round trips.
func (a *Applications) Waiting(ctx context.Context, limit int) (waiting []Application, more bool, err error) {
	c := a.moderation.DB.Client
	ids, err := reply.OrEmpty(c.Do(ctx, c.B().Zrange().Key(storage.SignUps).Min("0").Max(storage.Itoa(int64(limit))).Build()).AsStrSlice())
	if err != nil {
		return nil, false, fmt.Errorf("social: read sign-ups that need approval: %w", err)
	}
	if more = len(ids) > limit; more {
		ids = ids[:limit]
	}
	key := func(id string) string { return storage.UserPrefix + id }
	users, err := reads.Fields(ctx, c, ids, key, "username", "standing", "standing_since", "signup")
	if err != nil {
		return nil, false, fmt.Errorf("social: read sign-ups that need approval: %w", err)
	}
	for i, fields := range users {
		uid, ok := storage.ParseID(ids[i])
		if !ok || fields[0] == "" || fields[1] != social.Suspended.String() || fields[3] == "" {
			continue // decided in the meantime
		}
		application := Application{User: social.User{ID: uid, Name: fields[0]}, Since: storage.ParseTime(fields[2])}
		application.Place, application.Reason = social.ParseSignUp(fields[3])
		waiting = append(waiting, application)
	}
	waiting, err = a.named(ctx, waiting)
	return waiting, more, err
}

// named returns the applications whose accounts own their names. One round trip.
func (a *Applications) named(ctx context.Context, all []Application) ([]Application, error) {
	names := make([]string, len(all))
	for i, application := range all {
		names[i] = application.User.Name
	}
	owners, err := a.directory.Owners(ctx, names...)
	if err != nil {
		return nil, err
	}
	named := all[:0]
	for i, application := range all {
		if owners[i].First() == storage.Itoa(application.User.ID) {
			named = append(named, application)
		}
	}
	return named, nil
}

// Decide approves an account, which is then in good standing, or refuses it, which deletes it. It
// returns ErrForbidden unless the actor is a moderator, and ErrNotFound if the account is not
// waiting for approval. About ten round trips.
func (a *Applications) Decide(ctx context.Context, actor social.Actor, uid int64, decision Approval) error {
	if err := a.moderation.authorize(ctx, actor, uid); err != nil {
		return err
	}
	rec, err := a.moderation.Users.Record(social.WithFresh(ctx), uid)
	if err != nil {
		return err
	}
	named, err := a.named(ctx, []Application{{User: rec.User}})
	if err != nil {
		return err
	}
	if !rec.Pending || len(named) == 0 {
		return social.ErrNotFound
	}
	err = a.moderation.Audit.Add(ctx, audit.Entry{Actor: actor, Action: string(decision) + "-sign-up", Target: audit.UserTarget(uid)})
	if err != nil {
		return err
	}
	if decision == Refuse {
		return a.remove(ctx, uid)
	}
	return a.moderation.setStanding(ctx, uid, social.Good, time.Time{}, "", "")
}

const (
	// maxDecided is the maximum number of applications that DecideAll decides.
	maxDecided = 100
	// maxExamined is the maximum number of applications that DecideAll examines.
	maxExamined = 1000
)

// DecideAll decides about the applications from a place, up to a hundred among the first thousand,
// and returns how many it decided.
func (a *Applications) DecideAll(ctx context.Context, actor social.Actor, place string, decision Approval) (n int, err error) {
	if err := a.moderation.authorize(ctx, actor, 0); err != nil {
		return 0, err
	}
	waiting, _, err := a.Waiting(ctx, maxExamined)
	if err != nil {
		return 0, err
	}
	for _, application := range waiting {
		if application.Place != place || place == "" || n == maxDecided {
			continue
		}
		switch err := a.Decide(ctx, actor, application.User.ID, decision); {
		case err == nil:
			n++
		case !errors.Is(err, social.ErrNotFound): // another moderator has decided in the meantime
			return n, err
		}
	}
	return n, nil
}
