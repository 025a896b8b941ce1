package posts_test

import (
	"os"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"

	"retwis/internal/app"
	"retwis/internal/social/socialtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		workForever()
	}
	if os.Getenv(posterEnv) != "" {
		postForever()
	}
	if os.Getenv(killedEnv) != "" {
		postAndDie()
	}
	redistest.Main(m)
}

type bundle struct{ *socialtest.Bundle }

func on(t testing.TB, client rueidis.Client, change ...func(*app.Options)) *bundle {
	return &bundle{socialtest.On(t, client, change...)}
}
