package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"retwis/examples/internal/exampletest"
	"retwis/model"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

func TestUsage(t *testing.T) {
	t.Parallel()
	exampletest.Usage(t)
}

const output = `sold for 2950
sorry, sold out
sold for 900
best seller: tea
to reorder: tea
orders of Ada: 2
Ada has orders and cannot be deleted
`

func TestProgram(t *testing.T) {
	t.Parallel()
	exampletest.Output(t, output)
}

// testShop is a shop with helpers that use IDs.
type testShop struct{ *Shop }

func openShop(t *testing.T) testShop {
	t.Helper()
	return testShop{exampletest.Must[*Shop](t)(open(t.Context(), exampletest.Client(t)))}
}

func (s testShop) addProduct(ctx context.Context, name string, price, stock int64) (string, error) {
	p, err := s.products.Create(ctx, Product{Name: name, Price: price, Stock: stock})
	return p.ID, err
}

func (s testShop) addCustomer(ctx context.Context, name, email string) (string, error) {
	c, err := s.customers.Create(ctx, Customer{Name: name, Email: email})
	return c.ID, err
}

func (s testShop) buy(ctx context.Context, customer string, basket map[string]int64) (string, error) {
	order, err := s.Buy(ctx, customer, basket)
	return order.ID, err
}

func (s testShop) order(ctx context.Context, id string) (map[string]int64, int64, error) {
	order, err := s.orders.Get(ctx, id)
	return order.Lines, order.Total, err
}

func (s testShop) ordersPage(ctx context.Context, customer, after string, n int) (ids []string, next string, err error) {
	page, err := s.Orders(customer).After(after).Limit(n).Page(ctx)
	for _, order := range page.Items {
		ids = append(ids, order.ID)
	}
	return ids, page.Next, err
}

// names returns the names of products.
func names(t *testing.T, products *model.Query[Product]) (names []string) {
	t.Helper()
	for name, err := range model.Pluck[string](t.Context(), products, "name") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestShop tests the shop without concurrency.
func TestShop(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openShop(t)
	text := exampletest.Must[string](t)
	tea, pot := text(s.addProduct(ctx, "tea", 450, 3)), text(s.addProduct(ctx, "pot", 2500, 1))
	ada, grace := text(s.addCustomer(ctx, "Ada", "ada@example.com")), text(s.addCustomer(ctx, "Grace", "grace@example.com"))
	if _, err := s.addCustomer(ctx, "Imposter", "ada@example.com"); !errors.Is(err, model.ErrTaken) {
		t.Errorf("a customer with the address of another: %v, want ErrTaken", err)
	}
	order := text(s.buy(ctx, ada, map[string]int64{tea: 2, pot: 1}))
	if lines, total, err := s.order(ctx, order); err != nil || total != 2*450+2500 || lines[tea] != 2 || lines[pot] != 1 || len(lines) != 2 {
		t.Errorf("the order is %v for %d, %v; want two teas and a pot for 3400", lines, total, err)
	}
	// If one product of a basket is sold out, the stock does not change.
	for range 10 {
		if _, err := s.buy(ctx, grace, map[string]int64{tea: 1, pot: 1}); !errors.Is(err, errSoldOut) {
			t.Errorf("an order of a second pot: %v, want errSoldOut", err)
		}
	}
	if _, err := s.buy(ctx, grace, map[string]int64{tea: 1, "99": 1}); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("an order of an unknown product: %v, want ErrNotFound", err)
	}
	if _, err := s.buy(ctx, "99", map[string]int64{tea: 1}); !errors.Is(err, model.ErrDangling) {
		t.Errorf("an order of an unknown customer: %v, want ErrDangling", err)
	}
	for _, n := range []int64{0, -5} {
		if _, err := s.buy(ctx, grace, map[string]int64{tea: n}); !errors.Is(err, errQuantity) {
			t.Errorf("an order of %d teas: %v, want errQuantity", n, err)
		}
	}
	if got := names(t, s.LowStock(0)); !slices.Equal(got, []string{"pot"}) {
		t.Errorf("sold out: %q, want pot", got)
	}
	if got := names(t, s.LowStock(1)); !slices.Equal(got, []string{"pot", "tea"}) {
		t.Errorf("at most one left: %q, want pot and tea", got)
	}
	if _, err := s.products.Incr(ctx, pot, "stock", 5); err != nil {
		t.Error(err)
	}
	if _, err := s.products.Incr(ctx, "99", "stock", 5); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("Incr of an unknown product: %v, want ErrNotFound", err)
	}
	text(s.buy(ctx, grace, map[string]int64{pot: 5}))
	if got := names(t, s.BestSellers().Limit(2)); !slices.Equal(got, []string{"pot", "tea"}) {
		t.Errorf("best sellers: %q, want pot and tea", got)
	}
	// A customer with orders cannot be deleted. Deleting another customer frees the address.
	if err := s.customers.Delete(ctx, ada); !errors.Is(err, model.ErrReferenced) {
		t.Errorf("deletion of a customer with orders: %v, want ErrReferenced", err)
	}
	alan := text(s.addCustomer(ctx, "Alan", "alan@example.com"))
	if err := s.customers.Delete(ctx, alan); err != nil {
		t.Error(err)
	}
	if err := s.customers.Delete(ctx, alan); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("second deletion of a customer: %v, want ErrNotFound", err)
	}
	text(s.addCustomer(ctx, "Alan", "alan@example.com"))
}

