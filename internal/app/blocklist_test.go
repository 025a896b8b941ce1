package app_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/audit"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/media"
	"retwis/internal/social/posts"
)

// block blocks a value as an operator.
func (b *bundle) block(kind blocklist.Kind, value string, duration time.Duration) {
	b.T.Helper()
	_, err := b.Blocklist.Add(b.Ctx, social.Operator, blocklist.Block{Kind: kind, Value: value}, duration)
	b.must(err)
}

// Blocked words and links are refused in posts, replies, edits, profiles and sign-ups, in any
// spelling.
func TestBlockedTexts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	first := b.Publish(ada, "casino, before it is blocked")
	b.block(blocklist.Word, "Casino", 0)
	b.block(blocklist.Word, "buy  NOW", 0)
	b.block(blocklist.Word, "赌场", 0)
	b.block(blocklist.Domain, "https://www.Spam.example/path", 0)
	b.block(blocklist.Domain, "bücher.example", 0)
	for typed, allowed := range map[string]bool{
		"the CÁSINO!": false, "ca\u200bsino": false, "#casino": false, "casinos": true, "casi no": true,
		"ca\u3164sino": false, "ca\ufe0fsino": false, "ᴄᴀꜱɪɴᴏ": false, "Buy, now": false, "buy it now": true, "去赌场吧": false,
		"see https://spam.example": false, "see http://a.b.SPAM.example:80/x?y": false, "see https://notspam.example": true,
		"see https://example.com/spam.example": true, "see https://xn--bcher-kva.example": false, "spam.example": true,
		"see https://a_b.ｓｐａｍ.example/x": false, "see https://ab--cd.ｓｐａｍ.example/x": false, "see https://-a.ｓｐａｍ.example": false,
	} {
		_, err := b.Posts.Post(b.Ctx, ada, typed)
		var invalid *social.InvalidError
		if refused := errors.As(err, &invalid) && invalid.Field == "status"; refused == allowed {
			t.Errorf("Post(%q): %v, want allowed = %v", typed, err, allowed)
		}
	}
	invalid := func(what string, err error) {
		t.Helper()
		if wrong := (*social.InvalidError)(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: %v, want an InvalidError", what, err)
		}
	}
	_, err := b.Posts.Reply(b.Ctx, ada, first, "casino")
	invalid("a reply", err)
	_, err = b.Posts.PostOnce(b.Ctx, ada, posts.Draft{Body: "look", Pictures: []media.Chosen{{Alt: "a casino"}}})
	if wrong := (*social.InvalidError)(nil); !errors.As(err, &wrong) || wrong.Field != "alt" {
		t.Errorf("the description of a picture: %v, want an InvalidError of alt", err)
	}
	err = b.Posts.Describe(b.Ctx, ada, first, posts.Description{Pictures: []media.Chosen{{Alt: "a casino"}}})
	if wrong := (*social.InvalidError)(nil); !errors.As(err, &wrong) || wrong.Field != "alt" {
		t.Errorf("the edited description of a picture: %v, want an InvalidError of alt", err)
	}
	err = b.Posts.Edit(b.Ctx, ada, first, "another casino")
	invalid("an edit", err)
	invalid("a name", b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{DisplayName: "Casino"}))
	invalid("a bio", b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{Bio: "buy now"}))
	invalid("a link", b.Profiles.Edit(b.Ctx, ada, accounts.UserProfile{Links: []string{"https://x.spam.example"}}))
	_, err = b.SignUps.SignUp(b.Ctx, accounts.SignUp{Name: "best_casino", Password: "correct horse battery"})
	invalid("a username", err)

	b.must(b.Blocklist.Remove(b.Ctx, social.Operator, blocklist.Word, "CASINO"))
	if _, err := b.Posts.Post(b.Ctx, ada, "casino again"); err != nil {
		t.Errorf("a post after the block was removed: %v", err)
	}
	b.WantHealthy()
}

