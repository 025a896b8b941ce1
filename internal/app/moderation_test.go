package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/social/storage"
)

// TestRoles checks who may give and take which role.
func TestRoles(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		people := map[string]social.User{}
		for _, name := range []string{"owner", "second", "admin", "moderator", "member"} {
			people[name] = b.NewUser("the_" + name) // the names of the roles themselves are reserved
		}
		give := func(actor social.Actor, name string, role social.Role) error {
			return b.Moderation.SetRole(b.Ctx, actor, people[name].ID, role, "")
		}
		b.must(give(social.Operator, "owner", social.Owner))
		b.must(give(people["owner"].Actor(), "second", social.Owner))
		b.must(give(people["owner"].Actor(), "admin", social.Admin))
		b.must(give(people["admin"].Actor(), "moderator", social.Moderator))
		for _, c := range []struct {
			actor, target string
			role          social.Role
			allowed       bool
		}{
			{"member", "member", social.Moderator, false},
			{"moderator", "member", social.Moderator, false},
			{"moderator", "moderator", social.Admin, false},
			{"admin", "member", social.Admin, false},
			{"admin", "owner", social.Member, false},
			{"admin", "admin", social.Owner, false},
			{"owner", "second", social.Member, false},
			{"admin", "moderator", social.Member, true},
			{"admin", "moderator", social.Moderator, true},
			{"moderator", "moderator", social.Member, true},
			{"second", "second", social.Admin, true},
			{"owner", "owner", social.Member, false}, // the last owner
			{"owner", "admin", social.Member, true},
		} {
			err := give(people[c.actor].Actor(), c.target, c.role)
			if (err == nil) != c.allowed || err != nil && !errors.Is(err, social.ErrForbidden) {
				t.Errorf("the %s makes the %s a %s: %v, want allowed = %v", c.actor, c.target, c.role, err, c.allowed)
			}
		}
		if err := give(0, "member", social.Owner); !errors.Is(err, social.ErrForbidden) {
			t.Errorf("a role given by actor 0: %v, want ErrForbidden", err)
		}
		if err := b.Moderation.MayLeave(b.Ctx, people["owner"].ID); !errors.Is(err, social.ErrForbidden) {
			t.Errorf("MayLeave of the last owner: %v, want ErrForbidden", err)
		}
		b.must(b.Moderation.MayLeave(b.Ctx, people["second"].ID))
		staff, err := other.Users.Staff(other.Ctx)
		b.must(err)
		var got []string
		for _, user := range staff {
			got = append(got, user.Name+" "+user.Role.String())
		}
		if want := []string{"the_owner owner", "the_second admin"}; !slices.Equal(got, want) {
			t.Errorf("staff: %q, want %q", got, want)
		}
		page, err := b.Audit.Read(b.Ctx, audit.Filter{Actor: people["admin"].Actor()}, "", 50)
		b.must(err)
		if len(page.Entries) != 3 || page.Entries[0].Action != "role" || page.Entries[0].Target != audit.UserTarget(people["moderator"].ID) {
			t.Errorf("audit log of the admin: %+v, want 3 changes of roles", page.Entries)
		}
	})
}

