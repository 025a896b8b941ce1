package moderation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"retwis/internal/i18n"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/notify"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// ReportKind is a reason for reporting a post or a person.
type ReportKind struct {
	Name  string
	Label i18n.Message
}

// ReportKinds are the reasons to choose from.
var ReportKinds = [...]ReportKind{
	{"spam", i18n.T("Spam or advertising")},
	{"abuse", i18n.T("Harassment or hate")},
	{"violence", i18n.T("Threats or violence")},
	{"impersonation", i18n.T("Pretends to be someone else")},
	{"illegal", i18n.T("Something illegal")},
	{"other", i18n.T("Something else")},
}

// RuleKind is the kind of a report that a rule of the site is broken. It can be chosen if the site
// has rules.
const RuleKind = "rule"

// Reason is why somebody reports a post or a person.
type Reason struct {
	Kind string // one of ReportKinds, RuleKind or AppealKind
	Rule Rule   // only for RuleKind
	Text string // added by the reporter, at most MaxReportText characters
}

// Rule is a rule of the site as it was at the time of the report. The operators may have changed it
// since.
type Rule struct {
	Number int // starting at 1
	Text   string
}

// maxRuleBytes limits the text of a rule.
const maxRuleBytes = 4000

// String returns the rule with its number, or an empty string for the zero value.
func (r Rule) String() string {
	if r.Number == 0 {
		return ""
	}
	return fmt.Sprintf("Rule %d: %s", r.Number, r.Text)
}

// KindLabel returns the text of a kind of report.
func KindLabel(name string) i18n.Message {
	switch name {
	case RuleKind:
		return i18n.T("Breaks a rule")
	case AppealKind:
		return i18n.T("Appeal")
	}
	for _, kind := range ReportKinds {
		if kind.Name == name {
			return kind.Label
		}
	}
	return i18n.Verbatim(name)
}

// MaxReportText is the maximum length of a reporter's text, in characters.
const MaxReportText = 500

// Reports manages the reports by users.
type Reports struct {
	store *reportStore
	m     *Service
}

// NewReports returns Reports whose decisions are carried out by m.
func NewReports(m *Service) (*Reports, error) {
	store, err := newReportStore(m.DB.Client)
	if err != nil {
		return nil, err
	}
	return &Reports{store: store, m: m}, nil
}

// Subject is what a report is about.
type Subject struct {
	Target string         // UserTarget or PostTarget
	Person social.User    // the person, or the author of the post; the zero User if both are gone
	Post   *timeline.View // nil for a person, or if the post is gone

	// When a deleted post was deleted, and by whom: its author or a moderator.
	Deleted   time.Time
	DeletedBy social.Actor
}

// ByAuthor reports whether the author has deleted the post.
func (s Subject) ByAuthor() bool { return s.DeletedBy == s.Person.Actor() }

// ReportCase is a reported post or person, with all open reports about it.
type ReportCase struct {
	Subject
	Texts   []ReportedText
	Reports []UserReport
}

// ReportedText is the text of a post at the time of a report. Even if the author edits or deletes
// the post, moderators can read what was reported.
type ReportedText struct {
	Time time.Time // since when the post had this text
	Text string
}

// UserReport is the report of one person.
type UserReport struct {
	By   social.User // without a name if the account is deleted
	Time time.Time
	Reason
}

// WaitingReport is an open case in a list.
type WaitingReport struct {
	Subject
	Texts     []ReportedText
	Since     time.Time
	Reporters int64
	Kinds     []kindCount  // the reasons, most frequent first; see KindLabel
	Holder    social.Actor // who holds the case; 0 if nobody does
	Until     time.Time
}

// ReportPost reports a post to the moderators. A reporter can have one open report about a target;
// a second one changes nothing. It returns *InvalidError if the kind does not exist, a rule has no
// text, the text is too long, or the post is the reporter's own. It returns ErrNotFound if the post
// is hidden from the reporter, except by a block: authors who insult and then block can be
// reported, and so can those who insult and then delete, for a day. The case keeps the text until
// it is decided. About five round trips.
func (r *Reports) ReportPost(ctx context.Context, reporter social.User, post int64, reason Reason) error {
	reason, err := reason.checked(reporter)
	if err != nil {
		return err
	}
	v, err := r.m.Viewers.Get(ctx, reporter)
	if err != nil {
		return err
	}
	found, err := r.m.Views.Get(social.WithFresh(ctx, post), post)
	if err != nil {
		return err
	}
	if found[0] == nil {
		return social.ErrNotFound
	}
	p := found[0].Post
	if p.Deleted && r.m.Now().Sub(p.DeletedAt) < reportableFor {
		p.Deleted = false
		p.Body, err = r.deletedText(ctx, post)
	}
	if err == nil && social.Visible(v.WithoutBlocks(), p) == social.Hidden {
		err = social.ErrNotFound
	}
	if err != nil {
		return err
	}
	if p.RepostOf != 0 {
		return r.ReportPost(ctx, reporter, p.RepostOf, reason)
	}
	return r.add(ctx, reporter, newReport{target: audit.PostTarget(post), about: p.Author.ID, text: TextOf(p)}, reason)
}

