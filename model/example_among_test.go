package model_test

import (
	"context"
	"errors"
	"fmt"

	"retwis/model"
)

// Find the friends of a person who live in a city, sorted by name.
func ExampleQuery_Among() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type Person struct {
		ID      string    `redis:",id"`
		Name    string    `redis:"name,range"`
		City    string    `redis:"city,index"`
		Friends model.Set `redis:"friends"`
	}
	people, err := model.New[Person](ctx, client, model.Options{Name: "person"})
	must(err)
	for _, p := range []Person{{Name: "Ada", City: "London"}, {Name: "Grace", City: "Arlington"}, {Name: "Alan", City: "London"}, {Name: "Edsger", City: "Austin"}} {
		_, err := people.Create(ctx, p)
		must(err)
	}
	friends := people.Set("friends", "4")
	must(friends.Replace(ctx, "1", "2", "3"))

	londoners := people.Find(model.Eq("city", "London")).Among(friends).OrderBy("name")
	for name, err := range model.Pluck[string](ctx, londoners, "name") {
		fmt.Println(name, err)
	}
	fmt.Println(londoners.Count(ctx))
	fmt.Println(londoners.Has(ctx, "2"))
	// Output:
	// Ada <nil>
	// Alan <nil>
	// 2 <nil>
	// false <nil>
}

// Read the articles that a reader has seen, latest first.
func ExampleStore_Records() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type Article struct {
		ID    string `redis:",id"`
		Title string
	}
	type Reader struct {
		ID   string `redis:",id"`
		Seen model.List
	}
	articles, err := model.New[Article](ctx, client, model.Options{Name: "article"})
	must(err)
	readers, err := model.New[Reader](ctx, client, model.Options{Name: "reader"})
	must(err)
	reader, err := readers.Create(ctx, Reader{})
	must(err)
	seen := readers.List("seen", reader.ID).Max(100)
	for _, title := range []string{"Locks", "Indexes", "Graphs"} {
		article, err := articles.Create(ctx, Article{Title: title})
		must(err)
		_, err = seen.PushFront(ctx, article.ID)
		must(err)
	}
	for article, err := range articles.Records(ctx, seen.All(ctx)) {
		fmt.Println(article.Title, err)
	}
	// Output:
	// Graphs <nil>
	// Indexes <nil>
	// Locks <nil>
}

// An order cannot refer to a missing customer.
func ExampleDanglingError() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type Customer struct {
		ID string `redis:",id"`
	}
	type Order struct {
		ID       string              `redis:",id"`
		Customer model.Ref[Customer] `redis:"customer,index,exists,restrict"`
	}
	customers, err := model.New[Customer](ctx, client, model.Options{Name: "customer"})
	must(err)
	orders, err := model.New[Order](ctx, client, model.Options{Name: "order"})
	must(err)
	must(model.Relate(ctx, orders, customers))

	_, err = orders.Create(ctx, Order{Customer: model.To[Customer]("7")})
	var dangling *model.DanglingError
	fmt.Println(errors.As(err, &dangling), err)
	// Output:
	// true model: order: customer refers to customer "7", which does not exist
}