// Blocked addresses can neither sign up nor post until the block ends.
func TestBlockedAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	b.block(blocklist.Address, "192.0.2.77/24", time.Hour)
	b.block(blocklist.Address, "2001:db8::1", 0)
	for from, blocked := range map[string]bool{
		"192.0.2.1": true, "::ffff:192.0.2.1": true, "192.0.3.1": false, "2001:db8::1": true, "2001:db8::2": false,
	} {
		ctx := social.WithAddress(b.Ctx, netip.MustParseAddr(from))
		if _, err := b.Posts.Post(ctx, ada, "from "+from); errors.Is(err, social.ErrForbidden) != blocked {
			t.Errorf("post from %s: %v, want blocked = %v", from, err, blocked)
		}
	}
	if err := b.signUp("ben", "192.0.2.9", ""); !errors.Is(err, social.ErrForbidden) {
		t.Errorf("sign-up from a blocked address: %v, want ErrForbidden", err)
	}
	b.Clock.Advance(time.Hour)
	if err := b.signUp("ben", "192.0.2.9", ""); err != nil {
		t.Errorf("sign-up after the block: %v", err)
	}
	if all, err := b.Blocklist.All(b.Ctx); err != nil || len(all) != 1 {
		t.Errorf("blocks = %v, %v; want 1", all, err)
	}
	b.block(blocklist.Word, "x", 0) // removes expired blocks
	if got := b.Redis("HLEN", "blocklist"); got != "2" {
		t.Errorf("%s blocks are stored, want 2", got)
	}
	b.WantHealthy()
}

// Only moderators and operators can block, invalid values are refused, and the number of blocks is
// limited.
func TestBlocklistRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	for _, c := range [][2]string{
		{"word", " ?! "},
		{"word", "one two three four five six"},
		{"domain", "example"},
		{"domain", "a b.example"},
		{"address", "0.0.0.0/0"},
		{"address", "::/3"},
		{"address", "example.com"},
		{"color", "red"},
	} {
		_, err := b.Blocklist.Add(b.Ctx, social.Operator, blocklist.Block{Kind: blocklist.Kind(c[0]), Value: c[1]}, 0)
		if invalid := (*social.InvalidError)(nil); !errors.As(err, &invalid) {
			t.Errorf("Add(%s): %v, want an InvalidError", c, err)
		}
	}
	for _, actor := range []social.Actor{0, ada.Actor(), social.Automatic} {
		if _, err := b.Blocklist.Add(b.Ctx, actor, blocklist.Block{Kind: blocklist.Word, Value: "x"}, 0); !errors.Is(err, social.ErrForbidden) {
			t.Errorf("Add by actor %v: %v, want ErrForbidden", actor, err)
		}
		if err := b.Blocklist.Remove(b.Ctx, actor, blocklist.Word, "x"); !errors.Is(err, social.ErrForbidden) {
			t.Errorf("Remove by actor %v: %v, want ErrForbidden", actor, err)
		}
	}
	if err := b.Blocklist.Remove(b.Ctx, social.Operator, blocklist.Word, "x"); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Remove of a word that is not blocked: %v, want ErrNotFound", err)
	}
	args := []string{"HSET", "blocklist"}
	for i := range blocklist.MaxOfKind {
		args = append(args, fmt.Sprintf("word w%d", i), "1700000000 0")
	}
	b.Redis(args...)
	if _, err := b.Blocklist.Add(b.Ctx, social.Operator, blocklist.Block{Kind: blocklist.Word, Value: "more"}, 0); err == nil {
		t.Errorf("more than %d words are accepted", blocklist.MaxOfKind)
	}
	b.block(blocklist.Word, "w7", time.Hour) // an existing block gets an expiry
	b.block(blocklist.Domain, "example.com", 0)
	page, err := b.Audit.Read(b.Ctx, audit.Filter{}, "", 50)
	if err != nil || len(page.Entries) != 2 {
		t.Errorf("audit log: %v, %v; want 2 entries", page.Entries, err)
	}
}