// reportableFor is how long a deleted post can be reported: somebody may have had the form open.
const reportableFor = 24 * time.Hour

// deletedText returns the text of a recently deleted post, which is kept until the search index has
// dropped the post.
func (r *Reports) deletedText(ctx context.Context, post int64) (string, error) {
	text, err := reply.TextOrEmpty(r.m.DB.Client.Do(ctx, r.m.DB.Client.B().Hget().Key(storage.PostKey(post)).Field("deleted_body").Build()))
	if err != nil {
		err = fmt.Errorf("social: report a post: %w", err)
	}
	return text, err
}

// maxReportedBytes is the maximum length of a text that a report keeps.
const maxReportedBytes = 2 * social.MaxBodyBytes

// TextOf returns what a report keeps of a post: its text and the descriptions of its pictures.
func TextOf(p social.Post) ReportedText {
	text := p.Body
	for _, picture := range p.Media.Pictures() {
		text += "\n[Picture: " + picture.Alt + "]"
	}
	if len(text) > maxReportedBytes {
		text = strings.ToValidUTF8(text[:maxReportedBytes], "")
	}
	if p.Edited.IsZero() {
		return ReportedText{p.Time, text}
	}
	return ReportedText{p.Edited, text}
}

// ReportUser reports a person; see ReportPost.
func (r *Reports) ReportUser(ctx context.Context, reporter social.User, uid int64, reason Reason) error {
	reason, err := reason.checked(reporter)
	if err != nil {
		return err
	}
	v, err := r.m.Viewers.Get(ctx, reporter)
	if err != nil {
		return err
	}
	if v.Standing(uid).Hidden() {
		return social.ErrNotFound
	}
	if _, err := r.m.Users.Record(ctx, uid); err != nil {
		return err
	}
	return r.add(ctx, reporter, newReport{target: audit.UserTarget(uid), about: uid}, reason)
}

// checked validates a reason and returns the form that is stored.
func (reason Reason) checked(reporter social.User) (Reason, error) {
	if reporter.ID == 0 {
		return Reason{}, social.ErrNoSession
	}
	switch {
	case reason.Kind == RuleKind:
		if reason.Rule.Number < 1 || reason.Rule.Text == "" || len(reason.Rule.Text) > maxRuleBytes || strings.Contains(reason.Rule.Text, "\n") {
			return Reason{}, social.Invalid("rule", "Choose the rule.")
		}
	case slices.ContainsFunc(ReportKinds[:], func(k ReportKind) bool { return k.Name == reason.Kind }):
		reason.Rule = Rule{}
	default:
		return Reason{}, social.Invalid("kind", "Choose a reason.")
	}
	var err error
	reason.Text, err = cleanReportText(reason.Text)
	return reason, err
}

// cleanReportText returns a text as it is stored, or *InvalidError if it is too long.
func cleanReportText(text string) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if !utf8.ValidString(text) || len(text) > social.BytesPerCharacter*MaxReportText || uniseg.GraphemeClusterCount(text) > MaxReportText {
		return "", social.Invalid("text", "Use at most {n} characters.", MaxReportText)
	}
	return text, nil
}

func (r *Reports) add(ctx context.Context, reporter social.User, n newReport, reason Reason) error {
	if n.about == reporter.ID {
		return social.Invalid("target", "You can't report yourself.")
	}
	return r.file(ctx, reporter, n, reason)
}

// file stores a report.
func (r *Reports) file(ctx context.Context, reporter social.User, n newReport, reason Reason) error {
	roles, err := r.m.Users.Roles(ctx, n.about)
	if err != nil {
		return err
	}
	n.staff = roles[0] > social.Member
	n.report = storedReport{By: reporter.ID, Time: r.m.Now(), Reason: reason}
	_, err = r.store.Add(ctx, n)
	return err
}

// TargetOf returns the subject of a target, along with ErrNotFound if the person is gone. It
// returns ErrForbidden unless the actor is a moderator.
func (r *Reports) TargetOf(ctx context.Context, actor social.Actor, target string) (Subject, error) {
	if err := r.m.authorize(ctx, actor, 0); err != nil {
		return Subject{}, err
	}
	s, err := r.subject(ctx, target)
	if err == nil && s.Person.ID == 0 {
		err = social.ErrNotFound
	}
	return s, err
}

