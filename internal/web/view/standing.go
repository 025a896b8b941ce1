package view

import (
	"retwis/internal/i18n"
	"retwis/internal/social"
)

// SuspensionText returns what a suspended person reads when logging in.
func SuspensionText(info social.StandingInfo) i18n.Message {
	text := i18n.T("Your account is suspended.")
	if !info.Until.IsZero() {
		text = i18n.T("Your account is suspended until {time}.", info.Until)
	}
	return i18n.Sentences(text, i18n.Verbatim(info.Message))
}

// limitText returns what a limited person reads on their profile.
func limitText(info social.StandingInfo) i18n.Message {
	text := i18n.T("Your account is limited: public timelines don't show your posts. Your followers see them.")
	if !info.Until.IsZero() {
		text = i18n.T("Your account is limited until {time}: public timelines don't show your posts. Your followers see them.", info.Until)
	}
	return i18n.Sentences(text, i18n.Verbatim(info.Message))
}

// standingMark returns the standing of a user, shown next to the name, or the zero message for a
// good standing.
func standingMark(user social.User) i18n.Message {
	switch {
	case user.Pending:
		return i18n.T("pending")
	case user.Standing != social.Good:
		return user.Standing.Label()
	}
	return i18n.Message{}
}

// standingText returns a standing with its dates.
func standingText(info social.StandingInfo) i18n.Message {
	switch {
	case info.Pending():
		return i18n.T("waiting for approval since {time}", info.Since)
	case info.Standing == social.Good:
		return i18n.T("no restrictions")
	case info.Until.IsZero():
		return i18n.T("{standing} since {time}", info.Standing.Label(), info.Since)
	}
	return i18n.T("{standing} since {time} until {end}", info.Standing.Label(), info.Since, info.Until)
}
