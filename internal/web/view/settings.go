package view

import (
	"github.com/a-h/templ"

	"retwis/internal/social/accounts"
)

// settingsTabs are the pages of the settings.
var settingsTabs = []struct{ path, label string }{
	{"/settings/profile", "Profile"},
	{SecurityPath, "Security"},
	{"/settings/notifications", "Notifications"},
	{"/settings/muted", "Muted"},
	{"/settings/blocked", "Blocked"},
	{"/settings/data", "Your data"},
}

// ProfileForm is the form for a profile, filled in with rejected input.
type ProfileForm struct {
	Profile accounts.UserProfile
	Field   string
	Problem string
	Saved   bool

	Pictures bool // the form takes pictures
}

func (f ProfileForm) link(i int) string {
	if i < len(f.Profile.Links) {
		return f.Profile.Links[i]
	}
	return ""
}

// invalid are the attributes of a field that was rejected.
func (f ProfileForm) invalid(field string) templ.Attributes {
	if f.Field != field {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true"}
}
