package model_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"retwis/model"
)

// Seat is a bookable seat.
type Seat struct {
	ID    string    `redis:",id"`
	Row   string    `redis:"row,index,required,max=2"`
	Left  int       `redis:"left,counter,range,min=0"` // never below 0
	Since time.Time `redis:"since,created,range"`
}

// Write many records at once: each is written or refused independently.
func ExampleStore_CreateMany() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	seats, err := model.New[Seat](ctx, client, model.Options{Name: "seat"})
	must(err)

	all, err := seats.CreateMany(ctx, []Seat{{Row: "A", Left: 2}, {Row: "much too long"}, {Row: "B", Left: 1}})
	fmt.Println(all[0].ID, all[2].ID)
	var many *model.ManyError
	if errors.As(err, &many) {
		for _, r := range many.Refused {
			fmt.Println(r.Position, r.Err)
		}
	}
	// Output:
	// 1 2
	// 1 model: seat: the record is not valid: row has 13 characters: at most 2 are allowed
}

// A bounded counter cannot be oversold, however many buyers there are.
func ExampleStore_Incr_bounded() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	seats, err := model.New[Seat](ctx, client, model.Options{Name: "seat"})
	must(err)
	seat, err := seats.Create(ctx, Seat{Row: "A", Left: 2})
	must(err)

	for range 3 {
		left, err := seats.Incr(ctx, seat.ID, "left", -1)
		fmt.Println(left, errors.Is(err, model.ErrBound))
	}
	n, err := seats.Count(ctx, model.AtLeast("left", 1)) // the counter is indexed
	fmt.Println(n, err)
	// Output:
	// 1 false
	// 0 false
	// 0 true
	// 0 <nil>
}

// Change all results of a query, in steps.
func ExampleQuery_UpdateAll() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	seats, err := model.New[Seat](ctx, client, model.Options{Name: "seat"})
	must(err)
	_, err = seats.CreateMany(ctx, []Seat{{Row: "A"}, {Row: "A"}, {Row: "B"}})
	must(err)

	n, err := seats.Find(model.Eq("row", "A")).UpdateAll(ctx, func(s *Seat) error { s.Row = "C"; return nil }, nil)
	fmt.Println(n, err)
	fmt.Println(seats.Count(ctx, model.Eq("row", "C")))
	fmt.Println(seats.Find(model.Eq("row", "C")).DeleteAll(ctx, nil))
	// Output:
	// 2 <nil>
	// 2 <nil>
	// 2 <nil>
}
