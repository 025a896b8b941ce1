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

// RetryDelay returns the pause before a command is resent, for rueidis.ClientOption. Like the
// default, the pause doubles with each attempt, up to a second.
//
// RetryDelay also pins the command. After a retry, rueidis would reuse the memory of the command for
// the next command, while the writer of the broken connection may still read that memory.
func RetryDelay(attempts int, cmd rueidis.Completed, _ error) time.Duration {
	cmd.Pin()
	delay := min(maxDelay, firstDelay<<min(attempts-1, 20))
	return min(maxDelay, delay+rand.N(delay))
}
