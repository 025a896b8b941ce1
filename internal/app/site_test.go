package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/site"
)

// Settings are cleaned, logged without their text, and cached until they change.
func TestSiteSettings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	olga, mia := b.NewUser("olga"), b.NewUser("mia")
	b.must(b.Moderation.SetRole(b.Ctx, social.Operator, olga.ID, social.Admin, ""))
	b.must(b.Moderation.SetRole(b.Ctx, social.Operator, mia.ID, social.Moderator, ""))
	set := func(actor social.Actor, texts map[site.Field]string) []site.Field {
		t.Helper()
		changed, err := b.Site.Set(b.Ctx, actor, texts, nil)
		b.must(err)
		return changed
	}
	info := func() site.Info {
		t.Helper()
		info, err := b.Site.Get(b.Ctx)
		b.must(err)
		return info
	}
	if name := info().Name(); name != "Retwis" {
		t.Errorf("the name of a new site is %q, want Retwis", name)
	}
	for _, actor := range []social.Actor{0, mia.Actor(), social.Automatic} {
		if _, err := b.Site.Set(b.Ctx, actor, map[site.Field]string{site.Name: "Mine"}, nil); !errors.Is(err, social.ErrForbidden) {
			t.Errorf("Set by actor %v: %v, want ErrForbidden", actor, err)
		}
	}
	if got := set(olga.Actor(), map[site.Field]string{site.Name: " Light \n house ", site.Rules: "one\r\n\n two ", site.NoIndex: "on", site.Terms: ""}); len(got) != 3 {
		t.Errorf("changed fields = %v, want 3", got)
	}
	if got := set(olga.Actor(), map[site.Field]string{site.Name: "Light house"}); len(got) != 0 {
		t.Errorf("changed fields = %v, want none", got)
	}
	i := info()
	if i.Name() != "Light house" || strings.Join(i.Rules(), "|") != "one|two" || !i.NoIndex() || i.Of(site.Terms) != "" {
		t.Errorf("settings = %v", i)
	}
	page, err := b.Audit.Read(b.Ctx, audit.Filter{}, "", 50)
	b.must(err)
	log := fmt.Sprint(page.Entries)
	if !strings.Contains(log, "site:rules") || strings.Contains(log, "site:terms") || strings.Contains(log, "Light") || strings.Contains(log, "one") {
		t.Errorf("the audit log must name the changed fields without their text: %s", log)
	}
	b.WantHealthy()

	b.Redis("HSET", "site", "contact", "javascript:alert(1)")
	set(social.Operator, map[site.Field]string{site.Name: ""})
	if i := info(); i.Name() != "Retwis" || i.ContactLink() != "" {
		t.Errorf("link of a damaged contact: %q, name of the site: %q; want none, Retwis", i.ContactLink(), i.Name())
	}
}

// Values that pages can show or link to are accepted.
func TestSiteFields(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("é", n) }
	for _, c := range []struct {
		field       site.Field
		typed, want string
		invalid     bool
	}{
		{field: site.Name, typed: long(41), invalid: true},
		{field: site.Name, typed: long(40), want: long(40)},
		{field: site.Description, typed: long(201), invalid: true},
		{field: site.Contact, typed: "a@example.com", want: "a@example.com"},
		{field: site.Contact, typed: "https://example.com/x", want: "https://example.com/x"},
		{field: site.Contact, typed: "javascript:alert(1)", invalid: true},
		{field: site.Contact, typed: "javascript://example.com", invalid: true},
		{field: site.Contact, typed: "Ada <a@example.com>", invalid: true},
		{field: site.Contact, typed: "a@example.com?subject=x", invalid: true},
		{field: site.Rules, typed: strings.Repeat("x\n", 21), invalid: true},
		{field: site.Rules, typed: long(301), invalid: true},
		{field: site.Rules, typed: strings.Repeat(long(300)+"\r\n\r\n", 20), want: strings.TrimSuffix(strings.Repeat(long(300)+"\n", 20), "\n")},
		{field: site.About, typed: "\n# A\r\n\r\n    code\u202e\x00\n", want: "# A\n\n    code"},
		{field: site.About, typed: long(20_001), invalid: true},
		{field: site.About, typed: long(20_000), want: long(20_000)},
		{field: site.NoIndex, typed: "on", want: "1"},
		{field: site.NoIndex, typed: "perhaps", invalid: true},
		{field: "color", typed: "red", invalid: true},
	} {
		got, err := site.Clean(c.field, c.typed)
		if (err != nil) != c.invalid || got != c.want {
			t.Errorf("Clean(%s, %.30q) = %.40q, %v; want %.40q, invalid = %v", c.field, c.typed, got, err, c.want, c.invalid)
		}
		if cleaned, err := site.Clean(c.field, got); !c.invalid && (err != nil || cleaned != got) {
			t.Errorf("%s %.30q: Clean of the cleaned value = %.40q, %v", c.field, c.typed, cleaned, err)
		}
	}
}