// If two owners give up their role at the same time, one remains owner.
func TestLastOwnerStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for round := range 20 {
		one, two := b.NewUser(fmt.Sprintf("one%d", round)), b.NewUser(fmt.Sprintf("two%d", round))
		for _, user := range []social.User{one, two} {
			b.must(b.Moderation.SetRole(b.Ctx, social.Operator, user.ID, social.Owner, ""))
		}
		var wg sync.WaitGroup
		for _, user := range []social.User{one, two} {
			wg.Go(func() {
				if err := b.Moderation.SetRole(b.Ctx, user.Actor(), user.ID, social.Member, ""); err != nil && !errors.Is(err, social.ErrForbidden) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		staff, err := b.Users.Staff(b.Ctx)
		b.must(err)
		if len(staff) != 1 || staff[0].Role != social.Owner {
			t.Fatalf("staff after both owners left: %v, want one owner", staff)
		}
		b.must(b.Moderation.SetRole(b.Ctx, social.Operator, staff[0].ID, social.Member, ""))
	}
}

// A suspension ends the open sessions in every process at once, and the log-in page gives the
// reason.
func TestSuspend(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		session, err := b.Accounts.Register(b.Ctx, "ada", "correct horse")
		b.must(err)
		ada, moderator := session.User, b.NewUser("mona")
		b.must(b.Moderation.SetRole(b.Ctx, social.Operator, moderator.ID, social.Moderator, ""))
		post := b.Publish(ada, "hello")
		stranger := func() *social.Viewer {
			v, err := other.Viewers.Get(other.Ctx, social.User{})
			b.must(err)
			return v
		}
		seen := func(v *social.Viewer) bool {
			_, err := other.Lists.PostPage(other.Ctx, v, post)
			if err != nil && !errors.Is(err, social.ErrNotFound) {
				t.Fatal(err)
			}
			return err == nil
		}
		if _, err := other.Sessions.SessionUser(other.Ctx, session.Secret); err != nil {
			t.Fatal(err)
		}
		v := stranger()
		if !seen(v) {
			t.Fatal("the post is not visible")
		}
		err = b.Moderation.SetStanding(b.Ctx, moderator.Actor(), ada.ID, moderation.StandingChange{
			Standing: social.Suspended, Message: "Spam.", Note: "the third time", Until: time.Now().Add(time.Hour),
		})
		b.must(err)
		other.Eventually("the session to end in the other process", func() bool {
			_, err := other.Sessions.SessionUser(other.Ctx, session.Secret)
			return errors.Is(err, social.ErrNoSession)
		})
		other.Eventually("the post to be hidden from an existing viewer", func() bool { return !seen(v) })
		var suspended *social.SuspendedError
		if _, err := other.Auth.Login(other.Ctx, "ada", "correct horse"); !errors.As(err, &suspended) || !errors.Is(err, social.ErrSuspended) ||
			suspended.Message != "Spam." || suspended.Until.IsZero() || suspended.Since.IsZero() {
			t.Errorf("log-in of a suspended user: %v", err)
		}
		if _, err := other.Auth.Login(other.Ctx, "ada", "wrong horse"); !errors.Is(err, social.ErrBadLogin) {
			t.Errorf("log-in with a wrong password: %v, want ErrBadLogin", err)
		}
		if auth := b.Redis("HGET", storage.UserKey(ada.ID), "auth"); auth != "" {
			t.Errorf("sessions are left: %q", auth)
		}
		if people, err := other.Moderation.StandingPeople(other.Ctx, "", 10); err != nil || len(people.Users) != 1 || people.Users[0].ID != ada.ID {
			t.Errorf("suspended people: %v, %v; want ada", people, err)
		}
		b.must(b.Moderation.SetStanding(b.Ctx, moderator.Actor(), ada.ID, moderation.StandingChange{Message: "Sorry."}))
		if message := b.Redis("HGET", storage.UserKey(ada.ID), "standing_message"); message != "" {
			t.Errorf("standing_message of a restored user: %q, want none", message)
		}
		other.Eventually("the post to be visible again", func() bool { return seen(v) })
		if _, err := other.Auth.Login(other.Ctx, "ada", "correct horse"); err != nil {
			t.Errorf("log-in after the suspension was lifted: %v", err)
		}
		if people, err := other.Moderation.StandingPeople(other.Ctx, "", 10); err != nil || len(people.Users) != 0 {
			t.Errorf("suspended people: %v, %v; want none", people, err)
		}
		page, err := other.Audit.Read(other.Ctx, audit.Filter{Person: ada.ID}, "", 10)
		b.must(err)
		var actions []string
		for _, e := range page.Entries {
			actions = append(actions, e.Action+" "+e.Note)
		}
		if want := []string{"restore ", "suspend the third time"}; !slices.Equal(actions, want) {
			t.Errorf("history: %q, want %q", actions, want)
		}
	})
}

