package social

import (
	"time"
)

// User is an account.
type User struct {
	ID     int64
	Name   string    // with the case typed at registration
	Joined time.Time // to the second; zero if unknown

	DisplayName string // shown instead of the name; may be empty
	Avatar      string // the path of the picture below /media/, or empty; see Picture.Avatar

	Role     Role
	Standing Standing
	Pending  bool // suspended until a moderator approves the account

	Unlisted bool // omitted from the list of the latest users; see SignUp
	// Unsearchable excludes the user's posts from other people's searches.
	Unsearchable bool
}

// MaxName is the maximum length of a new username, in characters.
const MaxName = 20

// CheckName returns *InvalidError if a username cannot be registered.
func CheckName(name string) error {
	ok := len(name) >= 1 && len(name) <= MaxName
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if !ok {
		return Invalid("username", "Use 1 to {n} letters, digits or underscores.", MaxName)
	}
	return nil
}
