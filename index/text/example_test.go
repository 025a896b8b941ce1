package text_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// exampleIndex starts a server. It returns an index and a function that stops the server.
func exampleIndex(opt text.Options) (*text.Index, func()) {
	urls, stop := redistest.Example(1)
	client, err := rueidis.NewClient(rueidis.MustParseURL(urls[0]))
	if err != nil {
		log.Fatal(err)
	}
	x, err := text.New(client, "posts", opt)
	if err != nil {
		log.Fatal(err)
	}
	return x, func() { client.Close(); stop() }
}

// put puts texts as documents with the IDs 1, 2, ….
func put(x *text.Index, texts ...string) {
	for i, t := range texts {
		if err := x.Put(context.Background(), int64(i+1), text.Document{Text: t}); err != nil {
			log.Fatal(err)
		}
	}
}

// search prints the results of a query.
func search(x *text.Index, query string) {
	e, err := text.Parse(query)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := x.Search(context.Background(), text.Query{Expr: e})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(query, page.IDs)
}

// Put documents, and search with queries as people type them.
func Example() {
	posts, stop := exampleIndex(text.Options{})
	defer stop()
	put(posts, "Redis is fast", "A fast café", "Don't panic 👍", "東京都は大きい")
	search(posts, "FAST")
	search(posts, "fast -redis")
	search(posts, "cafe OR dont")
	search(posts, "pan*")
	search(posts, "👍")
	search(posts, "東京")
	search(posts, "-fast")
	// Output:
	// FAST [2 1]
	// fast -redis [2]
	// cafe OR dont [3 2]
	// pan* [3]
	// 👍 [3]
	// 東京 [4]
	// text: column 1: the query only excludes words: add a word to find
}

// Narrow a typed query with exact terms and id bounds.
func ExampleQuery() {
	ctx := context.Background()
	posts, stop := exampleIndex(text.Options{})
	defer stop()
	for id := range int64(6) {
		d := text.Document{Text: "good morning", Terms: []string{fmt.Sprint("from:", id%2)}}
		if err := posts.Put(ctx, id+1, d); err != nil {
			log.Fatal(err)
		}
	}
	e, err := text.Parse("morning -from:1", "from")
	if err != nil {
		log.Fatal(err)
	}
	q := text.Query{Expr: e, After: 1, Limit: 1}
	for {
		page, err := posts.Search(ctx, q)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(page.IDs)
		if page.Next == 0 {
			break
		}
		q.Before = page.Next
	}
	page, err := posts.Search(ctx, text.Query{With: []string{"from:1"}})
	fmt.Println(page.IDs, err)
	// Output:
	// [5]
	// [3]
	// [6 4 2] <nil>
}

// Phrase queries need the texts of the documents.
func ExampleOptions_text() {
	texts := map[int64]string{}
	posts, stop := exampleIndex(text.Options{
		Text: func(_ context.Context, ids []int64) (map[int64]string, error) { return texts, nil },
	})
	defer stop()
	texts[1], texts[2] = "the quick brown fox", "the brown quick fox"
	put(posts, texts[1], texts[2])
	search(posts, `"quick brown"`)
	search(posts, "quick brown")
	// Output:
	// "quick brown" [1]
	// quick brown [2 1]
}

// Replace with a stale text returns ErrConflict and changes nothing.
func ExampleIndex_Replace() {
	ctx := context.Background()
	posts, stop := exampleIndex(text.Options{})
	defer stop()
	old, edited := text.Document{Text: "Helo"}, text.Document{Text: "Hello"}
	fmt.Println(posts.Put(ctx, 1, old))
	fmt.Println(posts.Replace(ctx, 1, old, edited))
	err := posts.Replace(ctx, 1, old, text.Document{Text: "Help"})
	fmt.Println(errors.Is(err, text.ErrConflict))
	search(posts, "hello")

	fmt.Println(posts.Remove(ctx, 1, edited))
	fmt.Println(errors.Is(posts.Put(ctx, 1, old), text.ErrRemoved))
	// Output:
	// <nil>
	// <nil>
	// true
	// hello [1]
	// <nil>
	// true
}

// With Options.Language, a query finds all forms of a word.
func ExampleOptions_language() {
	posts, stop := exampleIndex(text.Options{Language: "english"})
	defer stop()
	put(posts, "She runs", "Running dogs")
	search(posts, "run")
	search(posts, "dog")
	search(posts, "dogs running*")
	// Output:
	// run [2 1]
	// dog [2]
	// dogs running* [2]
}

// Report what a search reads.
func ExampleIndex_Explain() {
	posts, stop := exampleIndex(text.Options{})
	defer stop()
	put(posts, "a b", "b", "b c")
	e, err := posts.Explain(context.Background(), text.Query{Expr: text.And(text.Word("a"), text.Word("b"))})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range e.Terms {
		fmt.Println(t.Term, t.Documents)
	}
	fmt.Println(e.IDs, e.RoundTrips, e.Segments, e.Candidates)
	// Output:
	// a 1
	// b 3
	// [1] 1 0 1
}

// Compare an index with its objects, and repair the index.
func ExampleIndex_Repair() {
	ctx := context.Background()
	posts, stop := exampleIndex(text.Options{})
	defer stop()
	put(posts, "one", "two", "three")
	objects := []index.Object[text.Document]{{ID: "1", Value: text.Document{Text: "one"}}, {ID: "2", Value: text.Document{Text: "zwei"}}}
	source := &index.Source[text.Document]{
		All: index.Objects(func(yield func(index.Object[text.Document], error) bool) {
			_ = yield(objects[0], nil) && yield(objects[1], nil)
		}).All,
		Lookup: func(_ context.Context, ids []string) (found []index.Object[text.Document], err error) {
			for _, o := range objects {
				for _, id := range ids {
					if o.ID == id {
						found = append(found, o)
					}
				}
			}
			return found, nil
		},
	}
	report, err := posts.Repair(ctx, source, maintain.Options{})
	fmt.Println(report.Stale, report.Dangling, report.Repaired, err)
	search(posts, "two OR three")
	search(posts, "zwei")
	// Output:
	// 1 1 2 <nil>
	// two OR three []
	// zwei [2]
}
