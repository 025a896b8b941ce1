package social

import (
	"context"
)

// authorize returns ErrForbidden unless an actor may decide about a user: moderators
// and above may, about people with a lesser role. uid 0 asks about nobody in
// particular. One round trip; none for an operator.
func (m *moderation) authorize(ctx context.Context, actor Actor, uid int64) error {
	if actor == Operator || actor == Automatic {
		return nil
	}
	if actor <= 0 {
		return &ForbiddenError{"Log in as a moderator."}
	}
	roles, err := m.users.roles(ctx, int64(actor), uid)
	if err != nil {
		return err
	}
	return mayModerate(int64(actor), uid, roles[0], roles[1])
}