// A suspension with an expiry is lifted automatically, once.
func TestStandingEnds(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := on(t, setup(t).DB, func(opt *app.Options) { opt.Now = func() time.Time { return now } })
	ada, carl := b.NewUser("ada"), b.NewUser("carl")
	suspend := func(user social.User, until time.Time) {
		b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, user.ID, moderation.StandingChange{Standing: social.Suspended, Until: until}))
	}
	standing := func(user social.User) social.Standing {
		info, err := b.Moderation.StandingOf(b.Ctx, user.ID)
		b.must(err)
		return info.Standing
	}
	suspend(ada, now.Add(time.Hour))
	suspend(carl, now.Add(time.Hour))
	suspend(carl, now.Add(3*time.Hour))
	b.must(b.Moderation.LiftEnded(b.Ctx))
	if standing(ada) != social.Suspended {
		t.Fatal("lifted too early")
	}
	now = now.Add(2 * time.Hour)
	b.must(b.Moderation.LiftEnded(b.Ctx))
	b.must(b.Moderation.LiftEnded(b.Ctx))
	if standing(ada) != social.Good || standing(carl) != social.Suspended {
		t.Errorf("standing of ada %v, of carl %v; want good and suspended", standing(ada), standing(carl))
	}
	page, err := b.Audit.Read(b.Ctx, audit.Filter{Person: ada.ID}, "", 10)
	b.must(err)
	if len(page.Entries) != 2 || page.Entries[0].Actor != social.Automatic {
		t.Errorf("history: %+v", page.Entries)
	}
}

// If a suspension expires while the account is being deleted, nothing is restored and the expiry is
// removed.
func TestStandingEndsInDeletion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, until := b.NewUser("ada"), b.Clock.Now().Add(time.Second)
	b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, ada.ID, moderation.StandingChange{Standing: social.Suspended, Until: until}))
	b.must(b.Leaving.DeleteAccount(b.Ctx, ada.ID))
	if ends := b.Redis("ZRANGE", storage.StandingEnds, "0", "-1"); ends != "" {
		t.Errorf("%s has %s", storage.StandingEnds, ends)
	}
	// A process that dies after closing the account leaves the entry for the expiry.
	b.Redis("ZADD", storage.StandingEnds, storage.Seconds(until), storage.Itoa(ada.ID))
	b.Clock.Advance(2 * time.Second)
	for range 3 {
		b.must(b.Moderation.LiftEnded(b.Ctx))
	}
	if ends := b.Redis("ZRANGE", storage.StandingEnds, "0", "-1"); ends != "" {
		t.Errorf("%s has %s after the expiry", storage.StandingEnds, ends)
	}
	page, err := b.Audit.Read(b.Ctx, audit.Filter{Person: ada.ID}, "", 10)
	b.must(err)
	if len(page.Entries) != 1 || page.Entries[0].Action != "suspend" {
		t.Errorf("history: %+v", page.Entries)
	}
}

// If a reported post is deleted before a moderator decides about the report, hiding or deleting the
// post still closes the report.
func TestReportAfterDeletion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, ben, mia := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("mia")
	b.must(b.Moderation.SetRole(b.Ctx, social.Operator, mia.ID, social.Moderator, ""))
	for _, action := range []string{"hide", "delete"} {
		post := b.Publish(ada, action)
		b.must(b.Reports.ReportPost(b.Ctx, ben, post, moderation.Reason{Kind: "spam"}))
		c, err := b.Reports.TakeReport(b.Ctx, mia.Actor())
		b.must(err)
		b.must(b.Moderation.RemovePost(b.Ctx, social.Operator, post, ""))
		if err := b.Reports.DecideReport(b.Ctx, mia.Actor(), c.Target, moderation.ReportDecision{Action: action}); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		if c, err := b.Reports.ReportOf(b.Ctx, mia.Actor(), c.Target); !errors.Is(err, moderation.ErrNoReport) {
			t.Errorf("report after %s: %+v, %v; want ErrNoReport", action, c, err)
		}
	}
}

