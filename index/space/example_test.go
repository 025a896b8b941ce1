package space_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/redistest"
)

// exampleClient starts a server. It returns a client and a function that stops both.
func exampleClient() (rueidis.Client, func()) {
	urls, stop := redistest.Example(1)
	client, err := rueidis.NewClient(rueidis.MustParseURL(urls[0]))
	if err != nil {
		log.Fatal(err)
	}
	return client, func() { client.Close(); stop() }
}

// Put points in a plane, and find the points in a box.
func Example() {
	client, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	points, err := space.New(client, "points", space.Options{Dims: []space.Dim{
		{Name: "x", Type: space.Int, Min: 0, Max: 400},
		{Name: "y", Type: space.Int, Min: 0, Max: 400},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for id, p := range map[string][2]int{"90": {75, 200}, "91": {75, 301}, "92": {100, 300}} {
		if err := points.Put(ctx, id, p[0], p[1]); err != nil {
			log.Fatal(err)
		}
	}
	for entry, err := range points.Select(ctx, space.Box{{50, 100}, {100, 300}}, index.Page{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.ID, entry.Values)
	}
	// Output:
	// 90 [75 200]
	// 92 [100 300]
}

// Dimensions of several types: flats by rent, size, and date of availability.
func ExampleParseDims() {
	client, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	dims, err := space.ParseDims("rent:decimal(2)(0..10000),size:decimal(1)(0..1000),free:time(2020-01-01..2040-01-01)")
	if err != nil {
		log.Fatal(err)
	}
	flats, err := space.New(client, "flats", space.Options{Dims: dims})
	if err != nil {
		log.Fatal(err)
	}
	_, err = flats.PutMany(ctx, slices.Values([]space.Entry{
		{ID: "attic", Values: []any{"640.00", 38.5, "2026-12-01"}},
		{ID: "loft", Values: []any{"1450.50", 120, "2027-03-01"}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	// Up to 1000 a month, any size, available before February.
	for entry, err := range flats.Select(ctx, space.Box{{nil, 1000}, {}, {nil, "2027-01-31"}}, index.Page{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.ID, entry.Values[0], entry.Values[1])
	}
	err = flats.Check("castle", "25000", 900, "2027-01-01")
	fmt.Println(err)
	// Output:
	// attic 640.00 38.5
	// space: flats: id "castle": invalid value: dimension rent: 25000 is outside of 0.00..10000.00
}

// Find the places on Earth that are nearest to a point. Distances are in metres.
func ExampleGeoDims() {
	client, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	cities, err := space.New(client, "cities", space.Options{Dims: space.GeoDims()})
	if err != nil {
		log.Fatal(err)
	}
	_, err = cities.PutMany(ctx, slices.Values([]space.Entry{
		{ID: "Palermo", Values: []any{38.115556, 13.361389}}, // latitude, longitude
		{ID: "Catania", Values: []any{37.502669, 15.087269}},
		{ID: "Napoli", Values: []any{40.8522, 14.2681}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	taormina := []any{37.85, 15.29}
	near, err := cities.Nearest(ctx, taormina, 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, place := range near {
		fmt.Printf("%s, %.0f km\n", place.ID, place.Distance/1000)
	}
	near, err = cities.NearestWithin(ctx, taormina, 100_000, 10) // within 100 km
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(near), "within 100 km")
	// Output:
	// Catania, 43 km
	// Palermo, 172 km
	// 1 within 100 km
}

// Report what a query reads.
func ExampleIndex_Explain() {
	client, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	dims, _ := space.ParseDims("x:int(0..400),y:int(0..400)")
	points, err := space.New(client, "points", space.Options{Dims: dims, MaxRanges: 8})
	if err != nil {
		log.Fatal(err)
	}
	_, err = points.PutMany(ctx, func(yield func(space.Entry) bool) {
		for i := range 10_000 {
			if !yield(space.Entry{ID: fmt.Sprint(i), Values: []any{i % 100 * 4, i / 100 * 4}}) {
				return
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	e, err := points.Explain(ctx, space.Box{{50, 100}, {100, 300}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d ranges, %d points read, %d in the box\n", len(e.Ranges), e.Read, e.Returned)
	// Output:
	// 8 ranges, 1017 points read, 663 in the box
}