// UsersOf returns the users with these IDs, omitting those who are gone. At most one round trip.
func (r *Reports) UsersOf(ctx context.Context, ids ...int64) (map[int64]social.User, error) {
	return r.m.Users.ByID(ctx, ids)
}

// TakeReport leases the next report to a moderator for ReportLease; nobody else gets the report
// during the lease. If the moderator already holds a report, TakeReport returns that report and
// renews its lease. It returns ErrNoReport if no waiting report may be decided by the moderator,
// and ErrForbidden unless the actor is a moderator.
func (r *Reports) TakeReport(ctx context.Context, actor social.Actor) (ReportCase, error) {
	if err := r.m.authorize(ctx, actor, 0); err != nil {
		return ReportCase{}, err
	}
	c, err := r.store.Held(ctx, actor.String())
	if errors.Is(err, ErrNoReport) {
		c, err = r.store.Take(ctx, actor.String(), true, func(target string) (bool, error) { return r.mayDecide(ctx, actor, target) })
	}
	if err != nil {
		return ReportCase{}, err
	}
	return r.complete(ctx, c)
}

// mayDecide reports whether an actor may decide about a target. Any moderator can dismiss reports
// about a target that is gone.
func (r *Reports) mayDecide(ctx context.Context, actor social.Actor, target string) (bool, error) {
	s, err := r.subject(ctx, target)
	if err != nil {
		return false, err
	}
	err = r.m.authorize(ctx, actor, s.Person.ID)
	if errors.Is(err, social.ErrForbidden) {
		return false, nil
	}
	return err == nil, err
}

// subject returns the subject of a target. It has only the target if the person is gone.
func (r *Reports) subject(ctx context.Context, target string) (Subject, error) {
	s := Subject{Target: target}
	uid, pid := audit.ParseTarget(target)
	if pid != 0 {
		found, err := r.m.Views.Get(ctx, pid)
		if err != nil || found[0] == nil {
			return s, err
		}
		if uid = found[0].Author.ID; found[0].Deleted {
			s.Deleted = found[0].DeletedAt
			s.DeletedBy, err = r.deletedBy(ctx, target, uid)
		} else {
			s.Post = found[0]
		}
		if err != nil {
			return s, err
		}
	}
	rec, err := r.m.Users.Record(ctx, uid)
	if errors.Is(err, social.ErrNotFound) {
		return Subject{Target: target}, nil
	}
	s.Person = rec.User
	return s, err
}

// deletedBy returns who has deleted a post: its author, unless the log names somebody else.
func (r *Reports) deletedBy(ctx context.Context, target string, author int64) (social.Actor, error) {
	page, err := r.m.Audit.Read(ctx, audit.Filter{Person: author, Target: target}, "", social.MaxPage)
	for _, e := range page.Entries {
		if e.Action == "delete" {
			return e.Actor, err
		}
	}
	return social.Actor(author), err
}

// TakeReportOf leases the report about one target. It returns ErrReportHeld if another moderator
// holds it. See TakeReport.
func (r *Reports) TakeReportOf(ctx context.Context, actor social.Actor, target string) (ReportCase, error) {
	s, err := r.subject(ctx, target)
	if err == nil {
		err = r.m.authorize(ctx, actor, s.Person.ID)
	}
	if err != nil {
		return ReportCase{}, err
	}
	c, err := r.store.TakeTarget(ctx, target, actor.String())
	if err != nil {
		return ReportCase{}, err
	}
	return r.complete(ctx, c)
}

// HeldReport returns the report that a moderator holds, and renews its lease; or ErrNoReport.
func (r *Reports) HeldReport(ctx context.Context, actor social.Actor) (ReportCase, error) {
	if err := r.m.authorize(ctx, actor, 0); err != nil {
		return ReportCase{}, err
	}
	c, err := r.store.Held(ctx, actor.String())
	if err != nil {
		return ReportCase{}, err
	}
	return r.complete(ctx, c)
}

// ReportOf returns the open report about a target without taking it, or ErrNoReport.
func (r *Reports) ReportOf(ctx context.Context, actor social.Actor, target string) (ReportCase, error) {
	if err := r.m.authorize(ctx, actor, 0); err != nil {
		return ReportCase{}, err
	}
	c, err := r.store.Case(ctx, target)
	if err != nil {
		return ReportCase{}, err
	}
	return r.complete(ctx, c)
}

