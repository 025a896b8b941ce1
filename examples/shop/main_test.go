package main

import (
	"context"
	"testing"

	"github.com/redis/rueidis"

	"retwis/examples/internal/exampletest"
	"retwis/model"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

const output = `sold for 2950
sorry, sold out
sold for 900
best seller: tea
to reorder: tea
orders of Ada: 2
Ada has orders, and stays
`

func shop(client rueidis.Client) (exampletest.Shop, error) {
	s, err := open(client)
	if err != nil {
		return exampletest.Shop{}, err
	}
	return exampletest.Shop{
		AddProduct: func(ctx context.Context, name string, price, stock int64) (string, error) {
			p, err := s.products.Create(ctx, Product{Name: name, Price: price, Stock: stock})
			return p.ID, err
		},
		AddCustomer: func(ctx context.Context, name, email string) (string, error) {
			c, err := s.customers.Create(ctx, Customer{Name: name, Email: email})
			return c.ID, err
		},
		RemoveCustomer: s.customers.Delete,
		Restock: func(ctx context.Context, product string, n int64) error {
			_, err := s.products.Incr(ctx, product, "stock", n)
			return err
		},
		Buy: func(ctx context.Context, customer string, basket map[string]int64) (string, error) {
			order, err := s.Buy(ctx, customer, basket)
			return order.ID, err
		},
		Order: func(ctx context.Context, id string) (map[string]int64, int64, error) {
			order, err := s.orders.Get(ctx, id)
			return order.Lines, order.Total, err
		},
		Orders: func(ctx context.Context, customer, after string, n int) (ids []string, next string, err error) {
			page, err := s.Orders(customer).After(after).Limit(n).Page(ctx)
			for _, order := range page.Items {
				ids = append(ids, order.ID)
			}
			return ids, page.Next, err
		},
		BestSellers: func(ctx context.Context, n int) ([]string, error) { return names(ctx, s.BestSellers().Limit(n)) },
		LowStock:    func(ctx context.Context, most int64) ([]string, error) { return names(ctx, s.LowStock(most)) },
		Taken:       model.ErrTaken, SoldOut: errSoldOut, Unknown: model.ErrNotFound, NoCustomer: model.ErrDangling, HasOrders: model.ErrReferenced, Quantity: errQuantity,
	}, nil
}

func names(ctx context.Context, products *model.Query[Product]) (names []string, err error) {
	for name, err := range model.Pluck[string](ctx, products, "name") {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func TestProgram(t *testing.T) {
	t.Parallel()
	exampletest.Output(t, output)
}

func TestShop(t *testing.T) {
	t.Parallel()
	exampletest.CheckShop(t, shop)
}

func TestOrders(t *testing.T) {
	t.Parallel()
	exampletest.CheckOrders(t, shop)
}

func TestBuyers(t *testing.T) {
	t.Parallel()
	exampletest.CheckBuyers(t, shop)
}

func TestLines(t *testing.T) {
	t.Parallel()
	exampletest.Lines(t, "shop")
}
