package view

import (
	"github.com/a-h/templ"

	"retwis/internal/i18n"
	"retwis/internal/social/accounts"
)

// SettingsPath is the address of the list of the settings.
const SettingsPath = "/settings"

// settingsSection lists the settings pages. A page added here appears in the list everywhere.
var settingsSection = section{title: i18n.T("Settings"), path: SettingsPath, groups: []sectionGroup{
	{i18n.T("Account"), []sectionEntry{
		{path: "/settings/profile", label: i18n.T("Profile"), icon: "user"},
		{path: EmailPath, label: i18n.T("Email"), icon: "mail", shown: func(f Frame) bool { return f.Site.Mail }},
		{path: SecurityPath, label: i18n.T("Security"), icon: "lock"},
	}},
	{i18n.T("Reading"), []sectionEntry{
		{path: "/settings/notifications", label: i18n.T("Notifications"), icon: "bell"},
		{path: "/settings/muted", label: i18n.T("Muted"), icon: "mute"},
		{path: "/settings/blocked", label: i18n.T("Blocked"), icon: "block"},
		{path: "/settings/appearance", label: i18n.T("Appearance"), icon: "look"},
	}},
	{i18n.T("Data"), []sectionEntry{
		{path: "/settings/import", label: i18n.T("Import"), icon: "import"},
		{path: "/settings/data", label: i18n.T("Export"), icon: "export"},
		{path: "/settings/delete", label: i18n.T("Delete account"), icon: "delete"},
	}},
	{i18n.T("People"), []sectionEntry{
		{path: "/settings/invites", label: i18n.T("Invites"), icon: "invite", shown: Frame.MayInvite},
	}},
}}

// ProfileForm is the form for a profile, filled in with rejected input.
type ProfileForm struct {
	Profile accounts.UserProfile
	Field   string
	Problem string
	Saved   bool

	Pictures bool // the form accepts pictures
}

func (f ProfileForm) link(i int) string {
	if i < len(f.Profile.Links) {
		return f.Profile.Links[i]
	}
	return ""
}

// portrait returns the field for the avatar or the header.
func (f ProfileForm) portrait(kind, label, hint string) input {
	return input{
		id: kind, kind: "file", label: label, hint: hint, problem: when(f.Field == kind, f.Problem), stay: true,
		more: templ.Attributes{"accept": "image/jpeg,image/png,image/gif,image/webp"},
	}
}

// invalid returns the attributes of a rejected field.
func (f ProfileForm) invalid(field string) templ.Attributes {
	if f.Field != field {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true"}
}
