package app_test

import (
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"

	"retwis/internal/app"
	"retwis/internal/social/socialtest"
)

func TestMain(m *testing.M) {
	redistest.Main(m)
}

type bundle struct{ *socialtest.Bundle }

func setup(t testing.TB) *bundle { return &bundle{socialtest.New(t)} }

func noJobs(opt *app.Options) { opt.NoJobs = true }

func on(t testing.TB, client rueidis.Client, change ...func(*app.Options)) *bundle {
	return &bundle{socialtest.On(t, client, change...)}
}
