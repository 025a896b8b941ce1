package graph_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/graph"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// connect starts a server. It returns a client and a function that stops both.
func connect() (rueidis.Client, func()) {
	urls, stop := redistest.Example(1)
	option, err := rueidis.ParseURL(urls[0])
	if err != nil {
		log.Fatal(err)
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		log.Fatal(err)
	}
	return client, func() { client.Close(); stop() }
}

// The tutorial's question: which friends of matteo like beer and live in barcelona?
func Example() {
	client, stop := connect()
	defer stop()
	ctx := context.Background()

	g, err := graph.New(client, "people", graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = g.PutMany(ctx, slices.Values([]graph.Triple{
		{S: "matteo", P: "friend-of", O: "lucio"},
		{S: "matteo", P: "friend-of", O: "maria"},
		{S: "lucio", P: "likes", O: "beer"},
		{S: "maria", P: "likes", O: "beer"},
		{S: "lucio", P: "lives-in", O: "barcelona"},
		{S: "maria", P: "lives-in", O: "palermo"},
	}))
	if err != nil {
		log.Fatal(err)
	}
	q, err := graph.Parse(`?x likes beer . ?x lives-in barcelona . matteo friend-of ?x`)
	if err != nil {
		log.Fatal(err)
	}
	for b, err := range g.Query(ctx, q) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b.Get("x"))
	}
	// Output: lucio
}

// Select the triples that match the known parts of a pattern, page by page.
func ExampleGraph_Select() {
	client, stop := connect()
	defer stop()
	ctx := context.Background()

	g, err := graph.New(client, "people", graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, friend := range []string{"beppe", "antirez", "mcollina"} {
		if _, err := g.Put(ctx, graph.Triple{S: "matteojcollina", P: "is-friend-of", O: friend}); err != nil {
			log.Fatal(err)
		}
	}
	friends := graph.Pattern{S: graph.Name("matteojcollina"), P: graph.Name("is-friend-of")}
	page := index.Page{Limit: 2}
	for range 2 {
		for t, err := range g.Select(ctx, friends, page) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(t.O)
			page.After = t.Cursor()
		}
		fmt.Println("--")
	}
	// Output:
	// antirez
	// beppe
	// --
	// mcollina
	// --
}

// Build a query from patterns and a path. Names may contain any bytes.
func ExampleGraph_Query() {
	client, stop := connect()
	defer stop()
	ctx := context.Background()

	g, err := graph.New(client, "people", graph.Options{Compact: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, pair := range [][2]string{{"ada", "grace"}, {"grace", "barbara"}, {"barbara", "ada"}, {"barbara", "frances"}} {
		if _, err := g.Put(ctx, graph.Triple{S: pair[0], P: "knows", O: pair[1]}); err != nil {
			log.Fatal(err)
		}
	}
	// Find people that ada knows indirectly.
	person := graph.Var("person")
	for b, err := range g.Query(ctx, graph.Query{
		Where:   []graph.Pattern{{S: graph.Name("ada"), P: graph.Path("knows", 2, 3), O: person}},
		Filters: []graph.Filter{graph.Compare(person, "!=", graph.Name("ada"))},
	}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b.Get("person"))
	}
	// Unordered output:
	// barbara
	// frances
}

// Sort the answers: who likes something that ada likes, oldest first?
func ExampleDesc() {
	client, stop := connect()
	defer stop()
	ctx := context.Background()

	g, err := graph.New(client, "people", graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := g.PutMany(ctx, slices.Values([]graph.Triple{
		{S: "ada", P: "likes", O: "tea"},
		{S: "ada", P: "likes", O: "chess"},
		{S: "grace", P: "likes", O: "tea"},
		{S: "alan", P: "likes", O: "chess"},
		{S: "alan", P: "likes", O: "tea"},
		{S: "grace", P: "age", O: "85"},
		{S: "alan", P: "age", O: "41"},
		{S: "ada", P: "age", O: "36"},
	})); err != nil {
		log.Fatal(err)
	}
	q, err := graph.Parse(`ada likes ?what . ?x likes ?what . ?x age ?n . ?n > 40`)
	if err != nil {
		log.Fatal(err)
	}
	q.Select, q.Distinct = []string{"x", "n"}, true
	q.OrderBy, q.Limit = []graph.SortKey{graph.Desc("n")}, 10
	for b, err := range g.Query(ctx, q) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b.Get("x"), b.Get("n"))
	}
	// Output:
	// grace 85
	// alan 41
}

// Read a file line by line: report invalid lines and put the valid triples.
func ExampleParseTSV() {
	client, stop := connect()
	defer stop()
	ctx := context.Background()

	g, err := graph.New(client, "facts", graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	file := "ada\tlikes\ttea\nada likes chess\n"
	n, err := g.PutMany(ctx, func(yield func(graph.Triple) bool) {
		lines := bufio.NewScanner(strings.NewReader(file))
		for number := 1; lines.Scan(); number++ {
			t, err := graph.ParseTSV(lines.Text())
			if err != nil {
				fmt.Printf("line %d: %v\n", number, err)
				continue
			}
			if !yield(t) {
				return
			}
		}
	})
	fmt.Println(n, err)
	// Output:
	// line 2: graph: expected subject, tab, predicate, tab, object; found 1 part
	// 1 <nil>
}

// Find and repair a missing entry while the graph is in use.
func ExampleGraph_Repair() {
	client, stop := connect()
	defer stop()
	ctx := context.Background()

	g, err := graph.New(client, "people", graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := g.Put(ctx, graph.Triple{S: "ada", P: "likes", O: "tea"}); err != nil {
		log.Fatal(err)
	}
	client.Do(ctx, client.B().Zrem().Key("people").Member("pos:likes:tea:ada").Build())
	report, err := g.Repair(ctx, nil, maintain.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range report.Examples {
		fmt.Printf("%s: %s has %s\n", p.Kind, p.ID, p.Found)
	}
	fmt.Println("repaired:", report.Repaired)
	// Output:
	// missing: spo:ada:likes:tea has spo, sop, pso, osp, ops
	// repaired: 1
}
