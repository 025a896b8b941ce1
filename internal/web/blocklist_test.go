package web_test

import (
	"testing"

	"retwis/internal/social"
)

// Moderators can block words and addresses, and users are told why they are refused.
func TestBlocklist(t *testing.T) {
	t.Parallel()
	s := setup(t)
	mia, ada := s.signedUpAs("mia", social.Moderator), s.signedUp("ada")
	ada.get("/moderation/blocks").want(404)
	ada.send("/moderation/blocks", "kind", "word", "value", "x").want(404)
	mia.get("/moderation").want(200, `href="/moderation/blocks"`)
	mia.get("/moderation/blocks").want(200, "Nothing is blocked.")
	mia.send("/moderation/blocks", "kind", "domain", "value", "nowhere").want(422, "Use a domain such as example.com.", `value="nowhere"`, `value="domain" selected`)
	mia.send("/moderation/blocks", "kind", "word", "value", "Casino", "days", "7").want(303, "/moderation/blocks?blocked")
	mia.get("/moderation/blocks?blocked").want(200, "Blocked.", "casino", "Unblock casino", "until")
	ada.send("/post", "status", "the casino").want(422, "This contains a word that isn&#39;t allowed here.", "the casino</textarea>")
	mia.send("/moderation/blocks/remove", "kind", "word", "value", "casino").want(303)
	mia.send("/moderation/blocks/remove", "kind", "word", "value", "casino").want(303) // a second time
	ada.send("/post", "status", "the casino").want(303)

	mia.send("/moderation/blocks", "kind", "address", "value", "127.0.0.0/8").want(303)
	ada.send("/post", "status", "from a blocked network").want(403, "Your network is blocked on this site")
	s.visitor().send("/register", "username", "ben", "password", password, "password2", password).want(403, "Your network is blocked on this site")
	ada.get("/home").want(200).wantNot("from a blocked network")
	mia.send("/moderation/blocks/remove", "kind", "address", "value", "127.0.0.0/8").want(303)
	mia.get("/moderation/audit").want(200, "blocked the word", "unblocked the address")
}
