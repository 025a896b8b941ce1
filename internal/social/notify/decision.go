package notify

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/i18n"
	"retwis/internal/social"
)

// Decision is a moderator's decision about a person or a post.
type Decision struct {
	Action string // as in the audit log
	Person int64  // the user that the decision is about, or the author of the post
	Post   int64  // 0 for a decision about a person
	Reason string // the message to the person, at most social.MaxNote characters
	// Since is the time since which an equal decision counts as the same decision. If it is zero,
	// every decision is a different one.
	Since time.Time
}

// NotifyDecision notifies users of a decision: the person, with the reason, or the users who have
// reported the person or post. It reveals neither the moderator nor the reporters. Errors are only
// logged. Three round trips.
func (n *Service) NotifyDecision(ctx context.Context, d Decision, to ...int64) {
	if d.Person == 0 || len(to) == 0 {
		return
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	wanted, err := n.wantDecisions(ctx, to)
	if err == nil {
		e := Entry{Kind: Decided, Actor: d.Person, Post: d.Post, Action: d.Action, Reason: d.Reason}
		err = n.store.Add(ctx, e, d.Since, wanted...)
	}
	if err != nil {
		n.Log.WarnContext(ctx, "cannot write a notification", "kind", Decided.String(), "post", d.Post, "error", err)
	}
}

// wantDecisions returns the given users who exist and want notifications of decisions.
func (n *Service) wantDecisions(ctx context.Context, to []int64) (wanted []int64, err error) {
	users, err := n.Users.ByID(ctx, to)
	if err != nil {
		return nil, err
	}
	cmds := make([]rueidis.Cacheable, len(to))
	for i, uid := range to {
		cmds[i] = n.store.SettingsCommand(uid)
	}
	for i, res := range n.DB.ReadMany(ctx, cmds...) {
		set, err := ParseSettings(res)
		if err != nil {
			return nil, err
		}
		if user, ok := users[to[i]]; ok && user.Standing != social.Closed && !set.isOff(Decided) {
			wanted = append(wanted, to[i])
		}
	}
	return wanted, nil
}

// DecisionText describes the decision, without its reason. It is empty for other kinds of groups.
func (g Group) DecisionText() i18n.Message {
	switch {
	case g.Kind != Decided:
		return i18n.Message{}
	case !g.Own:
		if outcome, ok := reporterTexts[g.Action]; ok {
			return outcome
		}
		return i18n.T("Thank you: we took action on what you reported.")
	}
	text, ok := personTexts[g.Action]
	if !ok {
		text = decisionText{
			i18n.T("A moderator made a decision about your account."),
			i18n.T("A moderator made a decision about your account:"),
		}
	}
	if g.Reason != "" {
		return text.withReason
	}
	return text.withoutReason
}

// DecisionAbout describes the post or user that the viewer has reported. It is empty if the
// decision is about the viewer.
func (g Group) DecisionAbout() i18n.Message {
	switch {
	case g.Kind != Decided || g.Own:
		return i18n.Message{}
	case g.IsPost:
		return i18n.T("Post by @{name}", g.Actors[0].Name)
	}
	return i18n.Verbatim("@" + g.Actors[0].Name)
}

// decisionText describes a decision. withReason precedes a reason.
type decisionText struct{ withoutReason, withReason i18n.Message }

// personTexts are the texts for the person whom a decision is about, by action.
var personTexts = map[string]decisionText{
	"dismiss": {i18n.T("A moderator looked at your appeal. The decision stands."), i18n.T("A moderator looked at your appeal. The decision stands:")},
	"hide":    {i18n.T("A moderator hid your post."), i18n.T("A moderator hid your post:")},
	"unhide":  {i18n.T("A moderator made your post visible again."), i18n.T("A moderator made your post visible again:")},
	"delete":  {i18n.T("A moderator deleted your post."), i18n.T("A moderator deleted your post:")},
	"limit":   {i18n.T("A moderator limited your account."), i18n.T("A moderator limited your account:")},
	"suspend": {i18n.T("A moderator suspended your account."), i18n.T("A moderator suspended your account:")},
	"restore": {i18n.T("A moderator restored your account."), i18n.T("A moderator restored your account:")},
}

// reporterTexts are the texts for reporters, by action. Reporters do not learn that a user was
// limited.
var reporterTexts = map[string]i18n.Message{
	"dismiss": i18n.T("We looked at what you reported and took no action."),
	"hide":    i18n.T("Thank you: what you reported was hidden."),
	"delete":  i18n.T("Thank you: what you reported was deleted."),
	"suspend": i18n.T("Thank you: the account you reported was suspended."),
}
