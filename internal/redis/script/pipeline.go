package script

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/rueidis"
)

// Sender sends pipelines that contain scripts. It is safe for concurrent use.
type Sender struct {
	client  rueidis.Client
	digests sync.Map // digests by source
}

// NewSender returns a sender.
func NewSender(client rueidis.Client) *Sender { return &Sender{client: client} }

// DoMulti sends commands in one pipeline. It replaces scripts, as made by Command, by their digests.
// If a server does not know a script, or a Cluster moves the keys of a command, all commands are
// resent, in order and with the full scripts. So each command must be repeatable.
func (s *Sender) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	full, short := make(rueidis.Commands, len(commands)), make(rueidis.Commands, len(commands))
	for i, command := range commands {
		full[i] = command.Pin() // the command may be resent
		short[i] = s.byDigest(full[i])
	}
	results := s.client.DoMulti(ctx, short...)
	if slices.ContainsFunc(results, unknown) {
		results = s.client.DoMulti(ctx, full...)
	}
	for w := newWait(ctx); slices.ContainsFunc(results, moving) && w.next(); {
		results = s.client.DoMulti(ctx, full...)
	}
	return results
}

// byDigest returns the command that runs a script by its digest; it returns other commands
// unchanged.
func (s *Sender) byDigest(command rueidis.Completed) rueidis.Completed {
	words := command.Commands() // EVAL, source, number of keys, keys and arguments
	if len(words) < 3 || words[0] != "EVAL" {
		return command
	}
	n, _ := strconv.Atoi(words[2])
	short := s.client.B().Arbitrary("EVALSHA", s.digest(words[1]), words[2]).Keys(words[3 : 3+n]...).Args(words[3+n:]...).Build()
	if command.IsRetryable() {
		short = short.ToRetryable()
	}
	return short
}

// digest returns the digest of a script, which is computed once.
func (s *Sender) digest(source string) string {
	if sha, ok := s.digests.Load(source); ok {
		return sha.(string)
	}
	sha := New(source).sha
	s.digests.Store(source, sha)
	return sha
}