// If the author of a reported post edits and deletes the post, the report keeps its texts until it
// is decided. A report that arrives after the deletion is accepted.
func TestReportOfDeletedPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, ben, carl, mia := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("carl"), b.NewUser("mia")
	b.must(b.Moderation.SetRole(b.Ctx, social.Operator, mia.ID, social.Moderator, ""))
	post := b.Publish(ada, "an insult")
	b.must(b.Reports.ReportPost(b.Ctx, ben, post, moderation.Reason{Kind: "spam"}))
	b.Clock.Advance(time.Minute)
	b.must(b.Posts.Edit(b.Ctx, ada, post, "a worse one"))
	b.must(b.Reports.ReportPost(b.Ctx, mia, post, moderation.Reason{Kind: "abuse"}))
	b.Clock.Advance(time.Minute)
	b.must(b.Posts.Delete(b.Ctx, ada, post))
	b.must(b.Reports.ReportPost(b.Ctx, carl, post, moderation.Reason{Kind: "abuse"}))
	target := audit.PostTarget(post)
	c, err := b.Reports.ReportOf(b.Ctx, mia.Actor(), target)
	b.must(err)
	var texts []string
	for _, kept := range c.Texts {
		texts = append(texts, kept.Text)
	}
	if got := strings.Join(texts, ", "); got != "an insult, a worse one" || len(c.Reports) != 3 {
		t.Errorf("%d reports with the texts %q, want 3 with both texts", len(c.Reports), got)
	}
	if c.Person.ID != ada.ID || c.Post != nil || !c.Deleted.Equal(b.Clock.Now().Truncate(time.Second)) || c.DeletedBy != ada.Actor() {
		t.Errorf("report of a deleted post: %+v", c)
	}
	page, _, err := b.Reports.OpenReports(b.Ctx, mia.Actor(), 0, 10)
	b.must(err)
	if len(page) != 1 || page[0].Reporters != 3 || len(page[0].Texts) != 2 || page[0].Deleted.IsZero() {
		t.Errorf("open reports: %+v", page)
	}
	_, err = b.Reports.TakeReportOf(b.Ctx, mia.Actor(), target)
	b.must(err)
	b.must(b.Reports.DecideReport(b.Ctx, mia.Actor(), target, moderation.ReportDecision{Action: "dismiss"}))
	if left := b.Redis("EXISTS", storage.ReportKey(target)); left != "0" {
		t.Error("the texts are left after the decision")
	}
	// A post cannot be reported long after its deletion.
	b.Clock.Advance(48 * time.Hour)
	if err := b.Reports.ReportPost(b.Ctx, ben, post, moderation.Reason{Kind: "spam"}); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("report two days after the deletion: %v, want ErrNotFound", err)
	}
	// A moderator deletes another post. Deleting the author's account removes the texts of its
	// report.
	post = b.Publish(ada, "another")
	b.must(b.Reports.ReportPost(b.Ctx, ben, post, moderation.Reason{Kind: "spam"}))
	b.must(b.Moderation.RemovePost(b.Ctx, mia.Actor(), post, ""))
	c, err = b.Reports.ReportOf(b.Ctx, mia.Actor(), audit.PostTarget(post))
	b.must(err)
	if c.DeletedBy != mia.Actor() {
		t.Errorf("deleted by %v, want the moderator", c.DeletedBy)
	}
	b.Redis("DEL", storage.PostKey(post)) // deleting an account erases stubs, perhaps before the reports
	b.must(b.Reports.ForgetReports(b.Ctx, ada.ID))
	if left := b.Redis("EXISTS", storage.ReportKey(audit.PostTarget(post))); left != "0" {
		t.Error("the texts are left after the deletion of the account")
	}
}

