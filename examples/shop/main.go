// Command shop is a small shop: products with stock, customers, and orders of several
// products. However many buy at the same time, nothing is sold that is not there.
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
	"time"

	"github.com/redis/rueidis"

	"retwis/model"
)

// Product is what the shop sells. Prices are in cents.
type Product struct {
	ID    string `redis:",id"`
	Name  string `redis:"name,required"`
	Price int64  `redis:"price,min=1"`
	Stock int64  `redis:"stock,range,min=0"`
	Sold  int64  `redis:"sold,range"`
}

// Customer is who buys.
type Customer struct {
	ID    string `redis:",id"`
	Name  string `redis:"name"`
	Email string `redis:"email,unique,caseinsensitive"`
}

// Order is what a customer has bought, by product.
type Order struct {
	ID       string              `redis:",id"`
	Customer model.Ref[Customer] `redis:"customer,index,restrict,exists"`
	Lines    map[string]int64    `redis:"lines"`
	Total    int64               `redis:"total"`
	Placed   time.Time           `redis:"placed"`
}

// Indexes finds the orders of a customer, newest first.
func (Order) Indexes() []model.Index[Order] {
	return []model.Index[Order]{model.Composite[Order]("customer", "placed desc")}
}

var errSoldOut = errors.New("sold out")

// Shop keeps its data in Redis.
type Shop struct {
	products  *model.Store[Product]
	customers *model.Store[Customer]
	orders    *model.Store[Order]
}

func open(client rueidis.Client) (*Shop, error) {
	products, err := model.New[Product](client, model.Options{Name: "product"})
	if err != nil {
		return nil, err
	}
	customers, err := model.New[Customer](client, model.Options{Name: "customer"})
	if err != nil {
		return nil, err
	}
	orders, err := model.New[Order](client, model.Options{Name: "order"})
	if err != nil {
		return nil, err
	}
	return &Shop{products, customers, orders}, model.Relate(orders, customers)
}

// Buy orders some products for a customer, all of them or none: what it has taken before
// one is sold out goes back. If the process dies meanwhile, what it has taken is missing.
func (s *Shop) Buy(ctx context.Context, customer string, basket map[string]int64) (Order, error) {
	order := Order{Customer: model.To[Customer](customer), Lines: basket, Placed: time.Now()}
	_, err := s.customers.Get(ctx, customer)
	var taken []string
	for product, n := range basket {
		if err != nil {
			break
		}
		var p Product
		if p, err = s.take(ctx, product, n); err == nil {
			taken, order.Total = append(taken, product), order.Total+n*p.Price
		}
	}
	if err == nil {
		order, err = s.orders.Create(ctx, order)
	}
	if err == nil {
		return order, nil
	}
	for _, product := range taken {
		_, back := s.take(context.WithoutCancel(ctx), product, -basket[product])
		err = errors.Join(err, back)
	}
	return order, err
}

// take takes some of a product from the stock.
func (s *Shop) take(ctx context.Context, product string, n int64) (Product, error) {
	return s.products.Update(ctx, product, func(p *Product) error {
		if p.Stock < n {
			return fmt.Errorf("%s: %w", p.Name, errSoldOut)
		}
		p.Stock, p.Sold = p.Stock-n, p.Sold+n
		return nil
	})
}

// Restock adds to the stock of a product.
func (s *Shop) Restock(ctx context.Context, product string, n int64) error {
	_, err := s.products.Update(ctx, product, func(p *Product) error { p.Stock += n; return nil })
	return err
}

// Orders returns the query for the orders of a customer, newest first.
func (s *Shop) Orders(customer string) *model.Query[Order] {
	return s.orders.Refs("customer", customer).OrderBy("placed desc")
}

// BestSellers returns the query for products, those that were sold most first.
func (s *Shop) BestSellers() *model.Query[Product] { return s.products.Find().OrderBy("sold desc") }

// LowStock returns the query for the products of which there are at most so many.
func (s *Shop) LowStock(most int64) *model.Query[Product] {
	return s.products.Find(model.AtMost("stock", most)).OrderBy("stock")
}

func main() {
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
	shop, err := open(client)
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
	if err := shop.Restock(ctx, pot.ID, 10); err != nil {
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
		fmt.Fprintln(out, "Ada has orders, and stays")
	}
	return nil
}
