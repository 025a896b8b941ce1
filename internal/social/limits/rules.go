package limits

import (
	"fmt"
	"slices"
	"strings"

	"retwis/ratelimit"
)

// Event is an action of people that is limited.
type Event string

// The events.
const (
	Login        Event = "login"         // a password is tried; see AllowLogin
	SecondFactor Event = "second-factor" // a code is tried after the right password
	Passkey      Event = "passkey"       // a passkey log-in is started or tried
	SignUp       Event = "sign-up"
	SignUps      Event = "sign-ups" // all sign-ups together: see Crowds
	Newcomer     Event = "newcomer" // a sign-up that is listed under "New members"
	Post         Event = "post"
	Reply        Event = "reply"
	Repost       Event = "repost"
	Edit         Event = "edit"
	Follow       Event = "follow"  // a follow of a person or a tag, a mute or a block, or ending one; a dismissed suggestion
	Import       Event = "import"  // an entry of an import is processed: a follow, a mute, a block, a bookmark
	Like         Event = "like"    // a like, a bookmark or a pin, or ending one
	Profile      Event = "profile" // a change of the profile or of settings
	Report       Event = "report"
	Export       Event = "export"
	Password     Event = "password" // a change of the password, or of other credentials of the account
	Reset        Event = "reset"    // a reset link is requested or tried, or an invitation is tried
	Invite       Event = "invite"   // an invitation is created
	Moderate     Event = "moderate" // a moderator's decision, or revoking an invitation
	Delete       Event = "delete"   // of a post
	Search       Event = "search"
	Media        Event = "media" // a picture is uploaded
	Mail         Event = "mail"  // an email is sent; see TakeMail
	AskedMail    Event = "asked-mail"
)

// subject is what a rule counts by.
type subject int

const (
	byAccount subject = iota
	byAddress
	byBoth // by account and address together
	bySite // everybody together
	byMail // by the recipient's email address
)

func (s subject) String() string {
	return [...]string{"account", "address", "account and address together", "the site", "e-mail address"}[s]
}

// rule limits an event. An event is allowed if all limits of all its rules allow it.
type rule struct {
	name   string
	event  Event
	by     subject
	limits string // the default
}

// rules are the default limits. Most have a short limit, which stops a flood, and a daily one,
// which limits what an account can store. Limits by address are ten times as large, because a
// household, a school or a mobile network shares an address.
//
// The limits on log-ins are stricter over longer periods: five attempts in a minute, twenty in an
// hour, fifty in a day. They count by account and address together, so that a stranger cannot lock
// the owner out. A stranger with many addresses is stopped by login-account, which does not count
// for an address from which the owner has logged in before.
var rules = []rule{
	{"login", Login, byBoth, "5/1m,20/1h,50/1d"},
	{"login-address", Login, byAddress, "30/10m,300/1d"},
	{"login-account", Login, byAccount, "100/1h"},
	{"second-factor", SecondFactor, byBoth, "5/1m,20/1h,50/1d"},
	{"passkey", Passkey, byAddress, "60/10m,600/1d"},
	{"sign-up", SignUp, byAddress, "5/1h,20/1d"},
	{"sign-ups", SignUps, bySite, "20/10m"},
	{"newcomer", Newcomer, byAddress, "3/1d"},
	{"post", Post, byAccount, "30/10m,300/1d"},
	{"post-address", Post, byAddress, "300/10m,3000/1d"},
	{"reply", Reply, byAccount, "60/10m,600/1d"},
	{"reply-address", Reply, byAddress, "600/10m,6000/1d"},
	{"repost", Repost, byAccount, "30/10m,300/1d"},
	{"repost-address", Repost, byAddress, "300/10m,3000/1d"},
	{"edit", Edit, byAccount, "30/10m,300/1d"},
	{"edit-address", Edit, byAddress, "300/10m,3000/1d"},
	{"follow", Follow, byAccount, "60/10m,600/1d"},
	{"follow-address", Follow, byAddress, "600/10m,6000/1d"},
	{"import", Import, byAccount, "60/10m,600/1d"},
	{"like", Like, byAccount, "120/10m,2000/1d"},
	{"like-address", Like, byAddress, "1200/10m,20000/1d"},
	{"profile", Profile, byAccount, "30/10m,200/1d"},
	{"report", Report, byAccount, "10/1h,30/1d"},
	{"report-address", Report, byAddress, "30/1h,100/1d"},
	{"export", Export, byAccount, "3/1h,10/1d"},
	{"password", Password, byAccount, "5/1m,20/1h,50/1d"},
	{"reset", Reset, byAddress, "10/10m,100/1d"},
	{"invite", Invite, byAccount, "20/1h,50/1d"},
	{"moderate", Moderate, byAccount, "300/10m,3000/1d"},
	{"delete", Delete, byAccount, "120/10m,2000/1d"},
	{"search", Search, byAccount, "60/10m"},
	{"search-address", Search, byAddress, "300/10m"},
	{"media", Media, byAccount, "30/10m,200/1d"},
	{"media-address", Media, byAddress, "300/10m,2000/1d"},
	{"mail", Mail, byMail, "5/1d"},
	{"asked-mail", AskedMail, byMail, "3/1d"}, // the other emails are left for warnings
}

