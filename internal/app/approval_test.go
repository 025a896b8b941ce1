package app_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// signUp signs a user up from an IP address.
func (b *bundle) signUp(name, from, reason string) error {
	ctx := social.WithAddress(b.Ctx, netip.MustParseAddr(from))
	_, err := b.SignUps.SignUp(ctx, accounts.SignUp{Name: name, Password: "correct horse battery", Reason: reason})
	return err
}

// waiting returns the name, network and reason of every user waiting for approval.
func (b *bundle) waiting() (names []string) {
	b.T.Helper()
	all, _, err := b.Applications.Waiting(b.Ctx, 100)
	b.must(err)
	for _, application := range all {
		names = append(names, application.User.Name+" "+application.Place+" "+application.Reason)
	}
	return names
}

// New users wait for approval: they are hidden and cannot log in. A moderator decides about one
// user or about all users of a network.
func TestApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mia, ada := b.NewUser("mia"), b.NewUser("ada")
	b.must(b.Moderation.SetRole(b.Ctx, social.Operator, mia.ID, social.Moderator, ""))
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	var invalid *social.InvalidError
	if err := b.signUp("ben", "192.0.2.1", " \n "); !errors.As(err, &invalid) || invalid.Field != "reason" {
		t.Errorf("without a reason: %v", err)
	}
	for i, name := range []string{"ben", "cem", "dan", "eve"} {
		if err := b.signUp(name, fmt.Sprintf("2001:db8:0:%d::%d", i/2, i), "I like\nlighthouses"); !errors.Is(err, social.ErrPending) {
			t.Fatalf("sign-up of %s: %v, want ErrPending", name, err)
		}
	}
	if err := b.signUp("Ben", "192.0.2.1", "me too"); !errors.Is(err, social.ErrTaken) {
		t.Errorf("the name of a pending user: %v, want ErrTaken", err)
	}
	want := "[ben 2001:db8::/64 I like lighthouses cem 2001:db8::/64 I like lighthouses dan 2001:db8:0:1::/64 I like lighthouses eve 2001:db8:0:1::/64 I like lighthouses]"
	if got := fmt.Sprint(b.waiting()); got != want {
		t.Errorf("waiting: %s, want %s", got, want)
	}
	b.WantHealthy()
	ben, err := b.Users.UserByName(b.Ctx, "ben")
	b.must(err)
	for _, viewer := range []social.User{{}, ada} {
		v := b.viewer(viewer)
		if v.Sees(ben.ID) != social.Hidden || v.Lists(ben.ID) {
			t.Errorf("%q sees a pending user", viewer.Name)
		}
	}
	var suspended *social.SuspendedError
	if _, err := b.Auth.Login(b.Ctx, "ben", "correct horse battery"); !errors.As(err, &suspended) || !suspended.Pending() {
		t.Errorf("log-in: %v", err)
	}

	if err := b.Applications.Decide(b.Ctx, ada.Actor(), ben.ID, moderation.Approve); !errors.Is(err, social.ErrForbidden) {
		t.Errorf("a decision of a member: %v, want ErrForbidden", err)
	}
	b.must(b.Applications.Decide(b.Ctx, mia.Actor(), ben.ID, moderation.Approve))
	if err := b.Applications.Decide(b.Ctx, mia.Actor(), ben.ID, moderation.Refuse); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("a second decision: %v, want ErrNotFound", err)
	}
	if _, err := b.Auth.Login(b.Ctx, "ben", "correct horse battery"); err != nil {
		t.Errorf("log-in after the approval: %v", err)
	}
	if !b.viewer(ada).Lists(ben.ID) {
		t.Error("an approved user is hidden")
	}
	var refused []int64
	for _, name := range []string{"dan", "eve"} {
		user, err := b.Users.UserByName(b.Ctx, name)
		b.must(err)
		refused = append(refused, user.ID)
	}
	n, err := b.Applications.DecideAll(b.Ctx, mia.Actor(), "2001:db8:0:1::/64", moderation.Refuse)
	if err != nil || n != 2 {
		t.Errorf("DecideAll = %d, %v; want 2", n, err)
	}
	if got := fmt.Sprint(b.waiting()); got != "[cem 2001:db8::/64 I like lighthouses]" {
		t.Errorf("waiting after decisions: %s, want cem only", got)
	}
	if _, err := b.Auth.Login(b.Ctx, "dan", "correct horse battery"); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("log-in after the refusal: %v, want ErrBadLogin", err)
	}
	cem, err := b.Users.UserByName(b.Ctx, "cem")
	b.must(err)
	b.must(b.Moderation.SetStanding(b.Ctx, mia.Actor(), cem.ID, moderation.StandingChange{Standing: social.Limited}))
	if len(b.waiting()) != 0 {
		t.Error("the user is still waiting after a change of standing")
	}
	b.Clock.Advance(time.Minute)
	for _, uid := range refused {
		b.must(b.Leaving.FinishRemoval(b.Ctx, uid))
	}
	b.WantHealthy()
}

