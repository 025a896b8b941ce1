package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

// exampleServer returns a client of a new server, and a function that stops both.
func exampleServer() (rueidis.Client, func()) {
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

// Product can be found by price, by category, and by both.
type Product struct {
	ID       string    `redis:",id"`
	Code     string    `redis:"code,unique,caseinsensitive"`
	Category string    `redis:"category,index"`
	Price    int       `redis:"price,range"`
	Sold     int       `redis:"sold,counter"`
	Until    time.Time `redis:",expires"`
	Version  int64     `redis:",version"`
}

// Indexes declares the indexes that are not on a single field.
func (Product) Indexes() []model.Index[Product] {
	return []model.Index[Product]{
		model.Composite[Product]("category", "price"),
		model.Computed("maker", func(p Product) string { maker, _, _ := strings.Cut(p.Code, "-"); return maker }),
	}
}

// exampleProducts returns a Store with three products.
func exampleProducts(client rueidis.Client) *model.Store[Product] {
	products, err := model.New[Product](context.Background(), client, model.Options{Name: "product"})
	must(err)
	for _, p := range []Product{
		{Code: "acme-1", Category: "kitchen", Price: 900},
		{Code: "acme-2", Category: "garden", Price: 2500},
		{Code: "bolt-1", Category: "kitchen", Price: 400},
	} {
		_, err := products.Create(context.Background(), p)
		must(err)
	}
	return products
}

func Example() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type User struct {
		ID    string `redis:",id"`
		Name  string `redis:"name,index"`
		Email string `redis:"email,unique,caseinsensitive"`
		Age   int    `redis:"age,range"`
	}
	users, err := model.New[User](ctx, client, model.Options{Name: "user"})
	must(err)

	ada, err := users.Create(ctx, User{Name: "Ada", Email: "ada@example.com", Age: 36})
	must(err)
	_, err = users.Create(ctx, User{Name: "Bob", Email: "ADA@example.com"})
	fmt.Println(errors.Is(err, model.ErrTaken))

	ada, err = users.Update(ctx, ada.ID, func(u *User) error { u.Age++; return nil })
	must(err)
	fmt.Println(ada.Age)
	found, err := users.Find(model.Between("age", 30, 40)).OrderBy("age").Slice(ctx)
	fmt.Println(found, err)

	must(users.Delete(ctx, ada.ID))
	fmt.Println(users.Find(model.Eq("name", "Ada")).Count(ctx))
	// Output:
	// true
	// 37
	// [{1 Ada ada@example.com 37}] <nil>
	// 0 <nil>
}

// A unique value of another record is refused, and nothing is written.
func ExampleStore_Create() {
	client, stop := exampleServer()
	defer stop()
	products := exampleProducts(client)

	_, err := products.Create(context.Background(), Product{Code: "ACME-1"})
	var taken *model.TakenError
	if errors.As(err, &taken) {
		fmt.Printf("%s %s is that of record %s\n", taken.Field, taken.Value, taken.Owner)
	}
	// Output: code acme-1 is that of record 1
}

// Save does not overwrite a newer version of a record.
func ExampleStore_Save() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	products := exampleProducts(client)

	stale, err := products.Get(ctx, "1")
	must(err)
	current := stale
	current.Price = 800
	current, err = products.Save(ctx, current)
	fmt.Println(current.Version, err)
	stale.Price = 950
	_, err = products.Save(ctx, stale)
	fmt.Println(errors.Is(err, model.ErrConflict))
	// Output:
	// 2 <nil>
	// true
}

// Reduce the price of all products of a category, despite concurrent changes.
func ExampleStore_Update() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	products := exampleProducts(client)

	for p, err := range products.Find(model.Eq("category", "kitchen")).OrderBy("price").All(ctx) {
		must(err)
		_, err := products.Update(ctx, p.ID, func(p *Product) error { p.Price -= p.Price / 10; return nil })
		must(err)
		p, err = products.Get(ctx, p.ID)
		must(err)
		fmt.Println(p.Code, p.Price)
	}
	// Output:
	// bolt-1 360
	// acme-1 810
}

func ExampleStore_Patch() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	products := exampleProducts(client)

	_, err := products.Patch(ctx, "2", map[string]any{"price": 1999, "category": "sale"})
	must(err)
	p, err := products.Get(ctx, "2")
	fmt.Println(p.Code, p.Price, p.Category, err)
	// Output: acme-2 1999 sale <nil>
}

// Find the cheapest product of a category, without reading the others.
func ExampleComposite() {
	client, stop := exampleServer()
	defer stop()
	products := exampleProducts(client)

	p, err := products.Find(model.Eq("category", "kitchen")).OrderBy("price").First(context.Background())
	fmt.Println(p.Code, err)
	// Output: bolt-1 <nil>
}

// Find records by a computed value.
func ExampleComputed() {
	client, stop := exampleServer()
	defer stop()
	products := exampleProducts(client)

	fmt.Println(products.Find(model.Eq("maker", "acme")).Count(context.Background()))
	// Output: 2 <nil>
}

// An expired record is no longer found; Sweep later removes its index entries.
func ExampleStore_Sweep() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	products := exampleProducts(client)

	_, err := products.Patch(ctx, "1", map[string]any{"until": time.Now().Add(-time.Second)})
	must(err)
	fmt.Println(products.Find(model.Eq("category", "kitchen")).IDs(ctx))
	fmt.Println(products.Sweep(ctx))
	// Output:
	// [3] <nil>
	// 1 <nil>
}