// Rule is a limit in readable form.
type Rule struct {
	Name   string // such as "post-address"
	By     string // "account", "address", "account and address together", "e-mail address" or "the site"
	Limits string // in the syntax of Config, or "off"
}

// Config overrides the default limits, by rule name. A rule without limits is off. The zero value
// changes nothing; see Off.
type Config map[string][]ratelimit.Limit

// Off is a Config without any limit.
func Off() Config {
	c := make(Config, len(rules))
	for _, r := range rules {
		c[r.name] = nil
	}
	return c
}

// maxWindows is how many limits a rule may have. A decision checks at most 16 limits in total.
const maxWindows = 5

// Set parses a change such as "post=30/10m,300/1d", "follow=60/10m:20" (at most 20 at once),
// "sign-up=off", or "off" for all rules.
func (c Config) Set(text string) error {
	if text == "off" {
		for name := range Off() {
			c[name] = nil
		}
		return nil
	}
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("limits: %q is not a limit setting: write it like post=30/10m, post=30/10m,300/1d or post=off", text)
	}
	if !slices.ContainsFunc(rules, func(r rule) bool { return r.name == name }) {
		return fmt.Errorf("limits: unknown limit %q: the limits are %s", name, names())
	}
	windows, err := parseWindows(value)
	if err != nil {
		return fmt.Errorf("limits: %s: %w", name, err)
	}
	c[name] = windows
	return nil
}

func parseWindows(value string) ([]ratelimit.Limit, error) {
	if value == "off" {
		return nil, nil
	}
	var windows []ratelimit.Limit
	for window := range strings.SplitSeq(value, ",") {
		limit, err := ratelimit.ParseLimit(window)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(windows, func(other ratelimit.Limit) bool { return other.Per == limit.Per }) {
			return nil, fmt.Errorf("two limits for the same period, %v", limit.Per)
		}
		windows = append(windows, limit)
	}
	if len(windows) > maxWindows {
		return nil, fmt.Errorf("%d limits: at most %d are allowed", len(windows), maxWindows)
	}
	return windows, nil
}

func names() string {
	var all []string
	for _, r := range rules {
		all = append(all, r.name)
	}
	return strings.Join(all, ", ")
}

// Rules returns the limits in force with this configuration.
func (c Config) Rules() []Rule {
	shown := make([]Rule, len(rules))
	for i, r := range rules {
		shown[i] = Rule{Name: r.name, By: r.by.String(), Limits: r.limits}
		if windows, changed := c[r.name]; changed {
			var texts []string
			for _, w := range windows {
				texts = append(texts, windowText(w))
			}
			if shown[i].Limits = strings.Join(texts, ","); len(windows) == 0 {
				shown[i].Limits = "off"
			}
		}
	}
	return shown
}
