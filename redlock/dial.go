package redlock

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/rueidis"
)

// answerTime is how long a connection may be silent before it is given up. What
// a server then still does is undone over the next one.
const answerTime = 2 * time.Second

// dialed returns a server that is connected to when it is first needed.
func dialed(text string) (*redisServer, error) {
	option, err := rueidis.ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL like redis://user:password@host:6379 or unix:///path: %w", redact(text), clean(err))
	}
	if len(option.InitAddress) != 1 || option.Sentinel.MasterSet != "" {
		return nil, fmt.Errorf("%s does not name exactly one server", redact(text))
	}
	option.ClientName = "redlock"
	option.ForceSingleClient = true
	option.DisableCache = true
	option.DisableRetry = true
	option.PipelineMultiplex = -1 // one connection: what is asked in order is done in order
	option.Dialer.Timeout = time.Second
	option.ConnWriteTimeout = answerTime
	return &redisServer{
		label: redact(text),
		dial:  func() (rueidis.Client, error) { return rueidis.NewClient(option) },
	}, nil
}

// redact returns a URL without its user and password.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "this"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// clean takes the URL out of an error of url.Parse: it may hold a password.
func clean(err error) error {
	if parse, ok := err.(*url.Error); ok {
		return parse.Err
	}
	return err
}

// sha1Hex is how servers name a script.
func sha1Hex(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
