package social

import (
	"time"
)

// User is an account.
type User struct {
	ID     int64
	Name   string    // as typed when it was registered
	Joined time.Time // to the second; zero where it is not known

	DisplayName string // what is shown in place of the name; empty for none
	Avatar      string // the address of the picture below /media/; empty for none: see Picture.Avatar

	Role     Role
	Standing Standing
	Pending  bool // suspended until a moderator approves the account

	Unlisted bool // not among those who joined lately; see SignUp
	// Unsearchable: others do not find the user's posts by search.
	Unsearchable bool
}

// MaxName is the length of a new username, in characters.
const MaxName = 20

// CheckName returns *InvalidError for a username that cannot be registered.
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
