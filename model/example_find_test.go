package model_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"retwis/model"
)

// Contact can be found by name, age, city and tags.
type Contact struct {
	ID   string             `redis:",id"`
	Name string             `redis:"name,index"`
	Age  int                `redis:"age,range"`
	City string             `redis:"city,range,caseinsensitive"`
	Tags []string           `redis:"tags,index"`
	Boss model.Ref[Contact] `redis:"boss,index"`
}

// Indexes declares an index for the contacts of a city sorted by age.
func (Contact) Indexes() []model.Index[Contact] {
	return []model.Index[Contact]{model.Composite[Contact]("city", "age").CaseInsensitive()}
}

// contacts returns a Store with four contacts.
func contacts(ctx context.Context, client rueidis.Client) *model.Store[Contact] {
	s, err := model.New[Contact](ctx, client, model.Options{Name: "contact"})
	must(err)
	for _, c := range []Contact{
		{Name: "Ada", Age: 36, City: "London", Tags: []string{"maths", "machines"}},
		{Name: "Edsger", Age: 72, City: "Nuenen", Tags: []string{"maths"}, Boss: model.To[Contact]("1")},
		{Name: "Grace", Age: 85, City: "Arlington", Tags: []string{"navy", "machines"}, Boss: model.To[Contact]("1")},
		{Name: "Alan", Age: 41, City: "London", Tags: []string{"maths", "machines"}, Boss: model.To[Contact]("3")},
	} {
		_, err := s.Create(ctx, c)
		must(err)
	}
	return s
}

// show prints the names and ages of contacts.
func show(all []Contact, err error) {
	must(err)
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = fmt.Sprint(c.Name, " ", c.Age)
	}
	fmt.Println(strings.Join(words, ", "))
}

// Find contacts by various conditions.
func ExampleStore_Find() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	s := contacts(ctx, client)

	show(s.Find(model.Eq("name", "Ada")).Slice(ctx))
	show(s.Find(model.Eq("tags", "machines"), model.Between("age", 40, 90)).OrderBy("age").Slice(ctx))
	show(s.Find(model.Prefix("city", "lo"), model.Not(model.Eq("name", "Ada"))).Slice(ctx))
	show(s.Find(model.Or(model.Above("age", 80), model.In("name", "Ada", "Alan"))).OrderBy("age desc").Slice(ctx))

	_, err := s.Find(model.Prefix("name", "A")).Slice(ctx)
	fmt.Println(err)
	// Output:
	// Ada 36
	// Alan 41, Grace 85
	// Alan 41
	// Grace 85, Alan 41, Ada 36
	// model: contact: no index answers this: name begins with: declare it `redis:"name,range"`
}

// Read a page, and then the next page.
func ExampleQuery_Page() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	s := contacts(ctx, client)

	q := s.Find(model.Eq("tags", "maths")).OrderBy("age").Limit(2)
	page, err := q.Page(ctx)
	show(page.Items, err)
	page, err = q.After(page.Next).Page(ctx)
	show(page.Items, err)
	fmt.Println(page.Next == "")
	// Output:
	// Ada 36, Alan 41
	// Edsger 72
	// true
}

// Read the newest contacts first, and count contacts.
func ExampleQuery_Reverse() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	s := contacts(ctx, client)

	show(s.Find().Reverse().Limit(2).Slice(ctx))
	fmt.Println(s.Count(ctx))
	fmt.Println(s.Find(model.Eq("city", "LONDON")).Count(ctx))
	// Output:
	// Alan 41, Grace 85
	// 4 <nil>
	// 2 <nil>
}

// Stream all records, a few hundred at a time.
func ExampleStore_All() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	for c, err := range contacts(ctx, client).All(ctx) {
		must(err)
		fmt.Print(c.Name, " ")
	}
	// Output: Ada Edsger Grace Alan
}

// Find the contacts that refer to Ada.
func ExampleStore_Refs() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	s := contacts(ctx, client)

	ada, err := s.Find(model.Eq("name", "Ada")).First(ctx)
	must(err)
	show(s.Refs("boss", ada.ID).OrderBy("age").Slice(ctx))
	ids, err := s.Refs("boss", ada.ID).IDs(ctx)
	fmt.Println(len(ids), err)
	// Output:
	// Edsger 72, Grace 85
	// 2 <nil>
}

// Show the query plan.
func ExampleQuery_Explain() {
	client, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	s := contacts(ctx, client)

	fmt.Println(s.Find(model.Eq("tags", "maths"), model.AtLeast("age", 72)).Explain(ctx))
	fmt.Println(s.Find(model.Eq("city", "London")).OrderBy("age").Explain(ctx))
	// Output:
	// scan index age: age >= "72" (about 2 entries)
	//   filter by tags = "maths"
	//  <nil>
	// scan index city,age: city = "London" (about 2 entries)
	// until there are enough: index city,age is in order
	//  <nil>
}
