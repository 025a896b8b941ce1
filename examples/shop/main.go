// Command shop is a small shop with products in stock, customers, and orders of several products.
// Concurrent buyers cannot buy more than there is in stock.
//
//	go run ./examples/shop redis://127.0.0.1:6379
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/redis/rueidis"

	"retwis/model"
)

// Product is a product of the shop. Prices are in cents.
type Product struct {
	ID    string `redis:",id"`
	Name  string `redis:"name,required"`
	Price int64  `redis:"price,min=1"`
	Stock int64  `redis:"stock,counter,range,min=0"`
	Sold  int64  `redis:"sold,counter,range"`
}

// Customer is a customer of the shop.
type Customer struct {
	ID    string `redis:",id"`
	Name  string `redis:"name"`
	Email string `redis:"email,unique,caseinsensitive"`
}

// Order is an order of a customer. Lines holds the quantity of each product.
type Order struct {
	ID       string              `redis:",id"`
	Customer model.Ref[Customer] `redis:"customer,index,restrict,exists"`
	Lines    map[string]int64    `redis:"lines"`
	Total    int64               `redis:"total"`
}

var (
	errSoldOut  = errors.New("sold out")
	errQuantity = errors.New("an order needs at least one of each product")
)

// Shop keeps its data in Redis.
type Shop struct {
	products  *model.Store[Product]
	customers *model.Store[Customer]
	orders    *model.Store[Order]
}

func open(ctx context.Context, client rueidis.Client) (*Shop, error) {
	products, err := model.New[Product](ctx, client, model.Options{Name: "product"})
	if err != nil {
		return nil, err
	}
	customers, err := model.New[Customer](ctx, client, model.Options{Name: "customer"})
	if err != nil {
		return nil, err
	}
	orders, err := model.New[Order](ctx, client, model.Options{Name: "order"})
	if err != nil {
		return nil, err
	}
	return &Shop{products, customers, orders}, model.Relate(ctx, orders, customers)
}

// Buy orders all products of a basket for a customer, or none: if a product is sold out, Buy
// returns the other products to the stock. If the process dies or the connection is lost meanwhile,
// the stock may lack products that Buy has taken, but no product is sold twice.
func (s *Shop) Buy(ctx context.Context, customer string, basket map[string]int64) (Order, error) {
	order := Order{Customer: model.To[Customer](customer), Lines: map[string]int64{}}
	err := s.take(ctx, &order, basket)
	if err == nil {
		order, err = s.orders.Create(ctx, order)
		if err != nil && !errors.Is(err, model.ErrDangling) {
			return order, err // if the connection was lost, the order may exist
		}
	}
	field := "sold"
	if err != nil {
		field = "stock" // returns the products
	}
	for product, n := range order.Lines {
		_, incrErr := s.products.Incr(context.WithoutCancel(ctx), product, field, n)
		err = errors.Join(err, incrErr)
	}
	return order, err
}

// take takes the products of a basket from the stock. It stops if a product is sold out.
func (s *Shop) take(ctx context.Context, order *Order, basket map[string]int64) error {
	for id, n := range basket {
		product, err := s.products.Get(ctx, id)
		switch {
		case err != nil:
			return err
		case n < 1:
			return errQuantity
		}
		_, err = s.products.Incr(ctx, id, "stock", -n)
		switch {
		case errors.Is(err, model.ErrBound):
			return fmt.Errorf("%s: %w", product.Name, errSoldOut)
		case err != nil:
			return err
		}
		order.Lines[id] = n
		order.Total += n * product.Price
	}
	return nil
}

// Orders returns the query for the orders of a customer, newest first.
func (s *Shop) Orders(customer string) *model.Query[Order] {
	return s.orders.Refs("customer", customer).Newest()
}

// BestSellers returns the query for products, best sellers first.
func (s *Shop) BestSellers() *model.Query[Product] { return s.products.Find().OrderBy("sold desc") }

// LowStock returns the query for products with a stock of at most limit.
func (s *Shop) LowStock(limit int64) *model.Query[Product] {
	return s.products.Find(model.AtMost("stock", limit)).OrderBy("stock")
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./examples/shop redis://127.0.0.1:6379")
		os.Exit(2)
	}
	option, err := rueidis.ParseURL(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := run(context.Background(), client, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client rueidis.Client, out io.Writer) error {
	shop, err := open(ctx, client)
	if err != nil {
		return err
	}
	tea, err := shop.products.Create(ctx, Product{Name: "tea", Price: 450, Stock: 3})
	if err != nil {
		return err
	}
	pot, err := shop.products.Create(ctx, Product{Name: "pot", Price: 2500, Stock: 1})
	if err != nil {
		return err
	}
	ada, err := shop.customers.Create(ctx, Customer{Name: "Ada", Email: "ada@example.com"})
	if err != nil {
		return err
	}
	for _, basket := range []map[string]int64{{tea.ID: 1, pot.ID: 1}, {tea.ID: 1, pot.ID: 1}, {tea.ID: 2}} {
		switch order, err := shop.Buy(ctx, ada.ID, basket); {
		case errors.Is(err, errSoldOut):
			fmt.Fprintln(out, "sorry, sold out")
		case err != nil:
			return err
		default:
			fmt.Fprintln(out, "sold for", order.Total)
		}
	}
	if _, err := shop.products.Incr(ctx, pot.ID, "stock", 10); err != nil {
		return err
	}
	best, err := shop.BestSellers().Limit(10).Slice(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "best seller:", best[0].Name)
	low, err := shop.LowStock(5).Slice(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "to reorder:", low[0].Name)
	page, err := shop.Orders(ada.ID).Limit(10).Page(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "orders of Ada:", len(page.Items))
	if err := shop.customers.Delete(ctx, ada.ID); errors.Is(err, model.ErrReferenced) {
		fmt.Fprintln(out, "Ada has orders and cannot be deleted")
	}
	return nil
}
