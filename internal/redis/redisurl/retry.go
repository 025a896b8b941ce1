package redisurl

import (
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"
)

const (
	firstDelay = 2 * time.Microsecond
	maxDelay   = time.Second
)

// RetryDelay is the pause before a command is resent, for rueidis.ClientOption. Like the default
// it doubles with each attempt, up to a second.
//
// It also keeps the command from being reused. After a retry rueidis reuses its memory for the
// next command, while the writer of the broken connection may still read it.
func RetryDelay(attempts int, cmd rueidis.Completed, _ error) time.Duration {
	cmd.Pin()
	delay := min(maxDelay, firstDelay<<min(attempts-1, 20))
	return min(maxDelay, delay+rand.N(delay))
}
