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

// exampleIndex starts a server. It returns an index and a function that stops the server.
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

// show prints the terms of a completion and their counts.
func show(terms []suggest.Suggestion, err error) {
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range terms {
		fmt.Println(t.Term, t.Count)
	}
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
	show(x.Complete(ctx, "ba", 2))
	// Output:
	// Banana 3
	// Bahamas 1
}

// Load known counts.
func ExampleIndex_AddMany() {
	x, stop := exampleIndex(suggest.Options{})
	defer stop()
	ctx := context.Background()

	_, err := x.AddMany(ctx, slices.Values([]suggest.Suggestion{{Term: "Crème brûlée", Count: 120}, {Term: "Crêpe", Count: 300}, {Term: "Cream", Count: 250}}))
	if err != nil {
		log.Fatal(err)
	}
	show(x.Complete(ctx, "cre", 10))
	// Output:
	// Crêpe 300
	// Cream 250
	// Crème brûlée 120
}

// Return the payload of each completed term, such as an id.
func ExampleIndex_Put() {
	x, stop := exampleIndex(suggest.Options{})
	defer stop()
	ctx := context.Background()

	for _, city := range []suggest.Suggestion{
		{Term: "Berlin", Count: 3_700_000, Payload: "city:17"},
		{Term: "Bern", Count: 134_000, Payload: "city:4"},
	} {
		if _, err := x.Put(ctx, city); err != nil {
			log.Fatal(err)
		}
	}
	best, err := x.Complete(ctx, "ber", 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, city := range best {
		fmt.Println(city.Term, city.Payload)
	}
	// Output:
	// Berlin city:17
	// Bern city:4
}

// A completion tolerates one typo.
func ExampleIndex_CompleteFuzzy() {
	x, stop := exampleIndex(suggest.Options{})
	defer stop()
	ctx := context.Background()

	if _, err := x.AddMany(ctx, slices.Values([]suggest.Suggestion{{Term: "Banana", Count: 3}, {Term: "Bnai", Count: 1}, {Term: "Barcelona", Count: 9}})); err != nil {
		log.Fatal(err)
	}
	show(x.CompleteFuzzy(ctx, "bnan", 10))
	// Output:
	// Banana 3
	// Bnai 1
}

// Keep some words from being suggested.
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

	if _, err := x.AddMany(ctx, slices.Values([]suggest.Suggestion{{Term: "Cherry", Count: 1}, {Term: "Apple", Count: 7}, {Term: "Banana", Count: 3}})); err != nil {
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
