package suggest_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/suggest"
	"retwis/internal/redistest"
)

func exampleIndex(opt suggest.Options) (*suggest.Index, func()) {
	urls, stop := redistest.Example(1)
	client, err := rueidis.NewClient(rueidis.MustParseURL(urls[0]))
	if err != nil {
		log.Fatal(err)
	}
	x, err := suggest.New(client, "searches", opt)
	if err != nil {
		log.Fatal(err)
	}
	return x, func() { client.Close(); stop() }
}

// Count searches, and complete what a user types.
func Example() {
	x, stop := exampleIndex(suggest.Options{})
	defer stop()
	ctx := context.Background()

	for _, search := range []string{"Banana", "Bahamas", "Banana", "Banana", "bank"} {
		if _, err := x.Add(ctx, search, 1); err != nil {
			log.Fatal(err)
		}
	}
	best, err := x.Complete(ctx, "ba", 2)
	fmt.Println(best, err)
	// Output: [{Banana 3} {Bahamas 1}] <nil>
}

// Load known counts.
func ExampleIndex_AddMany() {
	x, stop := exampleIndex(suggest.Options{})
	defer stop()
	ctx := context.Background()

	_, err := x.AddMany(ctx, slices.Values([]suggest.Suggestion{{"Crème brûlée", 120}, {"Crêpe", 300}, {"Cream", 250}}))
	if err != nil {
		log.Fatal(err)
	}
	best, err := x.Complete(ctx, "cre", 10)
	fmt.Println(best, err)
	// Output: [{Crêpe 300} {Cream 250} {Crème brûlée 120}] <nil>
}

// A completion tolerates one typo.
func ExampleIndex_CompleteFuzzy() {
	x, stop := exampleIndex(suggest.Options{})
	defer stop()
	ctx := context.Background()

	if _, err := x.AddMany(ctx, slices.Values([]suggest.Suggestion{{"Banana", 3}, {"Bnai", 1}, {"Barcelona", 9}})); err != nil {
		log.Fatal(err)
	}
	best, err := x.CompleteFuzzy(ctx, "bnan", 10)
	fmt.Println(best, err)
	// Output: [{Banana 3} {Bnai 1}] <nil>
}

// Some words must not be suggested.
func ExampleIndex_Block() {
	x, stop := exampleIndex(suggest.Options{})
	defer stop()
	ctx := context.Background()

	if err := x.Block(ctx, "damn"); err != nil {
		log.Fatal(err)
	}
	n, err := x.Add(ctx, "Damn!", 1)
	fmt.Println(n, err)
	// Output: 0 <nil>
}

// Read all terms, in pages.
func ExampleIndex_All() {
	x, stop := exampleIndex(suggest.Options{})
	defer stop()
	ctx := context.Background()

	if _, err := x.AddMany(ctx, slices.Values([]suggest.Suggestion{{"Cherry", 1}, {"Apple", 7}, {"Banana", 3}})); err != nil {
		log.Fatal(err)
	}
	page := index.Page{Limit: 2}
	for range 2 {
		for e, err := range x.All(ctx, "", page) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(e.Name, e.Count)
			page.After = e.Cursor()
		}
		fmt.Println("--")
	}
	// Output:
	// apple 7
	// banana 3
	// --
	// cherry 1
	// --
}
