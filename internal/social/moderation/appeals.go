package moderation

import (
	"context"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/notify"
)

// AppealKind is the kind of a report by which a person asks moderators to look again at a decision
// about them.
const AppealKind = "appeal"

// Appeal asks the moderators to look again at a decision about a user: at the limit of the account,
// or at a hidden post. The text says why. An appeal is a report, so it waits in the same queue, and
// a second one changes nothing while the first is open. Appeal returns ErrNotFound if no such
// decision about the user is in effect, or *InvalidError if the text is empty or too long. About
// five round trips.
func (r *Reports) Appeal(ctx context.Context, user social.User, target, text string) error {
	text, err := cleanReportText(text)
	if err != nil {
		return err
	}
	if text == "" {
		return social.Invalid("text", "Say why the decision should change.")
	}
	kept, err := r.appealable(ctx, user, target)
	if err != nil {
		return err
	}
	return r.file(ctx, user, newReport{target: target, about: user.ID, text: kept}, Reason{Kind: AppealKind, Text: text})
}

// HasAppealed reports whether an appeal by the user is open. It returns ErrNotFound if there is
// nothing to appeal; see Appeal. Two round trips.
func (r *Reports) HasAppealed(ctx context.Context, user social.User, target string) (bool, error) {
	if _, err := r.appealable(ctx, user, target); err != nil {
		return false, err
	}
	return r.store.HasReported(ctx, target, user.ID)
}

// appealable returns what a report keeps of the post of a target, or ErrNotFound if no decision
// about the user is in effect there.
func (r *Reports) appealable(ctx context.Context, user social.User, target string) (ReportedText, error) {
	switch uid, post := audit.ParseTarget(target); {
	case user.ID == 0:
		return ReportedText{}, social.ErrNoSession
	case uid == user.ID:
		rec, err := r.m.Users.Record(social.WithFresh(ctx), uid)
		if err == nil && rec.User.Standing != social.Limited {
			err = social.ErrNotFound
		}
		return ReportedText{}, err
	case post != 0:
		found, err := r.m.Views.Get(social.WithFresh(ctx, post), post)
		if err != nil {
			return ReportedText{}, err
		}
		if p := found[0]; p != nil && p.Author.ID == user.ID && !p.Deleted && !p.Hidden.IsZero() {
			return TextOf(p.Post), nil
		}
	}
	return ReportedText{}, social.ErrNotFound
}

// refuseUnheard returns *InvalidError if the person whom a case is about has an open appeal.
func (r *Reports) refuseUnheard(ctx context.Context, person social.User, target string) error {
	appealed, err := r.store.HasReported(ctx, target, person.ID)
	if err == nil && appealed {
		err = social.Invalid("appeal", "@{name} has appealed. Read the appeal before you decide.", person.Name)
	}
	return err
}

// answerAppeal tells a person that the decision against which they have appealed stands, if it is
// still in effect.
func (r *Reports) answerAppeal(ctx context.Context, person social.User, target, message string) {
	if _, err := r.appealable(ctx, person, target); err != nil {
		return
	}
	_, post := audit.ParseTarget(target)
	r.m.Notices.NotifyDecision(ctx, notify.Decision{Action: "dismiss", Person: person.ID, Post: post, Reason: message}, person.ID)
}
