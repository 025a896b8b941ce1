package notify

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/rueidis"

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

// DecisionText says what was decided; empty for a group of another kind.
func (g Group) DecisionText() string {
	switch {
	case g.Kind != Decided:
		return ""
	case g.Own && g.Action == "hide":
		return "A moderator has hidden your post."
	case g.Own && g.Action == "unhide":
		return "A moderator has shown your post again."
	case g.Own && g.Action == "delete":
		return "A moderator has deleted your post."
	case g.Own:
		return "A moderator has made a decision about your account."
	}
	about := "@" + g.Actors[0].Name
	if g.IsPost {
		about = "a post by " + about
	}
	return "Your report about " + about + " was decided: " + cmp.Or(outcomes[g.Action], "action was taken.")
}

// outcomes are what reporters are told. That somebody is limited is nobody else's business.
var outcomes = map[string]string{
	"dismiss": "no action was taken.",
	"hide":    "the post was hidden.",
	"delete":  "the post was deleted.",
	"limit":   "action was taken.",
	"suspend": "the account was suspended.",
}
