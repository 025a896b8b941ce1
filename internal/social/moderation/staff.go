package moderation

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/storage"
)

var (
	//go:embed staff_set.lua
	staffSetSource string
	staffSetScript = script.New(staffSetSource).Retryable()
)

// SetRole gives a user a role, or removes it if role is Member. An owner grants and revokes every
// role, an admin the moderator role. Neither can act on people whose role is equal to their own or
// greater, except that everybody may give up their own role, other than the last owner. Operator
// may do everything. The first user who registers gets no special role: an operator names the first
// owner with `retwis user role`.
//
// It returns ErrForbidden if the actor may not set the role, *InvalidError if the user is
// suspended, and ErrNotFound. One script changes `staff`, which is authoritative; then the role is
// copied to the user. If this process dies, another one finishes the copy. About six round trips.
func (m *Service) SetRole(ctx context.Context, actor social.Actor, uid int64, role social.Role, note string) error {
	if role > social.Owner {
		return social.Invalid("role", "Use member, moderator, admin or owner.")
	}
	rec, err := m.Users.Record(social.WithFresh(ctx), uid)
	if err != nil {
		return err
	}
	if role > social.Member && rec.Standing.Hidden() {
		return social.Invalid("role", "{name} is suspended.", rec.Name)
	}
	entry := audit.Entry{Actor: actor, Action: "role", Target: audit.UserTarget(uid), Note: roleNote(role, note)}
	if _, err := social.CleanNote(entry.Note); err != nil {
		return err
	}
	member := storage.Key(roleTask, uid)
	for range maxRoleTries {
		roles, err := m.Users.Roles(ctx, uid, int64(max(actor, 0)))
		if err != nil {
			return err
		}
		from, actorRole := roles[0], roles[1]
		if err := mayGive(actor, uid, actorRole, from, role); err != nil {
			return err
		}
		if from == role && rec.Role == role {
			return nil
		}
		if err := m.Audit.Add(ctx, entry); err != nil {
			return err
		}
		changed := false
		err = m.FanOut.Tasks().Do(ctx, member, func(ctx context.Context) (err error) {
			changed, err = m.writeRole(ctx, actor, actorRole, uid, from, role)
			return err
		}, nil)
		if err != nil || changed {
			m.Users.ForgetLatest()
			return err
		}
	}
	return errors.New("social: the role was changed concurrently")
}

const (
	// maxRoleTries limits the attempts to set a role while others change it.
	maxRoleTries = 10
	// roleTask is the prefix of the task that copies a role to its user.
	roleTask = "role:"
)

func roleNote(role social.Role, note string) string {
	if note == "" {
		return role.String()
	}
	return role.String() + ": " + note
}

// mayGive implements the rules of SetRole.
func mayGive(actor social.Actor, uid int64, actorRole, from, to social.Role) error {
	switch {
	case actor == social.Operator:
		return nil
	case actor <= 0 || actorRole < social.Moderator:
		return social.Forbidden("Only owners and admins may do that.")
	case int64(actor) == uid && to <= from:
		return nil // users may give up their own role
	case int64(actor) == uid:
		return social.Forbidden("You can't give yourself a higher role.")
	case actorRole < social.Admin:
		return social.Forbidden("Only owners and admins may do that.")
	case from >= actorRole:
		return social.Forbidden("You can't remove the role {role} from someone else.", from.Label())
	case actorRole == social.Admin && to >= social.Admin:
		return social.Forbidden("Only owners can give the role {role}.", to.Label())
	}
	return nil
}

// writeRole changes `staff` if the roles are still as they were read, and reports whether it did.
func (m *Service) writeRole(ctx context.Context, actor social.Actor, actorRole social.Role, uid int64, from, to social.Role) (bool, error) {
	var actorID, actorRoleName string
	if actor > 0 {
		actorID, actorRoleName = actor.String(), storedRole(actorRole)
	}
	n, err := staffSetScript.Run(ctx, m.DB.Client, []string{storage.Staff},
		[]string{storage.Itoa(uid), storedRole(from), storedRole(to), actorID, actorRoleName}).AsInt64()
	switch {
	case err != nil:
		return false, fmt.Errorf("social: set a role: %w", err)
	case n < 0:
		return false, errLastOwner
	}
	return n == 1, nil
}

var errLastOwner = social.Forbidden("Nobody else is an owner. Give another person that role first.")

// storedRole returns the stored form of a role: empty for a member.
func storedRole(role social.Role) string {
	if role == social.Member {
		return ""
	}
	return role.String()
}

// copyRole makes the role of a user agree with `staff`.
func (m *Service) copyRole(ctx context.Context, argument string) error {
	uid, ok := storage.ParseID(argument)
	if !ok {
		return nil
	}
	// Somebody else may change the role between the read and the write.
	for before := social.Owner + 1; ; {
		roles, err := m.Users.Roles(ctx, uid)
		if err != nil || roles[0] == before {
			return err
		}
		before = roles[0]
		if err := m.Users.Edit(ctx, uid, "role", storedRole(before)); err != nil && !errors.Is(err, social.ErrNotFound) {
			return err
		}
	}
}

// CopyRole makes the role of a user agree with `staff`, for repairs.
func (m *Service) CopyRole(ctx context.Context, uid int64) error {
	return m.copyRole(ctx, storage.Itoa(uid))
}

// MayLeave returns ErrForbidden for the last owner, who cannot delete their account.
func (m *Service) MayLeave(ctx context.Context, uid int64) error {
	staff, err := m.DB.Client.Do(ctx, m.DB.Client.B().Hgetall().Key(storage.Staff).Build()).AsStrMap()
	if err != nil {
		return fmt.Errorf("social: read roles: %w", err)
	}
	if staff[storage.Itoa(uid)] != social.Owner.String() {
		return nil
	}
	for id, role := range staff {
		if role == social.Owner.String() && id != storage.Itoa(uid) {
			return nil
		}
	}
	return errLastOwner
}