// ReturnReport puts a report back for other moderators. It returns ErrReportNotHeld if the
// moderator does not hold it.
func (r *Reports) ReturnReport(ctx context.Context, actor social.Actor, target string) error {
	return r.store.Return(ctx, target, actor.String())
}

// complete returns a case with its people and its post.
func (r *Reports) complete(ctx context.Context, c storedCase) (ReportCase, error) {
	full := ReportCase{Texts: c.Texts}
	var err error
	if full.Subject, err = r.subject(ctx, c.Target); err != nil {
		return ReportCase{}, err
	}
	ids := make([]int64, len(c.Reports))
	for i, report := range c.Reports {
		ids[i] = report.By
	}
	people, err := r.m.Users.ByID(ctx, ids)
	if err != nil {
		return ReportCase{}, err
	}
	for _, report := range c.Reports {
		by, ok := people[report.By]
		if !ok {
			by = social.User{ID: report.By}
		}
		full.Reports = append(full.Reports, UserReport{By: by, Time: report.Time, Reason: report.Reason})
	}
	return full, nil
}

// ReportDecision is a moderator's decision about a report.
type ReportDecision struct {
	Action  string    // one of ReportActions
	Message string    // for the person, at most MaxNote characters
	Note    string    // for other moderators, at most MaxNote characters
	Until   time.Time // when a limit or a suspension expires; zero for no end
	Heard   bool      // the moderator has read the person's appeal; operators always have
}

// ReportActions are the actions of a ReportDecision. "hide", "unhide" and "delete" are only for a
// post; "limit", "suspend" and "restore" are about the person, or the author of the post.
var ReportActions = []string{"dismiss", "hide", "unhide", "delete", "limit", "suspend", "restore"}

// Decide carries out a decision about a target without a report: an action of ReportActions except
// "dismiss". See SetStanding and HidePost for its errors.
func (r *Reports) Decide(ctx context.Context, actor social.Actor, target string, d ReportDecision) error {
	if d.Action == "dismiss" {
		return social.Invalid("action", "Choose what to do.")
	}
	s, err := r.subject(ctx, target)
	if err == nil && s.Person.ID == 0 {
		err = social.ErrNotFound
	}
	if err != nil {
		return err
	}
	_, err = r.decide(ctx, actor, target, s.Person, d)
	return err
}

// DecideReport carries out a moderator's decision about a report that they hold, and closes it. The
// reporters are notified, and a person who has appealed also if nothing changes. If the moderator
// does not hold the report, or no longer holds it, DecideReport returns ErrReportNotHeld and does
// nothing. If the person has appealed and the moderator has not read that, it returns
// *InvalidError. An operator need not take the report first, unless a moderator holds it. Hiding or
// deleting a post that is gone closes the report. It can be repeated.
func (r *Reports) DecideReport(ctx context.Context, actor social.Actor, target string, d ReportDecision) error {
	if !slices.Contains(ReportActions, d.Action) {
		return social.Invalid("action", "Choose what to do.")
	}
	var err error
	if d.Message, err = cleanMessage(d.Message); err != nil {
		return err
	}
	if actor == social.Operator {
		if _, err := r.store.TakeTarget(ctx, target, actor.String()); err != nil {
			return err
		}
	} else if err := r.store.Keep(ctx, target, actor.String()); err != nil {
		return err
	}
	s, err := r.subject(ctx, target)
	if err == nil {
		err = r.m.authorize(ctx, actor, s.Person.ID)
	}
	if err == nil && !d.Heard && actor != social.Operator {
		err = r.refuseUnheard(ctx, s.Person, target)
	}
	if err != nil {
		return err
	}
	changed, err := r.decide(ctx, actor, target, s.Person, d)
	outcome := d.Action
	switch {
	case errors.Is(err, social.ErrNotFound) && slices.Contains(postActions, d.Action):
		// The post is gone: somebody has deleted it, or an earlier attempt did.
		outcome, changed, err = "delete", false, nil
	case d.Action == "unhide" || d.Action == "restore":
		outcome = "dismiss"
	}
	if err == nil && !changed { // closing the report without a change is a decision too
		err = r.m.Audit.Add(ctx, audit.Entry{Actor: actor, Action: d.Action, Target: target, Person: s.Person.ID, Note: d.Note})
	}
	if err != nil {
		return err
	}
	reporters, err := r.store.Close(ctx, target, actor.String())
	if err != nil {
		return err
	}
	_, post := audit.ParseTarget(target)
	others := slices.DeleteFunc(slices.Clone(reporters), func(uid int64) bool { return social.Actor(uid) == actor || uid == s.Person.ID })
	r.m.Notices.NotifyDecision(ctx, notify.Decision{Action: outcome, Person: s.Person.ID, Post: post}, others...)
	if slices.Contains(reporters, s.Person.ID) && !(changed && slices.Contains(postActions, d.Action) == (post != 0)) {
		r.answerAppeal(ctx, s.Person, target, d.Message)
	}
	return nil
}

