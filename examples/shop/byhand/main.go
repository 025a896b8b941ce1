// Command byhand is the shop of examples/shop without package model: each key, index and
// script is written by hand.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/redis/rueidis"
)

// Order is what a customer has bought, by product.
type Order struct {
	ID       string
	Customer string
	Lines    map[string]int64
	Total    int64
}

var (
	errTaken    = errors.New("taken")
	errSoldOut  = errors.New("sold out")
	errQuantity = errors.New("an order needs at least one of each product")
	errUnknown  = errors.New("unknown")
	errOrders   = errors.New("the customer has orders")
)

// Shop keeps its data in Redis:
//
//	product:<id>         hash: name, price, stock, sold
//	products.by.stock    sorted set: ids by stock
//	products.by.sold     sorted set: ids by how many were sold
//	customer:<id>        hash: name, email
//	customers.by.email   hash: email to id
//	customer:<id>:orders list: ids, newest first
//	order:<id>           string: JSON
type Shop struct{ client rueidis.Client }

// addProduct: KEYS are the product and the two indexes, ARGV id, name, price and stock.
var addProduct = rueidis.NewLuaScript(`
redis.call('HSET', KEYS[1], 'name', ARGV[2], 'price', ARGV[3], 'stock', ARGV[4], 'sold', 0)
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
redis.call('ZADD', KEYS[3], 0, ARGV[1])`)

// AddProduct adds a product and returns its id.
func (s *Shop) AddProduct(ctx context.Context, name string, price, stock int64) (string, error) {
	id, err := s.nextID(ctx, "next_product_id")
	if err != nil {
		return "", err
	}
	err = addProduct.Exec(ctx, s.client, []string{"product:" + id, "products.by.stock", "products.by.sold"},
		[]string{id, name, number(price), number(stock)}).Error()
	return id, ignoreNil(err)
}

// addCustomer: KEYS are the customer and the emails, ARGV id, name and email.
var addCustomer = rueidis.NewLuaScript(`
if redis.call('HSETNX', KEYS[2], ARGV[3], ARGV[1]) == 0 then
	return redis.error_reply('TAKEN')
end
redis.call('HSET', KEYS[1], 'name', ARGV[2], 'email', ARGV[3])`)

// AddCustomer adds a customer and returns its id. An email belongs to one customer.
func (s *Shop) AddCustomer(ctx context.Context, name, email string) (string, error) {
	id, err := s.nextID(ctx, "next_customer_id")
	if err != nil {
		return "", err
	}
	err = addCustomer.Exec(ctx, s.client, []string{"customer:" + id, "customers.by.email"}, []string{id, name, email}).Error()
	return id, ignoreNil(known(err))
}

// removeCustomer: KEYS are the customer, its orders and the emails.
var removeCustomer = rueidis.NewLuaScript(`
if redis.call('EXISTS', KEYS[2]) == 1 then
	return redis.error_reply('ORDERS')
end
local email = redis.call('HGET', KEYS[1], 'email')
if not email then
	return redis.error_reply('UNKNOWN')
end
redis.call('HDEL', KEYS[3], email)
redis.call('DEL', KEYS[1])`)

// RemoveCustomer removes a customer without orders.
func (s *Shop) RemoveCustomer(ctx context.Context, id string) error {
	return ignoreNil(known(removeCustomer.Exec(ctx, s.client,
		[]string{"customer:" + id, "customer:" + id + ":orders", "customers.by.email"}, nil).Error()))
}

// restock: KEYS are the product and the index of the stock, ARGV id and how many.
var restock = rueidis.NewLuaScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
	return redis.error_reply('UNKNOWN')
end
redis.call('HINCRBY', KEYS[1], 'stock', ARGV[2])
redis.call('ZINCRBY', KEYS[2], ARGV[2], ARGV[1])`)

// Restock adds to the stock of a product.
func (s *Shop) Restock(ctx context.Context, product string, n int64) error {
	return ignoreNil(known(restock.Exec(ctx, s.client, []string{"product:" + product, "products.by.stock"}, []string{product, number(n)}).Error()))
}

// buy: KEYS are the customer, its orders, the order, the two indexes and the products, ARGV
// the id of the order, that of the customer, and of each product its id and how many.
var buy = rueidis.NewLuaScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then
	return redis.error_reply('UNKNOWN')
end
local total, lines = 0, {}
for i = 6, #KEYS do
	local id, n = ARGV[2 * i - 9], ARGV[2 * i - 8]
	local product = redis.call('HMGET', KEYS[i], 'price', 'stock')
	if not product[1] then
		return redis.error_reply('UNKNOWN')
	end
	if tonumber(product[2]) < tonumber(n) then
		return redis.error_reply('SOLDOUT')
	end
	total, lines[id] = total + product[1] * n, tonumber(n)
end
for i = 6, #KEYS do
	local id, n = ARGV[2 * i - 9], ARGV[2 * i - 8]
	redis.call('HINCRBY', KEYS[i], 'stock', -n)
	redis.call('HINCRBY', KEYS[i], 'sold', n)
	redis.call('ZINCRBY', KEYS[4], -n, id)
	redis.call('ZINCRBY', KEYS[5], n, id)
end
local order = cjson.encode({ID = ARGV[1], Customer = ARGV[2], Lines = lines, Total = total})
redis.call('SET', KEYS[3], order)
redis.call('LPUSH', KEYS[2], ARGV[1])
return order`)

