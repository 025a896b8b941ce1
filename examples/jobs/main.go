// Command jobs is a job board. It finds jobs by words, company, city, level, tags, salary and remote
// work, in pages, and counts them by city, level and tag.
//
//	go run ./examples/jobs redis://127.0.0.1:6379
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/redis/rueidis"

	"retwis/model"
)

// Job is a job advertisement. The salary is in thousands per year.
type Job struct {
	ID      int64    `redis:",id"`
	Title   string   `redis:"title"`
	Company string   `redis:"company,index"`
	City    string   `redis:"city,index"`
	Level   string   `redis:"level,index"`
	Tags    []string `redis:"tag,index"`
	Remote  bool     `redis:"remote,index"`
	Salary  int64    `redis:"salary,range"`
}

// Indexes adds an index of the words in the titles.
func (Job) Indexes() []model.Index[Job] {
	return []model.Index[Job]{model.Computed("word", func(j Job) []string { return words(j.Title) })}
}

// words returns the words of a text in lower case.
func words(text string) []string { return strings.Fields(strings.ToLower(text)) }

// Filter selects jobs. Zero fields match all jobs.
type Filter struct {
	Words, Company, City, Level string
	Tags                        []string
	Remote                      bool
	Salary                      int64 // minimum
	BySalary                    bool  // sorts by salary, highest first, instead of newest first
}

// Page is a page of search results.
type Page struct {
	Jobs   []Job
	Next   string // the cursor of the next page
	Total  int64
	Facets map[string]map[string]int64 // number of matching jobs by city, level and tag
}

// Board keeps its jobs in Redis.
type Board struct{ Store *model.Store[Job] }

func open(ctx context.Context, client rueidis.Client) (Board, error) {
	jobs, err := model.New[Job](ctx, client, model.Options{Name: "job"})
	return Board{jobs}, err
}

// query returns the query for the jobs that match a filter.
func (b Board) query(f Filter) *model.Query[Job] {
	var conds []model.Cond
	for _, c := range []struct{ field, value string }{{"company", f.Company}, {"city", f.City}, {"level", f.Level}} {
		if c.value != "" {
			conds = append(conds, model.Eq(c.field, c.value))
		}
	}
	for _, tag := range f.Tags {
		conds = append(conds, model.Eq("tag", tag))
	}
	for _, word := range words(f.Words) {
		conds = append(conds, model.Eq("word", word))
	}
	if f.Remote {
		conds = append(conds, model.Eq("remote", true))
	}
	if f.Salary > 0 {
		conds = append(conds, model.AtLeast("salary", f.Salary))
	}
	if f.BySalary {
		return b.Store.Find(conds...).OrderBy("salary desc")
	}
	return b.Store.Find(conds...).Newest()
}

// Search returns the page of matching jobs after a cursor, with counts of all matching jobs.
func (b Board) Search(ctx context.Context, f Filter, after string, n int) (Page, error) {
	query := b.query(f)
	found, err := query.After(after).Limit(n).Page(ctx)
	if err != nil {
		return Page{}, err
	}
	page := Page{Jobs: found.Items, Next: found.Next, Facets: map[string]map[string]int64{"city": {}, "level": {}, "tag": {}}}
	for field, counts := range page.Facets {
		values, err := query.CountBy(ctx, field, 0)
		if err != nil {
			return page, err
		}
		for _, v := range values {
			counts[v.Value] = v.Count
		}
	}
	page.Total, err = query.Count(ctx)
	return page, err
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./examples/jobs redis://127.0.0.1:6379")
		os.Exit(2)
	}
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

func run(ctx context.Context, client rueidis.Client, out io.Writer) error {
	board, err := open(ctx, client)
	if err != nil {
		return err
	}
	for _, job := range []Job{
		{Title: "Go developer", Company: "Acme", City: "Berlin", Level: "senior", Tags: []string{"go", "redis"}, Salary: 80},
		{Title: "Database developer", Company: "Acme", City: "Paris", Level: "junior", Tags: []string{"redis"}, Remote: true, Salary: 55},
		{Title: "Gardener", Company: "Flora", City: "Berlin", Level: "junior", Salary: 30},
	} {
		if _, err := board.Store.Create(ctx, job); err != nil {
			return err
		}
	}
	page, err := board.Search(ctx, Filter{Words: "developer", Tags: []string{"redis"}, Salary: 50}, "", 10)
	if err != nil {
		return err
	}
	for _, job := range page.Jobs {
		fmt.Fprintln(out, job.Title, job.City, job.Salary)
	}
	fmt.Fprintln(out, page.Total, page.Facets)
	return nil
}