// TestAppeals checks who can appeal against which decision, and that the answer is delivered once.
func TestAppeals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, ben, mia := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("mia")
	b.must(b.Moderation.SetRole(b.Ctx, social.Operator, mia.ID, social.Moderator, ""))
	post := b.Publish(ada, "a text")
	target, account := audit.PostTarget(post), audit.UserTarget(ada.ID)
	refused := func(user social.User, target string) {
		t.Helper()
		if err := b.Reports.Appeal(b.Ctx, user, target, "why"); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("%s appeals about %s: %v, want ErrNotFound", user.Name, target, err)
		}
		if _, err := b.Reports.HasAppealed(b.Ctx, user, target); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("%s asks about %s: %v, want ErrNotFound", user.Name, target, err)
		}
	}
	for _, target := range []string{target, account, "post:9999", "user:9999", "nonsense", ""} {
		refused(ada, target)
	}
	answers := func(user social.User) (texts []string) {
		t.Helper()
		page, err := b.Notifications.Page(b.Ctx, b.viewer(user), "", 50)
		b.must(err)
		for _, g := range page.Groups {
			texts = append(texts, g.Action+" "+g.Reason)
		}
		return texts
	}
	decide := func(target, action, message string) {
		t.Helper()
		c, err := b.Reports.TakeReportOf(b.Ctx, mia.Actor(), target)
		b.must(err)
		if len(c.Reports) != 1 || c.Reports[0].Kind != moderation.AppealKind || c.Reports[0].By.ID != ada.ID || c.Reports[0].Text != "It was a quote." {
			t.Errorf("the case of an appeal: %+v", c.Reports)
		}
		d := moderation.ReportDecision{Action: action, Message: message}
		var invalid *social.InvalidError
		if err := b.Reports.DecideReport(b.Ctx, mia.Actor(), target, d); !errors.As(err, &invalid) {
			t.Errorf("decide about an appeal that was not read: %v, want *InvalidError", err)
		}
		d.Heard = true
		b.must(b.Reports.DecideReport(b.Ctx, mia.Actor(), target, d))
	}
	appeal := func(target string) {
		t.Helper()
		if open, err := b.Reports.HasAppealed(b.Ctx, ada, target); err != nil || open {
			t.Errorf("before the appeal: open %v, %v", open, err)
		}
		for range 2 { // the second one changes nothing
			b.must(b.Reports.Appeal(b.Ctx, ada, target, "  It was a quote.\r\n"))
		}
		if open, err := b.Reports.HasAppealed(b.Ctx, ada, target); err != nil || !open {
			t.Errorf("after the appeal: open %v, %v", open, err)
		}
	}

	b.must(b.Moderation.HidePost(b.Ctx, mia.Actor(), post, "Be kind.", ""))
	refused(ben, target)
	refused(social.User{ID: mia.ID, Name: "mia"}, target)
	for _, text := range []string{"", " \n", strings.Repeat("x", moderation.MaxReportText+1), "\xff"} {
		var invalid *social.InvalidError
		if err := b.Reports.Appeal(b.Ctx, ada, target, text); !errors.As(err, &invalid) || invalid.Field != "text" {
			t.Errorf("appeal with the text %.20q: %v, want an error about the text", text, err)
		}
	}
	appeal(target)
	decide(target, "dismiss", " Rule 3. ")
	appeal(target)
	decide(target, "hide", "Be kind.") // as it is
	appeal(target)
	decide(target, "unhide", "Sorry.")
	refused(ada, target)
	if got, want := answers(ada), []string{"unhide Sorry.", "dismiss Be kind.", "dismiss Rule 3.", "hide Be kind."}; !slices.Equal(got, want) {
		t.Errorf("ada was told %q, want %q", got, want)
	}

	b.must(b.Moderation.SetStanding(b.Ctx, mia.Actor(), ada.ID, moderation.StandingChange{Standing: social.Limited, Message: "Too much."}))
	refused(ben, account)
	appeal(account)
	decide(account, "restore", "")
	refused(ada, account)
	if got := answers(ada); len(got) != 6 || got[0] != "restore " || got[1] != "limit Too much." {
		t.Errorf("ada was told %q", got)
	}
	if got := answers(ben); len(got) > 0 {
		t.Errorf("ben was told %q", got)
	}

	// A decision about the account leaves the post hidden, so it does not answer the appeal; a decision
	// that was undone meanwhile is not said to stand.
	b.must(b.Moderation.HidePost(b.Ctx, mia.Actor(), post, "Be kind.", ""))
	appeal(target)
	decide(target, "restore", "") // changes nothing
	appeal(target)
	decide(target, "limit", "Again.")
	appeal(target)
	b.must(b.Moderation.UnhidePost(b.Ctx, mia.Actor(), post, ""))
	decide(target, "dismiss", "")
	want := []string{"unhide ", "dismiss Again.", "limit Again.", "dismiss ", "hide Be kind."}
	if got := answers(ada); !slices.Equal(got[:len(got)-6], want) {
		t.Errorf("ada was told %q, want %q and the earlier ones", got, want)
	}
	b.must(b.Moderation.SetStanding(b.Ctx, mia.Actor(), ada.ID, moderation.StandingChange{Standing: social.Good}))

	// A post that its author deletes meanwhile: the case can be closed, and nobody is told.
	b.must(b.Moderation.HidePost(b.Ctx, mia.Actor(), post, "Be kind.", ""))
	appeal(target)
	b.must(b.Posts.Delete(b.Ctx, ada, post))
	decide(target, "unhide", "")
	if got := answers(ada); got[0] != "hide Be kind." {
		t.Errorf("ada was told %q", got)
	}
}