// Buy orders some products for a customer, all of them or none.
func (s *Shop) Buy(ctx context.Context, customer string, basket map[string]int64) (Order, error) {
	id, err := s.nextID(ctx, "next_order_id")
	if err != nil {
		return Order{}, err
	}
	keys := []string{"customer:" + customer, "customer:" + customer + ":orders", "order:" + id, "products.by.stock", "products.by.sold"}
	args := []string{id, customer}
	for _, product := range slices.Sorted(maps.Keys(basket)) {
		if basket[product] < 1 {
			return Order{}, errQuantity
		}
		keys, args = append(keys, "product:"+product), append(args, product, number(basket[product]))
	}
	return readOrder(buy.Exec(ctx, s.client, keys, args))
}

func readOrder(reply rueidis.RedisResult) (order Order, err error) {
	text, err := reply.AsBytes()
	if err != nil {
		return order, known(err)
	}
	return order, json.Unmarshal(text, &order)
}

// Order returns an order.
func (s *Shop) Order(ctx context.Context, id string) (Order, error) {
	return readOrder(s.client.Do(ctx, s.client.B().Get().Key("order:"+id).Build()))
}

// Orders returns a page of a customer's orders, newest first, and where the next page
// begins.
func (s *Shop) Orders(ctx context.Context, customer, after string, n int) (orders []Order, next string, err error) {
	from := int64(0)
	key := "customer:" + customer + ":orders"
	if after != "" {
		at, err := s.client.Do(ctx, s.client.B().Lpos().Key(key).Element(after).Build()).AsInt64()
		if err != nil {
			return nil, "", err
		}
		from = at + 1
	}
	ids, err := s.client.Do(ctx, s.client.B().Lrange().Key(key).Start(from).Stop(from+int64(n)).Build()).AsStrSlice()
	if err != nil {
		return nil, "", err
	}
	if len(ids) > n {
		ids, next = ids[:n], ids[n-1]
	}
	var commands rueidis.Commands
	for _, id := range ids {
		commands = append(commands, s.client.B().Get().Key("order:"+id).Build())
	}
	for _, reply := range s.client.DoMulti(ctx, commands...) {
		order, err := readOrder(reply)
		if err != nil {
			return nil, "", err
		}
		orders = append(orders, order)
	}
	return orders, next, nil
}

// BestSellers returns the names of the products that were sold most.
func (s *Shop) BestSellers(ctx context.Context, n int) ([]string, error) {
	ids, err := s.client.Do(ctx, s.client.B().Zrevrange().Key("products.by.sold").Start(0).Stop(int64(n)-1).Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	return s.names(ctx, ids)
}

// LowStock returns the names of the products of which there are at most so many.
func (s *Shop) LowStock(ctx context.Context, most int64) ([]string, error) {
	ids, err := s.client.Do(ctx, s.client.B().Zrangebyscore().Key("products.by.stock").Min("-inf").Max(number(most)).Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	return s.names(ctx, ids)
}

func (s *Shop) names(ctx context.Context, ids []string) ([]string, error) {
	var commands rueidis.Commands
	for _, id := range ids {
		commands = append(commands, s.client.B().Hget().Key("product:"+id).Field("name").Build())
	}
	names := make([]string, len(ids))
	for i, reply := range s.client.DoMulti(ctx, commands...) {
		var err error
		if names[i], err = reply.ToString(); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (s *Shop) nextID(ctx context.Context, counter string) (string, error) {
	id, err := s.client.Do(ctx, s.client.B().Incr().Key(counter).Build()).AsInt64()
	return number(id), err
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// known turns the error of a script into one of this program.
func known(err error) error {
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return err
	}
	switch e.Error() {
	case "TAKEN":
		return errTaken
	case "SOLDOUT":
		return errSoldOut
	case "UNKNOWN":
		return errUnknown
	case "ORDERS":
		return errOrders
	}
	return err
}

// ignoreNil ignores that a script returns nothing.
func ignoreNil(err error) error {
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return err
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

func open(client rueidis.Client) (*Shop, error) { return &Shop{client}, nil }

func run(ctx context.Context, client rueidis.Client, out io.Writer) error {
	shop, err := open(client)
	if err != nil {
		return err
	}
	tea, err := shop.AddProduct(ctx, "tea", 450, 3)
	if err != nil {
		return err
	}
	pot, err := shop.AddProduct(ctx, "pot", 2500, 1)
	if err != nil {
		return err
	}
	ada, err := shop.AddCustomer(ctx, "Ada", "ada@example.com")
	if err != nil {
		return err
	}
	for _, basket := range []map[string]int64{{tea: 1, pot: 1}, {tea: 1, pot: 1}, {tea: 2}} {
		switch order, err := shop.Buy(ctx, ada, basket); {
		case errors.Is(err, errSoldOut):
			fmt.Fprintln(out, "sorry, sold out")
		case err != nil:
			return err
		default:
			fmt.Fprintln(out, "sold for", order.Total)
		}
	}
	if err := shop.Restock(ctx, pot, 10); err != nil {
		return err
	}
	best, err := shop.BestSellers(ctx, 10)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "best seller:", best[0])
	low, err := shop.LowStock(ctx, 5)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "to reorder:", low[0])
	orders, _, err := shop.Orders(ctx, ada, "", 10)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "orders of Ada:", len(orders))
	if err := shop.RemoveCustomer(ctx, ada); errors.Is(err, errOrders) {
		fmt.Fprintln(out, "Ada has orders, and stays")
	}
	return nil
}
