package notify

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/i18n"
	"retwis/internal/social"
)

// Decision is what a moderator has decided about a person or a post.
type Decision struct {
	Action string // what the audit log calls it
	Person int64  // the user that it is about; the author of the post
	Post   int64  // 0 for a person
	Reason string // what the moderator tells the person, at most social.MaxNote characters
	// Since is from when on an equal decision is the same one; zero: each is another one.
	Since time.Time
}

// NotifyDecision tells people of a decision: the person, with the reason, or those who have reported
// what it is about. Nobody is told who has decided, and who has reported. An error is logged only.
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
		n.Log.WarnContext(ctx, "a notification could not be written", "kind", Decided.String(), "post", d.Post, "error", err)
	}
}

// wantDecisions returns those of some users who exist, and get notifications of decisions.
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

// DecisionText says what was decided; the reason follows where there is one. It is empty for a group
// of another kind.
func (g Group) DecisionText() i18n.Message {
	switch {
	case g.Kind != Decided:
		return i18n.Message{}
	case !g.Own:
		if outcome, ok := outcomes[g.Action]; ok {
			return outcome
		}
		return i18n.T("Thank you: we took action on what you reported.")
	}
	deed, ok := deeds[g.Action]
	if !ok {
		deed = decided{
			i18n.T("A moderator made a decision about your account."),
			i18n.T("A moderator made a decision about your account:"),
		}
	}
	if g.Reason != "" {
		return deed.because
	}
	return deed.alone
}

// DecisionAbout says what a reporter has reported; empty for who is told of a decision about
// themselves.
func (g Group) DecisionAbout() i18n.Message {
	switch {
	case g.Kind != Decided || g.Own:
		return i18n.Message{}
	case g.IsPost:
		return i18n.T("Post by @{name}", g.Actors[0].Name)
	}
	return i18n.Verbatim("@" + g.Actors[0].Name)
}

// decided says what was decided: alone, and before a reason.
type decided struct{ alone, because i18n.Message }

// deeds say what was decided, to the person that it is about.
var deeds = map[string]decided{
	"hide":    {i18n.T("A moderator hid your post."), i18n.T("A moderator hid your post:")},
	"unhide":  {i18n.T("A moderator made your post visible again."), i18n.T("A moderator made your post visible again:")},
	"delete":  {i18n.T("A moderator deleted your post."), i18n.T("A moderator deleted your post:")},
	"limit":   {i18n.T("A moderator limited your account."), i18n.T("A moderator limited your account:")},
	"suspend": {i18n.T("A moderator suspended your account."), i18n.T("A moderator suspended your account:")},
	"restore": {i18n.T("A moderator restored your account."), i18n.T("A moderator restored your account:")},
}

// outcomes are what reporters are told. That somebody is limited is nobody else's business.
var outcomes = map[string]i18n.Message{
	"dismiss": i18n.T("We looked at what you reported and took no action."),
	"hide":    i18n.T("Thank you: what you reported was hidden."),
	"delete":  i18n.T("Thank you: what you reported was deleted."),
	"suspend": i18n.T("Thank you: the account you reported was suspended."),
}
