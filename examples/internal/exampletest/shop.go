package exampletest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/redis/rueidis"
)

// Shop is a shop. Products, customers and orders have ids.
type Shop struct {
	AddProduct     func(ctx context.Context, name string, price, stock int64) (id string, err error)
	AddCustomer    func(ctx context.Context, name, email string) (id string, err error)
	RemoveCustomer func(ctx context.Context, id string) error
	Restock        func(ctx context.Context, product string, n int64) error
	Buy            func(ctx context.Context, customer string, basket map[string]int64) (order string, err error)
	Order          func(ctx context.Context, id string) (lines map[string]int64, total int64, err error)
	// Orders returns ids of a customer's orders, newest first, and where the next page
	// begins.
	Orders      func(ctx context.Context, customer, after string, n int) (ids []string, next string, err error)
	BestSellers func(ctx context.Context, n int) (names []string, err error)
	LowStock    func(ctx context.Context, most int64) (names []string, err error)

	Taken, SoldOut, Quantity, Unknown, NoCustomer, HasOrders error
}

// OpenShop opens the shop of a database.
type OpenShop func(client rueidis.Client) (Shop, error)

// CheckShop checks what a shop does for one customer after another.
func CheckShop(t *testing.T, open OpenShop) {
	ctx := t.Context()
	s := must[Shop](t)(open(Client(t)))
	text := must[string](t)
	tea, pot := text(s.AddProduct(ctx, "tea", 450, 3)), text(s.AddProduct(ctx, "pot", 2500, 1))
	ada, grace := text(s.AddCustomer(ctx, "Ada", "ada@example.com")), text(s.AddCustomer(ctx, "Grace", "grace@example.com"))
	if _, err := s.AddCustomer(ctx, "Imposter", "ada@example.com"); !errors.Is(err, s.Taken) {
		t.Errorf("an address of another customer: %v", err)
	}
	order := text(s.Buy(ctx, ada, map[string]int64{tea: 2, pot: 1}))
	if lines, total, err := s.Order(ctx, order); err != nil || total != 2*450+2500 || lines[tea] != 2 || lines[pot] != 1 || len(lines) != 2 {
		t.Errorf("the order is %v for %d: %v", lines, total, err)
	}
	// A basket of which one product is sold out takes nothing.
	for range 10 {
		if _, err := s.Buy(ctx, grace, map[string]int64{tea: 1, pot: 1}); !errors.Is(err, s.SoldOut) {
			t.Errorf("a second pot: %v", err)
		}
	}
	if _, err := s.Buy(ctx, grace, map[string]int64{tea: 1, "99": 1}); !errors.Is(err, s.Unknown) {
		t.Errorf("an unknown product: %v", err)
	}
	if _, err := s.Buy(ctx, "99", map[string]int64{tea: 1}); !errors.Is(err, s.NoCustomer) {
		t.Errorf("an unknown customer: %v", err)
	}
	for _, n := range []int64{0, -5} {
		if _, err := s.Buy(ctx, grace, map[string]int64{tea: n}); !errors.Is(err, s.Quantity) {
			t.Errorf("%d of a product: %v", n, err)
		}
	}
	if names := must[[]string](t)(s.LowStock(ctx, 0)); !slices.Equal(names, []string{"pot"}) {
		t.Errorf("sold out: %q", names)
	}
	if names := must[[]string](t)(s.LowStock(ctx, 1)); !slices.Equal(names, []string{"pot", "tea"}) {
		t.Errorf("at most one left: %q", names)
	}
	if err := s.Restock(ctx, pot, 5); err != nil {
		t.Error(err)
	}
	if err := s.Restock(ctx, "99", 5); !errors.Is(err, s.Unknown) {
		t.Errorf("an unknown product: %v", err)
	}
	text(s.Buy(ctx, grace, map[string]int64{pot: 5}))
	if names := must[[]string](t)(s.BestSellers(ctx, 2)); !slices.Equal(names, []string{"pot", "tea"}) {
		t.Errorf("best sellers: %q", names)
	}
	// A customer with orders stays; another one goes, and so does the address.
	if err := s.RemoveCustomer(ctx, ada); !errors.Is(err, s.HasOrders) {
		t.Errorf("a customer with orders: %v", err)
	}
	alan := text(s.AddCustomer(ctx, "Alan", "alan@example.com"))
	if err := s.RemoveCustomer(ctx, alan); err != nil {
		t.Error(err)
	}
	if err := s.RemoveCustomer(ctx, alan); !errors.Is(err, s.Unknown) {
		t.Errorf("removed twice: %v", err)
	}
	text(s.AddCustomer(ctx, "Alan", "alan@example.com"))
}

