package seed

import (
	"fmt"
	"time"
)

// Options set the size of a network.
type Options struct {
	Users, Follows, Posts int
	Seed                  uint64
	// FirstName is the name of the first user, for logging in. Default: a generated name.
	FirstName string
	// Password is the password of all users. Default: a random password; see Result.
	Password string
	// Until is the end of the month. Default: the beginning of today, UTC.
	Until time.Time
	// Progress, if set, is called with the number of users, follows and posts written so far, and
	// their total.
	Progress func(done, total int)
}

// Result is the size of the network, and a name and password for logging in.
type Result struct {
	Users    int    `json:"users"`
	Follows  int    `json:"follows"`
	Posts    int    `json:"posts"`
	Name     string `json:"name"`
	Password string `json:"password"`
}

// month is the period over which all events are spread.
const month = 30 * 24 * time.Hour

// step is the number of items that are generated and written at a time, which limits memory.
const step = 5000

// maxUsers is the maximum of Options.Users.
const maxUsers = 10_000_000

func (o *Options) validate() error {
	switch {
	case o.Users < 1 || o.Users > maxUsers:
		return fmt.Errorf("seed: users: %d is not between 1 and %d", o.Users, maxUsers)
	case o.Follows < 0 || o.Follows > o.Users*(o.Users-1):
		return fmt.Errorf("seed: follows: %d is not between 0 and %d, if every user follows every other user", o.Follows, o.Users*(o.Users-1))
	case o.Posts < 0:
		return fmt.Errorf("seed: posts: %d is negative", o.Posts)
	}
	return nil
}
