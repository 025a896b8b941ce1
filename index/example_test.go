package index_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// server starts a server. It returns a client and a function that stops both.
func server() (rueidis.Client, func()) {
	urls, stop := redistest.Example(1)
	opt, err := rueidis.ParseURL(urls[0])
	must(err)
	client, err := rueidis.NewClient(opt)
	must(err)
	return client, func() { client.Close(); stop() }
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Find the rooms with number 56 that cost from 10 to 30.
func ExampleComposite() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	rooms, err := index.NewComposite(client, "rooms", index.Options{Columns: []index.Column{
		{Name: "room", Type: index.Int},
		{Name: "price", Type: index.Decimal, Scale: 2},
	}})
	must(err)
	must(rooms.Put(ctx, "90", 56, "28.44"))
	must(rooms.Put(ctx, "91", 56, "9.99"))
	must(rooms.Put(ctx, "92", 57, "12"))
	must(rooms.Put(ctx, "91", 56, "11.50")) // moves the entry to its new price

	for entry, err := range rooms.Select(ctx, index.Page{Limit: 20}, index.Eq("room", 56), index.Between("price", 10, 30)) {
		must(err)
		fmt.Println(entry.ID, entry.Values)
	}
	// Output:
	// 91 [56 11.50]
	// 90 [56 28.44]
}

// Read a page, and later the next page.
func ExamplePage() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	names, err := index.NewComposite(client, "names", index.Options{Columns: []index.Column{{Name: "name", Type: index.String}}})
	must(err)
	for i, name := range []string{"Ada", "Barbara", "Edsger", "Grace", "Katherine"} {
		must(names.Put(ctx, fmt.Sprint(i), name))
	}
	cursor := ""
	for entry, err := range names.Select(ctx, index.Page{Limit: 2}) {
		must(err)
		fmt.Println(entry.Values[0])
		cursor = entry.Cursor()
	}
	must(names.Put(ctx, "9", "Alan")) // sorts before the cursor: the next page is unchanged
	for entry, err := range names.Select(ctx, index.Page{Limit: 2, After: cursor}) {
		must(err)
		fmt.Println("next page:", entry.Values[0])
	}
	// Output:
	// Ada
	// Barbara
	// next page: Edsger
	// next page: Grace
}

// Find the people between 20 and 40 years old.
func ExampleNumeric() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	ages, err := index.NewNumeric[int](client, "people.by-age", index.NumericOptions{Name: "age"})
	must(err)
	for id, age := range map[string]int{"Manuel": 25, "Anna": 18, "Jon": 35, "Helen": 67} {
		must(ages.Put(ctx, id, age))
	}
	for entry, err := range ages.Select(ctx, index.Page{}, index.Between("age", 20, 40)) {
		must(err)
		fmt.Println(entry.ID, entry.Number)
	}
	n, err := ages.Count(ctx, index.Above("age", 30))
	must(err)
	fmt.Println(n, "are over 30")
	// Output:
	// Manuel 25
	// Jon 35
	// 2 are over 30
}

// Read repair: fetch objects by ID, and remove the entries of missing objects.
func ExampleFetch() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	ages, err := index.NewNumeric[int](client, "people.by-age", index.NumericOptions{Name: "age"})
	must(err)
	must(client.Do(ctx, client.B().Hset().Key("person:1").FieldValue().FieldValue("name", "Anna").Build()).Error())
	must(ages.Put(ctx, "1", 18))
	must(ages.Put(ctx, "2", 25)) // person:2 does not exist

	ids := []string{"1", "2"}
	people, err := index.Fetch(ctx, client, ids, index.FetchOptions{Key: func(id string) string { return "person:" + id }})
	must(err)
	for _, id := range ids {
		if !slices.ContainsFunc(people, func(f index.Fetched) bool { return f.ID == id }) {
			_, err := ages.Remove(ctx, id)
			must(err)
		}
	}
	n, err := ages.Len(ctx)
	must(err)
	fmt.Println(people[0].Fields["name"], "and", n, "entry")
	// Output: Anna and 1 entry
}

// Read repair: fetch the hashes of the results, and repair entries that disagree with them.
func ExampleComposite_Fetch() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	rooms, err := index.NewComposite(client, "rooms", index.Options{Columns: []index.Column{{Name: "price", Type: index.Int}}})
	must(err)
	must(client.Do(ctx, client.B().Hset().Key("room:90").FieldValue().FieldValue("price", "28").FieldValue("view", "sea").Build()).Error())
	must(client.Do(ctx, client.B().Hset().Key("room:91").FieldValue().FieldValue("price", "35").FieldValue("view", "yard").Build()).Error())
	must(rooms.Put(ctx, "90", 28))
	must(rooms.Put(ctx, "91", 35))
	// The hash changes without its entry.
	must(client.Do(ctx, client.B().Hset().Key("room:91").FieldValue().FieldValue("price", "70").Build()).Error())

	var found []index.Entry
	for entry, err := range rooms.Select(ctx, index.Page{Limit: 20}, index.AtMost("price", 40)) {
		must(err)
		found = append(found, entry)
	}
	hashes, report, err := rooms.Fetch(ctx, found, index.FetchOptions{
		Key:    func(id string) string { return "room:" + id },
		Repair: true,
	})
	must(err)
	for _, hash := range hashes {
		if !hash.Stale {
			fmt.Println(hash.ID, hash.Fields["price"], hash.Fields["view"])
		}
	}
	for _, p := range report.Examples {
		fmt.Printf("%s %s: found %s, expected %s\n", p.Kind, p.ID, p.Found, p.Want)
	}
	fmt.Println(report.Repaired, "repaired")
	// Output:
	// 90 28 sea
	// stale 91: found price=35, expected price=70
	// 1 repaired
}

// Compare an index with its objects, and repair it.
func ExampleComposite_Repair() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	ages, err := index.NewComposite(client, "people", index.Options{Columns: []index.Column{{Name: "age", Type: index.Int}}})
	must(err)
	must(client.Do(ctx, client.B().Hset().Key("person:1").FieldValue().FieldValue("age", "19").Build()).Error())
	must(ages.Put(ctx, "1", 18)) // last year's age
	must(ages.Put(ctx, "2", 25)) // person:2 does not exist

	people, err := ages.Hashes("person:*")
	must(err)
	report, err := ages.Repair(ctx, &people, maintain.Options{})
	must(err)
	for _, p := range report.Examples {
		fmt.Printf("%s %s: found %s, expected %q\n", p.Kind, p.ID, p.Found, p.Want)
	}
	fmt.Println(report.Repaired, "repaired")
	// Output:
	// dangling 2: found age=25, expected ""
	// stale 1: found age=18, expected "age=19"
	// 2 repaired
}

// Put many entries at once.
func ExampleComposite_PutMany() {
	client, stop := server()
	defer stop()
	ctx := context.Background()

	prices, err := index.NewComposite(client, "prices", index.Options{Columns: []index.Column{{Name: "price", Type: index.Uint, Desc: true}}})
	must(err)
	entries := []index.Entry{{ID: "a", Values: []any{3}}, {ID: "b", Values: []any{7}}, {ID: "c", Values: []any{5}}}
	n, err := prices.PutMany(ctx, slices.Values(entries))
	must(err)
	fmt.Println(n)
	for e, err := range prices.Select(ctx, index.Page{}) {
		must(err)
		fmt.Println(e.ID)
	}
	// Output:
	// 3
	// b
	// c
	// a
}
