package collection_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redistest"
)

// server starts a server and returns a client, and a function that closes both.
func server() (rueidis.Client, func()) {
	urls, stop := redistest.Example(1)
	opt, err := rueidis.ParseURL(urls[0])
	must(err)
	client, err := rueidis.NewClient(opt)
	must(err)
	return client, func() { client.Close(); stop() }
}

// must panics on an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A Ring hands out items in rotation. A leased item is not handed out until the lease ends.
func ExampleRing() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	feeds, err := collection.NewRing(client, "feeds")
	must(err)
	_, err = feeds.PutMany(ctx, slices.Values([]string{"news", "weather"}))
	must(err)

	first, err := feeds.Take(ctx, time.Minute)
	must(err)
	second, err := feeds.Take(ctx, time.Minute)
	must(err)
	fmt.Println(first.Item, second.Item)
	_, err = feeds.Take(ctx, time.Minute)
	fmt.Println(err != nil) // all items are leased
	must(first.Return(ctx))
	again, err := feeds.Take(ctx, time.Minute)
	must(err)
	fmt.Println(again.Item)
	// Output:
	// news weather
	// true
	// news
}

// A Random draws IDs at random.
func ExampleRandom() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	users, err := collection.NewRandom(client, "users")
	must(err)
	_, err = users.PutMany(ctx, slices.Values([]string{"ada", "grace", "edsger"}))
	must(err)
	two, err := users.Draw(ctx, 2)
	must(err)
	fmt.Println(len(two), two[0] != two[1])
	// Output: 2 true
}

// A Recent keeps the newest items, here three.
func ExampleRecent() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	orders, err := collection.NewRecent(client, "orders", 3)
	must(err)
	must(orders.Put(ctx, "1", "2", "3", "4", "5"))
	newest, err := orders.Newest(ctx, 10)
	must(err)
	fmt.Println(newest)
	// Output: [5 4 3]
}

// This example adds IDs to several lists and reads one list in pages.
func ExampleTimelines() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	timelines, err := collection.NewTimelines(client, 1000)
	must(err)
	for _, post := range []int64{1, 2, 4, 5} {
		must(timelines.Put(ctx, post, "posts:ada", "posts:grace", "posts:edsger"))
	}
	must(timelines.Put(ctx, 3, "posts:ada")) // out of order
	must(timelines.Put(ctx, 5, "posts:ada")) // a duplicate

	page, err := timelines.Select(ctx, "posts:ada", 0, 2)
	must(err)
	next, err := timelines.Select(ctx, "posts:ada", page[len(page)-1], 2)
	must(err)
	fmt.Println(page, next)
	// Output: [5 4] [3 2]
}
