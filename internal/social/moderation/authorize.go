package moderation

import (
	"context"

	"retwis/internal/social"
)

// authorize returns ErrForbidden unless an actor may decide about a user: moderators and above may
// decide about people with a lesser role. uid 0 means no particular user. One round trip; none for
// an operator.
func (m *Service) authorize(ctx context.Context, actor social.Actor, uid int64) error {
	if actor == social.Operator || actor == social.Automatic {
		return nil
	}
	if actor <= 0 {
		return social.Forbidden("Log in as a moderator.")
	}
	roles, err := m.Users.Roles(ctx, int64(actor), uid)
	if err != nil {
		return err
	}
	return social.MayModerate(int64(actor), uid, roles[0], roles[1])
}