// Users with an invitation need no approval.
func TestApprovalAndInvitation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	token, _, err := b.SignUps.CreateInvite(b.Ctx, accounts.NewInvite{Uses: 1, For: time.Hour})
	b.must(err)
	session, err := b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: "ada", Password: "correct horse battery", Invite: token})
	if err != nil || session.User.Name != "ada" {
		t.Errorf("SignUp with an invitation = %v, %v; want ada", session.User, err)
	}
	b.WantHealthy()
}

// Twenty sign-ups within ten minutes turn approval on; nineteen do not. An operator turns it off.
func TestCrowd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sign := func(from, to int, every time.Duration) {
		t.Helper()
		for i := from; i < to; i++ {
			b.Clock.Advance(every)
			if err := b.signUp(fmt.Sprintf("guest%d", i), "192.0.2.1", ""); err != nil {
				t.Fatalf("guest%d: %v", i, err)
			}
		}
	}
	mode := func() accounts.SignUpMode {
		t.Helper()
		mode, err := b.SignUps.SignUpMode(b.Ctx)
		b.must(err)
		return mode
	}
	sign(0, 25, 32*time.Second) // the last twenty take more than ten minutes
	if got := mode(); got != accounts.SignUpOpen {
		t.Fatalf("after 25 slow sign-ups: %s, want open", got)
	}
	b.Clock.Advance(time.Hour)
	sign(25, 44, time.Second)
	if got := mode(); got != accounts.SignUpOpen {
		t.Fatalf("after nineteen sign-ups: %s, want open", got)
	}
	sign(44, 45, time.Second)
	if got := mode(); got != accounts.SignUpApproval {
		t.Fatalf("after twenty sign-ups: %s, want approval", got)
	}
	if err := b.signUp("late", "192.0.2.1", "please"); !errors.Is(err, social.ErrPending) {
		t.Errorf("the next sign-up: %v, want ErrPending", err)
	}
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpOpen))
	sign(45, 50, time.Second)
	if got := mode(); got != accounts.SignUpOpen {
		t.Errorf("after approval was turned off: %s, want open", got)
	}
	b.WantHealthy()
}

// Setting the current mode again adds nothing to the audit log.
func TestSameSignUpMode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.SignUps.SetSignUpMode(b.Ctx, social.Operator, "perhaps"); err == nil {
		t.Error("an unknown mode is accepted")
	}
	for range 2 { // the second time nothing changes
		b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpClosed))
	}
	page, err := b.Audit.Read(b.Ctx, audit.Filter{}, "", 10)
	if err != nil || len(page.Entries) != 1 {
		t.Errorf("%d audit entries, %v; want 1", len(page.Entries), err)
	}
}