// postActions are the actions of a decision about a post.
var postActions = []string{"hide", "unhide", "delete"}

// decide carries out a decision. changed is false if the decision had no effect; then it is not in
// the audit log.
func (r *Reports) decide(ctx context.Context, actor social.Actor, target string, person social.User, d ReportDecision) (changed bool, err error) {
	_, post := audit.ParseTarget(target)
	switch d.Action {
	case "dismiss":
		return false, nil
	case "limit", "suspend", "restore":
		standing := social.Standing(slices.Index(standingActions[:], d.Action))
		return r.m.changeStanding(ctx, actor, person.ID, StandingChange{Standing: standing, Until: d.Until, Message: d.Message, Note: d.Note})
	}
	if post == 0 {
		return false, social.Invalid("action", "Only a post can be hidden or deleted.")
	}
	switch d.Action {
	case "hide":
		return r.m.hidePost(ctx, actor, post, d.Message, d.Note)
	case "unhide":
		return r.m.unhidePost(ctx, actor, post, d.Message, d.Note)
	case "delete":
		return true, r.m.removePost(ctx, actor, post, d.Message, d.Note)
	}
	return false, social.Invalid("action", "Choose what to do.")
}

// OpenReports returns open reports, earliest first, starting at a position, and whether more
// follow. About five round trips.
func (r *Reports) OpenReports(ctx context.Context, actor social.Actor, from, limit int) (page []WaitingReport, more bool, err error) {
	if err := r.m.authorize(ctx, actor, 0); err != nil {
		return nil, false, err
	}
	open, more, err := r.store.List(ctx, max(from, 0), social.PageSize(limit))
	if err != nil {
		return nil, false, err
	}
	for _, waiting := range open {
		w := WaitingReport{
			Texts: waiting.Texts, Since: waiting.Since, Reporters: waiting.Reporters, Kinds: waiting.Kinds, Holder: social.ParseActor(waiting.Holder), Until: waiting.Until,
		}
		if w.Subject, err = r.subject(ctx, waiting.Target); err != nil {
			return nil, false, err
		}
		page = append(page, w)
	}
	return page, more, nil
}

// OpenReport is an open case about a person, or about one of their posts.
type OpenReport struct {
	Target string
	Since  time.Time
	Post   *timeline.View // nil for a person, or if the post is gone
}

// OtherReports returns the open cases about the person of a subject and their posts, except the
// subject itself, earliest first. If more than 500 cases are open, it can miss the latest. At most
// three round trips.
func (r *Reports) OtherReports(ctx context.Context, s Subject) ([]OpenReport, error) {
	if s.Person.ID == 0 {
		return nil, nil
	}
	open, err := r.store.Others(ctx, s.Person.ID, s.Target)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	others, ids := make([]OpenReport, len(open)), []int64(nil)
	for i, other := range open {
		others[i] = OpenReport{Target: other.Target, Since: other.Since}
		if _, post := audit.ParseTarget(other.Target); post != 0 {
			ids = append(ids, post)
		}
	}
	posts, err := r.m.Views.Get(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for i := range others {
		if _, post := audit.ParseTarget(others[i].Target); post != 0 {
			if posts[0] != nil && !posts[0].Deleted {
				others[i].Post = posts[0]
			}
			posts = posts[1:]
		}
	}
	return others, nil
}

// OpenReportCount returns how many targets have open reports. No round trip while the number is
// unchanged.
func (r *Reports) OpenReportCount(ctx context.Context) (int64, error) { return r.store.Count(ctx) }

// OldestReport returns when the oldest open case was first reported, or the zero time if there is
// none. One round trip.
func (r *Reports) OldestReport(ctx context.Context) (time.Time, error) { return r.store.Oldest(ctx) }

// RefillReports adds open reports that are missing from the queue because a process died, and
// returns how many it added. TakeReport adds them too.
func (r *Reports) RefillReports(ctx context.Context) (int, error) { return r.store.Refill(ctx) }

// MissingReports returns how many open reports are missing from the queue; see RefillReports.
func (r *Reports) MissingReports(ctx context.Context) (int64, error) { return r.store.Missing(ctx) }

// ForgetReports removes the reports by a person, and about them and their posts, when an account is
// deleted. It can be repeated.
func (r *Reports) ForgetReports(ctx context.Context, uid int64) error {
	return r.store.Forget(ctx, uid)
}
