package model_test

import (
	"context"
	"fmt"

	"retwis/maintain"
	"retwis/model"
)

// Build the index that a new version of a program declares.
func ExampleStore_Migrate() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type User struct {
		ID  string `redis:",id"`
		Age int    `redis:"age"`
	}
	users, err := model.New[User](ctx, client, model.Options{Name: "user"})
	must(err)
	for age := range 5 {
		_, err := users.Create(ctx, User{Age: 20 + age})
		must(err)
	}

	type UserNow struct {
		ID  string `redis:",id"`
		Age int    `redis:"age,range"`
	}
	now, err := model.New[UserNow](ctx, client, model.Options{Name: "user"})
	must(err)
	pending, err := now.Pending(ctx)
	must(err)
	fmt.Println(pending)
	report, err := now.Migrate(ctx, maintain.Options{})
	must(err)
	fmt.Println("checked:", report.Checked, "problems:", report.Problems())
	pending, err = now.Pending(ctx)
	must(err)
	fmt.Println(pending)
	// Output:
	// [build age (age:int)]
	// checked: 5 problems: 0
	// []
}

// Repair the index after a record was changed with redis-cli.
func ExampleStore_Repair() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type User struct {
		ID  string `redis:",id"`
		Age int    `redis:"age,range"`
	}
	users, err := model.New[User](ctx, client, model.Options{Name: "user"})
	must(err)
	_, err = users.Create(ctx, User{Age: 20})
	must(err)
	must(client.Do(ctx, client.B().Hset().Key("user:1").FieldValue().FieldValue("age", "21").Build()).Error())

	report, err := users.Verify(ctx, maintain.Options{})
	must(err)
	for _, p := range report.Examples {
		fmt.Printf("%s: %s, found %s, expected %s\n", p.Kind, p.ID, p.Found, p.Want)
	}
	report, err = users.Repair(ctx, maintain.Options{})
	must(err)
	fmt.Println("repaired:", report.Repaired)
	// Output:
	// stale: 1, found age=20, expected age=21
	// repaired: 1
}

// Verify all models without the Go types of their programs.
func ExampleModels() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	type User struct {
		ID    string `redis:",id"`
		Email string `redis:"email,unique"`
	}
	users, err := model.New[User](ctx, client, model.Options{Name: "user"})
	must(err)
	_, err = users.Create(ctx, User{Email: "anti@rez.com"})
	must(err)

	all, err := model.Models(ctx, client)
	must(err)
	for _, info := range all {
		m, err := model.Open(ctx, client, info.Name)
		must(err)
		report, err := m.Verify(ctx, maintain.Options{})
		must(err)
		fmt.Println(info.Name, info.Records, info.Indexes, "problems:", report.Problems())
	}
	// Output:
	// user 1 [{email email:string unique built}] problems: 0
}