// A suspension without a message also removes an account from the pending ones, so that nobody
// approves it by mistake.
func TestPendingIsSuspended(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	if err := b.signUp("ben", "192.0.2.1", "please"); !errors.Is(err, social.ErrPending) {
		t.Fatal(err)
	}
	ben, err := b.Users.UserByName(b.Ctx, "ben")
	b.must(err)
	b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, ben.ID, moderation.StandingChange{Standing: social.Suspended}))
	if got := b.waiting(); len(got) > 0 {
		t.Errorf("still waiting: %v", got)
	}
	if page, err := b.Audit.Read(b.Ctx, audit.Filter{}, "", 1); err != nil || len(page.Entries) != 1 || page.Entries[0].Action != "suspend" {
		t.Errorf("audit log: %+v, %v; want a suspension", page.Entries, err)
	}
	b.WantHealthy()
}

// If a process is killed during a sign-up and the form is sent again, one account is pending.
// Decisions about accounts that the process left behind do not affect the pending account.
func TestApprovalKilled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := on(t, client)
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	for cut, done := int64(0), false; !done; cut++ {
		name := fmt.Sprintf("ben%d", cut)
		dying := on(t, socialtest.Dying(client, cut), func(opt *app.Options) { opt.NoJobs = true })
		done = errors.Is(dying.signUp(name, "192.0.2.1", "please"), social.ErrPending)
		if err := b.signUp(name, "192.0.2.1", "please"); !errors.Is(err, social.ErrPending) && !errors.Is(err, social.ErrTaken) {
			t.Fatalf("%s again: %v", name, err)
		}
		waiting, _, err := b.Applications.Waiting(b.Ctx, 100)
		if err != nil || len(waiting) != 1 || waiting[0].User.Name != name {
			t.Fatalf("killed after %d commands: %+v wait, %v", cut, waiting, err)
		}
		ben := waiting[0].User
		for _, text := range strings.Fields(b.Redis("ZRANGE", storage.SignUps, "0", "-1")) {
			other, _ := storage.ParseID(text)
			if other == ben.ID {
				continue
			}
			for _, decision := range []moderation.Approval{moderation.Refuse, moderation.Approve} {
				if err := b.Applications.Decide(b.Ctx, social.Operator, other, decision); !errors.Is(err, social.ErrNotFound) {
					t.Errorf("killed after %d commands: %s of leftover %d: %v, want ErrNotFound", cut, decision, other, err)
				}
			}
		}
		b.must(b.Applications.Decide(b.Ctx, social.Operator, ben.ID, moderation.Approve))
		if _, err := b.Auth.Login(b.Ctx, name, "correct horse battery"); err != nil || b.Redis("ZSCORE", storage.UsersByTime, name) == "" {
			t.Errorf("killed after %d commands: log-in of %s: %v", cut, name, err)
		}
	}
}

// cancelling is a client that cancels a context after a number of calls.
type cancelling struct {
	rueidis.Client
	left   atomic.Int64
	cancel context.CancelFunc
}

func (c *cancelling) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return c.DoMulti(ctx, cmd)[0]
}

func (c *cancelling) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	if c.left.Add(-1) == -1 {
		c.cancel()
	}
	return c.Client.DoMulti(ctx, cmds...)
}

// If the request of a sign-up is canceled, either the account is pending or moderators see
// nothing.
func TestApprovalCancelled(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := on(t, client)
	b.must(b.SignUps.SetSignUpMode(b.Ctx, social.Operator, accounts.SignUpApproval))
	for after := int64(0); ; after++ {
		hasty := &cancelling{Client: client}
		other := on(t, hasty, func(opt *app.Options) { opt.NoJobs = true })
		other.Ctx, hasty.cancel = context.WithCancel(b.Ctx)
		hasty.left.Store(after)
		err := other.signUp(fmt.Sprintf("ben%d", after), "192.0.2.1", "please")
		hasty.cancel()
		waiting, _, failed := b.Applications.Waiting(b.Ctx, 1000)
		b.must(failed)
		if n := b.Redis("ZCARD", storage.SignUps); n != fmt.Sprint(len(waiting)) {
			t.Fatalf("canceled after %d calls: %d users are waiting, but %s has %s", after, len(waiting), storage.SignUps, n)
		}
		if errors.Is(err, social.ErrPending) {
			return
		}
	}
}
