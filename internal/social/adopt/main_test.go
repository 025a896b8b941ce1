package adopt_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"

	"retwis/internal/app"
	"retwis/internal/social/adopt"
	"retwis/internal/social/socialtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(adopterEnv) != "" {
		adoptAndPrint()
	}
	redistest.Main(m)
}

type bundle struct{ *socialtest.Bundle }

func setup(t testing.TB) *bundle { return &bundle{socialtest.New(t)} }

func on(t testing.TB, client rueidis.Client, change ...func(*app.Options)) *bundle {
	return &bundle{socialtest.On(t, client, change...)}
}

// adopterEnv makes this test binary adopt the database at its URL and print a line
// for each step: a process to kill.
const adopterEnv = "SOCIAL_TEST_ADOPTER"

func adoptAndPrint() {
	opt := rueidis.MustParseURL(os.Getenv(adopterEnv))
	opt.ForceSingleClient, opt.PipelineMultiplex = true, -1
	client, err := rueidis.NewClient(opt)
	if err != nil {
		panic(err)
	}
	if err := adopt.New(client, socialtest.Quiet()).Adopt(context.Background(), func(done, _ int64) { fmt.Println(done) }); err != nil {
		panic(err)
	}
	fmt.Println("done")
	os.Exit(0)
}
