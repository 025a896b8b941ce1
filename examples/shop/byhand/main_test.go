package main

import (
	"context"
	"testing"

	"github.com/redis/rueidis"

	"retwis/examples/internal/exampletest"
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
		AddProduct: s.AddProduct, AddCustomer: s.AddCustomer, RemoveCustomer: s.RemoveCustomer, Restock: s.Restock,
		BestSellers: s.BestSellers, LowStock: s.LowStock,
		Buy: func(ctx context.Context, customer string, basket map[string]int64) (string, error) {
			order, err := s.Buy(ctx, customer, basket)
			return order.ID, err
		},
		Orders: func(ctx context.Context, customer, after string, n int) (ids []string, next string, err error) {
			orders, next, err := s.Orders(ctx, customer, after, n)
			for _, order := range orders {
				ids = append(ids, order.ID)
			}
			return ids, next, err
		},
		Order: func(ctx context.Context, id string) (map[string]int64, int64, error) {
			order, err := s.Order(ctx, id)
			return order.Lines, order.Total, err
		},
		Taken: errTaken, SoldOut: errSoldOut, Unknown: errUnknown, NoCustomer: errUnknown, HasOrders: errOrders, Quantity: errQuantity,
	}, nil
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
