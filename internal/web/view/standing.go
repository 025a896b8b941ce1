package view

import (
	"retwis/internal/social"
)

// SuspensionText is what a suspended person reads at the log-in.
func SuspensionText(info social.StandingInfo) string {
	return withMessage("Your account is suspended"+untilText(info)+".", info.Message)
}

// limitText is what a limited person reads on their profile.
func limitText(info social.StandingInfo) string {
	return withMessage("Your account is limited"+untilText(info)+": public lists don't show your posts. Your followers see them.", info.Message)
}

// hiddenText is what the author of a hidden post, and moderators, read above it.
func hiddenText(p social.Post, own bool) string {
	if !own {
		return "This post is hidden. Only its author and moderators see it."
	}
	return withMessage("Hidden by a moderator. Only you see it.", p.HiddenMessage)
}

// standingMark names the standing of a user beside the name; empty for a good one.
func standingMark(user social.User) string {
	switch {
	case user.Pending:
		return "pending"
	case user.Standing != social.Good:
		return user.Standing.String()
	}
	return ""
}

// standingText is a standing with its dates.
func standingText(info social.StandingInfo) string {
	if info.Pending() {
		return "waiting for an approval since " + HumanTime(info.Since)
	}
	text := "no restrictions"
	if info.Standing != social.Good {
		text = info.Standing.String() + " since " + HumanTime(info.Since)
	}
	return text + untilText(info)
}

// untilText is when a standing ends; empty for one without end.
func untilText(info social.StandingInfo) string {
	if info.Until.IsZero() {
		return ""
	}
	return " until " + HumanTime(info.Until)
}

// withMessage adds what a moderator has written to the person.
func withMessage(text, message string) string {
	if message == "" {
		return text
	}
	return text + " " + message
}