// TestHidePost checks who may hide a post and who sees a hidden post.
func TestHidePost(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, moderator, admin, carl := b.NewUser("ada"), b.NewUser("mona"), b.NewUser("anna"), b.NewUser("carl")
		b.must(b.Moderation.SetRole(b.Ctx, social.Operator, moderator.ID, social.Moderator, ""))
		b.must(b.Moderation.SetRole(b.Ctx, social.Operator, admin.ID, social.Admin, ""))
		moderator.Role, admin.Role = social.Moderator, social.Admin
		post, ofAdmin := b.Publish(ada, "hello"), b.Publish(admin, "hello")
		sees := func(user social.User) bool {
			v, err := other.Viewers.Get(other.Ctx, user)
			b.must(err)
			_, err = other.Lists.PostPage(other.Ctx, v, post)
			if err != nil && !errors.Is(err, social.ErrNotFound) {
				t.Fatal(err)
			}
			return err == nil
		}
		for _, c := range []struct {
			actor social.Actor
			post  int64
		}{{carl.Actor(), post}, {ada.Actor(), post}, {0, post}, {moderator.Actor(), ofAdmin}} {
			if err := b.Moderation.HidePost(b.Ctx, c.actor, c.post, "", ""); !errors.Is(err, social.ErrForbidden) {
				t.Errorf("%v hides post %d: %v, want ErrForbidden", c.actor, c.post, err)
			}
		}
		if err := b.Moderation.HidePost(b.Ctx, social.Operator, post, strings.Repeat("a", 1001), ""); err == nil {
			t.Error("a message of 1,001 characters is accepted")
		}
		b.must(b.Moderation.HidePost(b.Ctx, moderator.Actor(), post, "Not here.", "spam"))
		other.Eventually("the post to be hidden", func() bool { return !sees(carl) })
		if !sees(ada) || !sees(moderator) || sees(social.User{}) {
			t.Errorf("a hidden post is visible to the author %v, to the moderator %v, to a stranger %v; want true, true, false", sees(ada), sees(moderator), sees(social.User{}))
		}
		views, err := other.Views.Get(other.Ctx, post)
		b.must(err)
		if views[0].HiddenMessage != "Not here." || views[0].Hidden.IsZero() {
			t.Errorf("HiddenMessage = %q, want Not here.", views[0].HiddenMessage)
		}
		b.must(b.Moderation.UnhidePost(b.Ctx, moderator.Actor(), post, ""))
		other.Eventually("the post to be visible again", func() bool { return sees(carl) })
		b.must(b.Moderation.RemovePost(b.Ctx, moderator.Actor(), post, ""))
		if err := b.Moderation.HidePost(b.Ctx, moderator.Actor(), post, "", ""); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("HidePost of a deleted post: %v, want ErrNotFound", err)
		}
	})
}

// A late task that applies a standing leaves no entries of a deleted account behind.
func TestStandingOfADeletedUser(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t))
	b.Redis("ZADD", "standings", "4000003", "770")
	b.Redis("ZADD", "standing_ends", "4000000000", "770")
	if err := b.Moderation.CopyStanding(b.Ctx, 770); err != nil {
		t.Fatal(err)
	}
	if got := b.Redis("EXISTS", "standings") + b.Redis("EXISTS", "standing_ends"); got != "00" {
		t.Errorf("a deleted user is in the standings: %s", b.Redis("ZRANGE", "standings", "0", "-1", "WITHSCORES"))
	}
}
