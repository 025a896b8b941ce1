package ratelimit_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/ratelimit"
)

// This example allows three logins at once, and then a login every twenty seconds.
func Example() {
	urls, stop := redistest.Example(1)
	defer stop()
	client, err := rueidis.NewClient(rueidis.MustParseURL(urls[0]))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	limiter, err := ratelimit.New(client, ratelimit.Options{})
	if err != nil {
		log.Fatal(err)
	}
	logins := ratelimit.Limit{Rate: 3, Per: time.Minute}
	for range 4 {
		result, err := limiter.Take(ctx, "login:ada", logins)
		if err != nil {
			log.Fatal(err)
		}
		if !result.Allowed {
			fmt.Println("try again in", result.RetryAfter.Round(time.Second))
			break
		}
		fmt.Println("allowed,", result.Remaining, "left")
	}
	// Output:
	// allowed, 2 left
	// allowed, 1 left
	// allowed, 0 left
	// try again in 20s
}