// CheckOrders checks that the orders of a customer come newest first, in pages.
func CheckOrders(t *testing.T, open OpenShop) {
	ctx := t.Context()
	s := must[Shop](t)(open(Client(t)))
	tea := must[string](t)(s.AddProduct(ctx, "tea", 1, 1000))
	var customers []string
	orders := map[string][]string{}
	for i := range 3 {
		customers = append(customers, must[string](t)(s.AddCustomer(ctx, "Ada", fmt.Sprint(i))))
	}
	for i := range 25 {
		customer := customers[i%3*(i%2)]
		orders[customer] = slices.Insert(orders[customer], 0, must[string](t)(s.Buy(ctx, customer, map[string]int64{tea: 1})))
	}
	for _, customer := range customers {
		for n := 1; n < 20; n += 3 {
			var all []string
			for next, more := "", true; more; more = next != "" {
				var page []string
				var err error
				if page, next, err = s.Orders(ctx, customer, next, n); err != nil {
					t.Fatal(err)
				}
				if next != "" && len(page) != n {
					t.Fatalf("%d orders on a page of %d", len(page), n)
				}
				all = append(all, page...)
			}
			if !slices.Equal(all, orders[customer]) {
				t.Errorf("in pages of %d: %q; want %q", n, all, orders[customer])
			}
		}
	}
}

// CheckBuyers checks that 64 buyers at the same time get what there is and no more.
func CheckBuyers(t *testing.T, open OpenShop) {
	const buyers, tries = 64, 8
	client, ctx := Client(t), t.Context()
	s := must[Shop](t)(open(client))
	stock := map[string]int64{}
	names := map[string]string{}
	for i, n := range []int64{20, 50, 100, 300} {
		name := fmt.Sprint("product", i)
		id := must[string](t)(s.AddProduct(ctx, name, 10+int64(i), n))
		stock[id], names[id] = n, name
	}
	var mu sync.Mutex
	sold, refused := map[string]int64{}, 0
	together(buyers, func(i int) {
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		customer, err := s.AddCustomer(ctx, "buyer", fmt.Sprint(i))
		if err != nil {
			t.Error(err)
			return
		}
		var mine []string
		for range tries {
			basket := map[string]int64{}
			for id := range stock {
				if n := rng.Int64N(4); n > 0 {
					basket[id] = n
				}
			}
			order, err := s.Buy(ctx, customer, basket)
			if errors.Is(err, s.SoldOut) {
				mu.Lock()
				refused++
				mu.Unlock()
				continue
			}
			if err != nil {
				t.Error(err)
				return
			}
			mine = append(mine, order)
			lines, _, err := s.Order(ctx, order)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			for id, n := range lines {
				if sold[id] += n; n != basket[id] {
					t.Errorf("%d of %s were sold, not %d", n, id, basket[id])
				}
			}
			mu.Unlock()
		}
		if orders, _, err := s.Orders(ctx, customer, "", tries); err != nil || len(orders) != len(mine) {
			t.Errorf("%d orders, not %d: %v", len(orders), len(mine), err)
		}
	})
	if refused == 0 {
		t.Error("nothing was sold out: the test tests nothing")
	}
	// What is left can be sold, and no more. So stock and orders agree.
	last := must[string](t)(s.AddCustomer(ctx, "last", "last"))
	for id, n := range stock {
		left := n - sold[id]
		if left < 0 {
			t.Fatalf("%d of %s were sold, there were %d", sold[id], names[id], n)
		}
		if _, err := s.Buy(ctx, last, map[string]int64{id: left + 1}); !errors.Is(err, s.SoldOut) {
			t.Errorf("one more of %s than there is: %v", names[id], err)
		}
		if left > 0 {
			must[string](t)(s.Buy(ctx, last, map[string]int64{id: left}))
		}
	}
	if low := must[[]string](t)(s.LowStock(ctx, 0)); len(low) != len(stock) {
		t.Errorf("sold out are only %q", low)
	}
	if best := must[[]string](t)(s.BestSellers(ctx, 4)); !slices.Equal(best, []string{"product3", "product2", "product1", "product0"}) {
		t.Errorf("best sellers: %q", best)
	}
}
