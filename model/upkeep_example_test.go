package model_test

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

// upkeepServer returns a client of a server that is new.
func upkeepServer() (rueidis.Client, func()) {
	urls, stop := redistest.Example(1)
	opt, err := rueidis.ParseURL(urls[0])
	mustUpkeep(err)
	client, err := rueidis.NewClient(opt)
	mustUpkeep(err)
	return client, func() { client.Close(); stop() }
}

func mustUpkeep(err error) {
	if err != nil {
		panic(err)
	}
}

// A new edition of a program finds users by their age too.
func ExampleStore_Migrate() {
	client, stop := upkeepServer()
	defer stop()
	ctx := context.Background()

	type User struct {
		ID  string `redis:",id"`
		Age int    `redis:"age"`
	}
	users, err := model.New[User](client, model.Options{Name: "user"})
	mustUpkeep(err)
	for age := range 5 {
		_, err := users.Create(ctx, User{Age: 20 + age})
		mustUpkeep(err)
	}

	type UserNow struct {
		ID  string `redis:",id"`
		Age int    `redis:"age,range"`
	}
	now, err := model.New[UserNow](client, model.Options{Name: "user"})
	mustUpkeep(err)
	pending, err := now.Pending(ctx)
	mustUpkeep(err)
	fmt.Println(pending)
	report, err := now.Migrate(ctx, model.Upkeep{})
	mustUpkeep(err)
	fmt.Println("checked:", report.Checked, "problems:", report.Problems())
	pending, err = now.Pending(ctx)
	mustUpkeep(err)
	fmt.Println(pending)
	// Output:
	// [build age (age:int)]
	// checked: 5 problems: 0
	// []
}

// Somebody has changed a record with redis-cli, and the index does not know.
func ExampleStore_Repair() {
	client, stop := upkeepServer()
	defer stop()
	ctx := context.Background()

	type User struct {
		ID  string `redis:",id"`
		Age int    `redis:"age,range"`
	}
	users, err := model.New[User](client, model.Options{Name: "user"})
	mustUpkeep(err)
	_, err = users.Create(ctx, User{Age: 20})
	mustUpkeep(err)
	mustUpkeep(client.Do(ctx, client.B().Hset().Key("user:1").FieldValue().FieldValue("age", "21").Build()).Error())

	report, err := users.Verify(ctx, model.Upkeep{})
	mustUpkeep(err)
	for _, p := range report.Examples {
		fmt.Printf("%s: %s, found %s, expected %s\n", p.Kind, p.ID, p.Found, p.Want)
	}
	report, err = users.Repair(ctx, model.Upkeep{})
	mustUpkeep(err)
	fmt.Println("repaired:", report.Repaired)
	// Output:
	// stale: 1, found age=20, expected age=21
	// repaired: 1
}

// A program that looks after databases does not know the Go types of others.
func ExampleModels() {
	client, stop := upkeepServer()
	defer stop()
	ctx := context.Background()

	type User struct {
		ID    string `redis:",id"`
		Email string `redis:"email,unique"`
	}
	users, err := model.New[User](client, model.Options{Name: "user"})
	mustUpkeep(err)
	_, err = users.Create(ctx, User{Email: "anti@rez.com"})
	mustUpkeep(err)

	all, err := model.Models(ctx, client)
	mustUpkeep(err)
	for _, info := range all {
		m, err := model.Open(ctx, client, info.Name)
		mustUpkeep(err)
		report, err := m.Verify(ctx, model.Upkeep{})
		mustUpkeep(err)
		fmt.Println(info.Name, info.Records, info.Indexes, "problems:", report.Problems())
	}
	// Output:
	// user 1 [{email email:string unique built}] problems: 0
}
