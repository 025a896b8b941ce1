package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/audit"
)

// audited returns the number of decisions in the audit log.
func (s *site) audited() int64 {
	s.t.Helper()
	n, err := s.client.Do(s.t.Context(), s.client.B().Xlen().Key("audit").Build()).AsInt64()
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Actions that change nothing are not added to the audit log, whatever their number and texts.
// Otherwise one moderator could push out the decisions of others.
func TestAuditHasDecisionsOnly(t *testing.T) {
	t.Parallel()
	s := setup(t)
	mona, ada := s.signedUp("mona"), s.signedUp("ada")
	s.role("mona", social.Moderator)
	_, id := ada.published("ada", "the text")
	person, post := audit.UserTarget(s.user("ada").ID), "post:"+id
	start := s.audited()
	adds := func(what string, n int64) {
		t.Helper()
		if got := s.audited() - start; got != n {
			t.Errorf("%s: %d new entries in the audit log, want %d", what, got, n)
		}
		start = s.audited()
	}
	mona.send("/settings/invites/end", "invitation", strings.Repeat("a", 50_000)).want(303)
	adds("end a missing invitation", 0)
	mona.send("/settings/invites", "uses", "0", "hours", "24").want(422)
	mona.send("/settings/invites", "uses", "1", "hours", "24", "note", strings.Repeat("a", 900)).want(422)
	adds("an invitation that is refused", 0)
	mona.send("/settings/invites", "uses", "1", "hours", "24").want(200)
	all, err := s.social.SignUps.Invites(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	mona.send("/settings/invites/end", "invitation", all[0].ID).want(303)
	adds("an invitation and its end", 2)
	for range 3 {
		mona.send("/moderation/decide", "of", post, "action", "hide", "message", "No.").want(303)
	}
	adds("hide a post three times", 1)
	for range 3 {
		mona.send("/moderation/decide", "of", post, "action", "unhide").want(303)
	}
	adds("unhide a post three times", 1)
	mona.send("/moderation/decide", "of", person, "action", "restore").want(303)
	adds("restore a person in good standing", 0)
	for range 3 {
		mona.send("/moderation/decide", "of", person, "action", "limit", "message", "No.").want(303)
	}
	adds("limit a person three times", 1)
	mona.send("/moderation/decide", "of", person, "action", "limit", "message", "Another reason.").want(303)
	adds("another message", 1)

	// A decision about a report counts, even if it changes nothing else.
	ben := s.signedUp("ben")
	ben.send("/u/ada/report", "kind", "spam").want(200)
	mona.send("/moderation/take", "of", person).want(303)
	mona.send("/moderation/decide", "of", person, "report", "1", "action", "limit", "message", "Another reason.").want(303)
	adds("a report about a limited person", 1)
}

// Every moderator action is limited, including those that have no effect.
func TestModeratorsAreLimited(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/moderation/decide", "/moderation/take", "/moderation/return", "/settings/invites/end"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := limitedSite(t, "moderate=3/1h")
			mona, ada := s.signedUp("mona"), s.signedUp("ada")
			s.role("mona", social.Moderator)
			target := audit.UserTarget(s.user("ada").ID)
			for i := range 4 {
				status := 0
				if path == "/moderation/take" {
					ada.send("/u/mona/report", "kind", "spam")
					status = mona.send(path).status
				} else {
					status = mona.send(path, "of", target, "action", []string{"limit", "restore"}[i%2]).status
				}
				if refused := status == http.StatusTooManyRequests; refused != (i == 3) {
					t.Errorf("%s, request %s: status %d", path, fmt.Sprint(i+1), status)
				}
			}
		})
	}
}

// Deletions are limited, so that an attacker with an open session cannot delete all posts at once.
func TestDeleteIsLimited(t *testing.T) {
	t.Parallel()
	s := limitedSite(t, "delete=1/1h")
	ada := s.signedUp("ada")
	first, _ := ada.published("ada", "one")
	second, _ := ada.published("ada", "two")
	ada.send(first + "/delete").want(303)
	ada.send(second + "/delete").want(429)
}
