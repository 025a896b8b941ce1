package model_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/model"
	"retwis/redlock"
)

// Delete an author: a loan prevents the deletion, and books are deleted with the author.
func ExampleRelate() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type Author struct {
		ID   string `redis:",id"`
		Name string
	}
	type Book struct {
		ID     string            `redis:",id"`
		Author model.Ref[Author] `redis:"author,index,cascade"`
	}
	type Loan struct {
		ID string            `redis:",id"`
		To model.Ref[Author] `redis:"to,index,restrict"`
	}
	authors, err := model.New[Author](ctx, client, model.Options{Name: "author"})
	must(err)
	books, err := model.New[Book](ctx, client, model.Options{Name: "book"})
	must(err)
	loans, err := model.New[Loan](ctx, client, model.Options{Name: "loan"})
	must(err)
	must(model.Relate(ctx, books, authors))
	must(model.Relate(ctx, loans, authors))

	ada, err := authors.Create(ctx, Author{Name: "Ada"})
	must(err)
	book, err := books.Create(ctx, Book{Author: model.To[Author](ada.ID)})
	must(err)
	loan, err := loans.Create(ctx, Loan{To: model.To[Author](ada.ID)})
	must(err)

	err = authors.Delete(ctx, ada.ID)
	fmt.Println(errors.Is(err, model.ErrReferenced), err)
	must(loans.Delete(ctx, loan.ID))
	must(authors.Delete(ctx, ada.ID))
	fmt.Println(books.Has(ctx, book.ID))
	// Output:
	// true model: author: to of loan 1 refers to it
	// false <nil>
}

// Follow a reference to a record.
func ExampleRef() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type Employee struct {
		ID   string `redis:",id"`
		Name string
		Boss model.Ref[Employee] `redis:"boss,index"`
	}
	employees, err := model.New[Employee](ctx, client, model.Options{Name: "employee", IDs: model.ClientAssigned})
	must(err)
	_, err = employees.Create(ctx, Employee{ID: "e1", Name: "Grace"})
	must(err)
	ann, err := employees.Create(ctx, Employee{ID: "e2", Name: "Ann", Boss: model.To[Employee]("e1")})
	must(err)
	boss, err := ann.Boss.Get(ctx, employees)
	must(err)
	fmt.Println(boss.Name, boss.Boss.IsZero())
	// Output:
	// Grace true
}

// Store the friends of a person.
func ExampleStore_Set() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type Person struct {
		ID      string `redis:",id"`
		Friends model.Set
	}
	people, err := model.New[Person](ctx, client, model.Options{Name: "person", IDs: model.ClientAssigned})
	must(err)
	_, err = people.Create(ctx, Person{ID: "ada"})
	must(err)
	friends := people.Set("friends", "ada")
	added, err := friends.Put(ctx, "carol", "dave", "carol")
	must(err)
	isFriend, err := friends.Has(ctx, "dave")
	must(err)
	fmt.Println(added, isFriend)
	must(friends.Replace(ctx, "eve"))
	for friend, err := range friends.All(ctx) {
		must(err)
		fmt.Println(friend)
	}
	// Output:
	// 2 true
	// eve
}

// Keep the last three pages that a reader has seen.
func ExampleStore_List() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type Reader struct {
		ID   string `redis:",id"`
		Seen model.List
	}
	readers, err := model.New[Reader](ctx, client, model.Options{Name: "reader"})
	must(err)
	reader, err := readers.Create(ctx, Reader{})
	must(err)
	seen := readers.List("seen", reader.ID).Max(3)
	for _, page := range []string{"/", "/about", "/news", "/news/7"} {
		_, err := seen.PushFront(ctx, page)
		must(err)
	}
	fmt.Println(seen.Range(ctx, 0, -1))
	// Output:
	// [/news/7 /news /about] <nil>
}

// Count visits, with any number of concurrent writers.
func ExampleStore_Incr() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type Page struct {
		ID     string `redis:",id"`
		Visits int64  `redis:"visits,counter"`
	}
	pages, err := model.New[Page](ctx, client, model.Options{Name: "page"})
	must(err)
	page, err := pages.Create(ctx, Page{})
	must(err)
	fmt.Println(pages.Incr(ctx, page.ID, "visits", 1))
	fmt.Println(pages.Incr(ctx, page.ID, "visits", 9))
	// Output:
	// 1 <nil>
	// 10 <nil>
}

// Do work on a record while excluding other processes.
func ExampleStore_WithLock() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	skipExampleQuarantine(ctx, client)

	type Order struct {
		ID   string `redis:",id"`
		Paid bool
	}
	orders, err := model.New[Order](ctx, client, model.Options{Name: "order"})
	must(err)
	defer orders.Close()
	order, err := orders.Create(ctx, Order{})
	must(err)

	err = orders.WithLock(ctx, order.ID, func(ctx context.Context) error {
		if order, err := orders.Get(ctx, order.ID); err != nil || order.Paid {
			return err
		}
		fmt.Println("ask the bank") // once, however many processes try
		_, err := orders.Patch(ctx, order.ID, map[string]any{"paid": true})
		return err
	})
	fmt.Println(err)
	// Output:
	// ask the bank
	// <nil>
}

// skipExampleQuarantine lets the newly started server of an example grant locks immediately. A
// server that has been up for a while needs no such step.
func skipExampleQuarantine(ctx context.Context, client rueidis.Client) {
	m, err := redlock.New([]rueidis.Client{client}, redlock.Options{})
	must(err)
	must(m.SkipQuarantine(ctx))
	must(m.Close())
}