// TestOrders reads the orders of a customer in pages, newest first.
func TestOrders(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openShop(t)
	tea := exampletest.Must[string](t)(s.addProduct(ctx, "tea", 1, 1000))
	var customers []string
	orders := map[string][]string{}
	for i := range 3 {
		customers = append(customers, exampletest.Must[string](t)(s.addCustomer(ctx, "Ada", fmt.Sprint(i))))
	}
	for i := range 25 {
		customer := customers[i%3*(i%2)]
		orders[customer] = slices.Insert(orders[customer], 0, exampletest.Must[string](t)(s.buy(ctx, customer, map[string]int64{tea: 1})))
	}
	for _, customer := range customers {
		for n := 1; n < 20; n += 3 {
			var got []string
			for next, more := "", true; more; more = next != "" {
				var page []string
				var err error
				if page, next, err = s.ordersPage(ctx, customer, next, n); err != nil {
					t.Fatal(err)
				}
				if next != "" && len(page) != n {
					t.Fatalf("a page has %d orders, want %d", len(page), n)
				}
				got = append(got, page...)
			}
			if !slices.Equal(got, orders[customer]) {
				t.Errorf("in pages of %d, the orders are %q, want %q", n, got, orders[customer])
			}
		}
	}
}

// TestBuyers checks that 64 concurrent buyers get no more than there is in stock.
func TestBuyers(t *testing.T) {
	t.Parallel()
	const buyers, tries = 64, 8
	ctx := t.Context()
	s := openShop(t)
	stock := map[string]int64{}
	name := map[string]string{}
	for i, n := range []int64{20, 50, 100, 300} {
		product := fmt.Sprint("product", i)
		id := exampletest.Must[string](t)(s.addProduct(ctx, product, 10+int64(i), n))
		stock[id], name[id] = n, product
	}
	var mu sync.Mutex
	sold, refused := map[string]int64{}, 0
	exampletest.Together(buyers, func(i int) {
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		customer, err := s.addCustomer(ctx, "buyer", fmt.Sprint(i))
		if err != nil {
			t.Error(err)
			return
		}
		var bought []string
		for range tries {
			basket := map[string]int64{}
			for id := range stock {
				if n := rng.Int64N(4); n > 0 {
					basket[id] = n
				}
			}
			order, err := s.buy(ctx, customer, basket)
			if errors.Is(err, errSoldOut) {
				mu.Lock()
				refused++
				mu.Unlock()
				continue
			}
			if err != nil {
				t.Error(err)
				return
			}
			bought = append(bought, order)
			lines, _, err := s.order(ctx, order)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			for id, n := range lines {
				if sold[id] += n; n != basket[id] {
					t.Errorf("sold %d of %s, want %d", n, id, basket[id])
				}
			}
			mu.Unlock()
		}
		if orders, _, err := s.ordersPage(ctx, customer, "", tries); err != nil || len(orders) != len(bought) {
			t.Errorf("the customer has %d orders, %v; want %d", len(orders), err, len(bought))
		}
	})
	if refused == 0 {
		t.Error("no order was refused, want some")
	}
	// Exactly the remaining stock can be sold, so stock and orders agree.
	last := exampletest.Must[string](t)(s.addCustomer(ctx, "last", "last"))
	for id, n := range stock {
		remaining := n - sold[id]
		if remaining < 0 {
			t.Fatalf("sold %d of %s, but the stock was %d", sold[id], name[id], n)
		}
		if _, err := s.buy(ctx, last, map[string]int64{id: remaining + 1}); !errors.Is(err, errSoldOut) {
			t.Errorf("an order of one %s more than the stock: %v, want errSoldOut", name[id], err)
		}
		if remaining > 0 {
			exampletest.Must[string](t)(s.buy(ctx, last, map[string]int64{id: remaining}))
		}
	}
	if low := names(t, s.LowStock(0)); len(low) != len(stock) {
		t.Errorf("sold out: %q, want all %d products", low, len(stock))
	}
	if best := names(t, s.BestSellers().Limit(4)); !slices.Equal(best, []string{"product3", "product2", "product1", "product0"}) {
		t.Errorf("best sellers: %q, want product3 to product0", best)
	}
}
