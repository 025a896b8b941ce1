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
	Person int64  // the user that it is about; the author of the post
	Post   int64  // 0 for a person
	Reason string // the message to the person, at most social.MaxNote characters
	// Since is the time since when an equal decision is considered the same one; zero: every
	// decision is different.
	Since time.Time
}

// NotifyDecision notifies people of a decision: the person, with the reason, or those who have
// reported the subject. It reveals neither who decided nor who reported. Errors are only logged.
// Three round trips.
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

// wantDecisions returns those of the users who exist and want notifications of decisions.
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

// DecisionText describes the decision; the reason follows if there is one. It is empty for other
// kinds of groups.
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
	deed, ok := personTexts[g.Action]
	if !ok {
		deed = decisionText{
			i18n.T("A moderator made a decision about your account."),
			i18n.T("A moderator made a decision about your account:"),
		}
	}
	if g.Reason != "" {
		return deed.withReason
	}
	return deed.alone
}

// DecisionAbout describes what the viewer has reported; it is empty if the decision is about the
// viewer.
func (g Group) DecisionAbout() i18n.Message {
	switch {
	case g.Kind != Decided || g.Own:
		return i18n.Message{}
	case g.IsPost:
		return i18n.T("Post by @{name}", g.Actors[0].Name)
	}
	return i18n.Verbatim("@" + g.Actors[0].Name)
}

// decisionText describes a decision: on its own, and before a reason.
type decisionText struct{ alone, withReason i18n.Message }

// personTexts describe decisions to the person they are about.
var personTexts = map[string]decisionText{
	"hide":    {i18n.T("A moderator hid your post."), i18n.T("A moderator hid your post:")},
	"unhide":  {i18n.T("A moderator made your post visible again."), i18n.T("A moderator made your post visible again:")},
	"delete":  {i18n.T("A moderator deleted your post."), i18n.T("A moderator deleted your post:")},
	"limit":   {i18n.T("A moderator limited your account."), i18n.T("A moderator limited your account:")},
	"suspend": {i18n.T("A moderator suspended your account."), i18n.T("A moderator suspended your account:")},
	"restore": {i18n.T("A moderator restored your account."), i18n.T("A moderator restored your account:")},
}

// reporterTexts are what reporters are told. They are not told that somebody was limited.
var reporterTexts = map[string]i18n.Message{
	"dismiss": i18n.T("We looked at what you reported and took no action."),
	"hide":    i18n.T("Thank you: what you reported was hidden."),
	"delete":  i18n.T("Thank you: what you reported was deleted."),
	"suspend": i18n.T("Thank you: the account you reported was suspended."),
}
