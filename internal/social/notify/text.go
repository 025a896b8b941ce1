package notify

import "retwis/internal/i18n"

// Text describes what the actors of a group have done. latest is the name of the latest actor, as
// text or markup. Text is zero for a decision; see DecisionText.
func (g Group) Text(latest any) i18n.Message {
	n := int64(g.Count) - 1 // the number of other people
	switch {
	case g.Kind == Mention && n > 0:
		return i18n.N(n, "{name} and {n} other mentioned you", "{name} and {n} others mentioned you", latest)
	case g.Kind == Mention:
		return i18n.T("{name} mentioned you", latest)
	case g.Kind == Reply && n > 0:
		return i18n.N(n, "{name} and {n} other replied to you", "{name} and {n} others replied to you", latest)
	case g.Kind == Reply:
		return i18n.T("{name} replied to you", latest)
	case g.Kind == Like && n > 0:
		return i18n.N(n, "{name} and {n} other liked your post", "{name} and {n} others liked your post", latest)
	case g.Kind == Like:
		return i18n.T("{name} liked your post", latest)
	case g.Kind == Repost && n > 0:
		return i18n.N(n, "{name} and {n} other reposted your post", "{name} and {n} others reposted your post", latest)
	case g.Kind == Repost:
		return i18n.T("{name} reposted your post", latest)
	case g.Kind == Follow && n > 0:
		return i18n.N(n, "{name} and {n} other followed you", "{name} and {n} others followed you", latest)
	case g.Kind == Follow:
		return i18n.T("{name} followed you", latest)
	}
	return i18n.Message{}
}
