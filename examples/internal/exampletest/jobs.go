package exampletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"
)

// Job is an advertisement.
type Job struct {
	ID      int64
	Title   string
	Company string
	City    string
	Level   string
	Tags    []string
	Remote  bool
	Salary  int64
}

// Filter says which jobs are wanted.
type Filter struct {
	Words, Company, City, Level string
	Tags                        []string
	Remote                      bool
	Salary                      int64 // at least
	BySalary                    bool  // the best paid first, not the newest
}

// Facets are how many of the jobs that were found have a city, level or tag.
type Facets = map[string]map[string]int64

// Board is a job board.
type Board struct {
	Post   func(ctx context.Context, job Job) (id int64, err error)
	Change func(ctx context.Context, job Job) error
	Remove func(ctx context.Context, id int64) error
	// Search returns the ids of a page, where the next one begins, and the number of all
	// that fit.
	Search func(ctx context.Context, f Filter, after string, n int) (ids []int64, next string, total int64, facets Facets, err error)

	Unknown error
}

// OpenBoard opens the job board of a database.
type OpenBoard func(client rueidis.Client) (Board, error)

// CheckBoard compares searches with those in a list in memory.
func CheckBoard(t *testing.T, open OpenBoard) {
	client := Client(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := background()
		if err := client.Do(ctx, client.B().Flushdb().Build()).Error(); err != nil {
			t.Fatal(err)
		}
		b := must[Board](t)(open(client))
		jobs := map[int64]Job{}
		for range rapid.IntRange(0, 40).Draw(t, "jobs") {
			job := drawJob(t)
			job.ID = must[int64](t)(b.Post(ctx, job))
			jobs[job.ID] = job
		}
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				job := drawJob(t)
				job.ID = must[int64](t)(b.Post(ctx, job))
				jobs[job.ID] = job
			},
			"change": func(t *rapid.T) {
				job := drawJob(t)
				job.ID = rapid.Int64Range(1, int64(len(jobs)+2)).Draw(t, "id")
				_, known := jobs[job.ID]
				if err := b.Change(ctx, job); known && err != nil || !known && !errors.Is(err, b.Unknown) {
					t.Fatalf("change %d: %v", job.ID, err)
				}
				if known {
					jobs[job.ID] = job
				}
			},
			"remove": func(t *rapid.T) {
				id := rapid.Int64Range(1, int64(len(jobs)+2)).Draw(t, "id")
				_, known := jobs[id]
				if err := b.Remove(ctx, id); known && err != nil || !known && !errors.Is(err, b.Unknown) {
					t.Fatalf("remove %d: %v", id, err)
				}
				delete(jobs, id)
			},
			"": func(t *rapid.T) { checkSearch(t, ctx, b, jobs) },
		})
	})
}

var (
	titles    = []string{"Go developer", "senior Go developer", "Gardener", "developer of databases", "", "go GO go"}
	companies = []string{"Acme", "Flora", "Acme & Söhne"}
	cities    = []string{"Berlin", "Paris", "New York", "a:b\n"}
	levels    = []string{"junior", "senior"}
	tags      = []string{"go", "redis", "sql", "sql:redis", "x\ny"}
)

func drawJob(t *rapid.T) Job {
	return Job{
		Title: rapid.SampledFrom(titles).Draw(t, "title"), Company: rapid.SampledFrom(companies).Draw(t, "company"),
		City: rapid.SampledFrom(cities).Draw(t, "city"), Level: rapid.SampledFrom(levels).Draw(t, "level"),
		Tags:   rapid.SliceOfNDistinct(rapid.SampledFrom(tags), 0, 3, rapid.ID).Draw(t, "tags"),
		Remote: rapid.Bool().Draw(t, "remote"), Salary: rapid.Int64Range(0, 5).Draw(t, "salary") * 10,
	}
}

func drawFilter(t *rapid.T) Filter {
	some := func(of []string) *rapid.Generator[string] {
		return rapid.SampledFrom(append([]string{"", "", ""}, of...))
	}
	return Filter{
		Words:   some([]string{"go", "developer", "GO Developer", "nothing"}).Draw(t, "words"),
		Company: some(companies).Draw(t, "company"), City: some(cities).Draw(t, "city"), Level: some(levels).Draw(t, "level"),
		Tags:   rapid.SliceOfNDistinct(rapid.SampledFrom(tags), 0, 2, rapid.ID).Draw(t, "tags"),
		Remote: rapid.IntRange(0, 3).Draw(t, "remote") == 0, Salary: rapid.Int64Range(0, 6).Draw(t, "salary") * 10,
		BySalary: rapid.Bool().Draw(t, "by salary"),
	}
}

// checkSearch searches once, and reads all pages.
func checkSearch(t *rapid.T, ctx context.Context, b Board, jobs map[int64]Job) {
	f := drawFilter(t)
	var want []Job
	facets := Facets{"city": {}, "level": {}, "tag": {}}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(jobs))) {
		job := jobs[id]
		if !f.fits(job) {
			continue
		}
		want = append(want, job)
		facets["city"][job.City]++
		facets["level"][job.Level]++
		for _, tag := range job.Tags {
			facets["tag"][tag]++
		}
	}
	n := rapid.IntRange(1, 10).Draw(t, "n")
	var all []int64
	for next, more := "", true; more; more = next != "" {
		ids, after, total, counted, err := b.Search(ctx, f, next, n)
		if err != nil {
			t.Fatal(err)
		}
		next = after
		if all = append(all, ids...); len(ids) > n || next != "" && len(ids) < n {
			t.Fatalf("%d jobs on a page of %d", len(ids), n)
		}
		if total != int64(len(want)) || fmt.Sprint(counted) != fmt.Sprint(facets) {
			t.Fatalf("%+v: %d jobs, %v; want %d, %v", f, total, counted, len(want), facets)
		}
		if len(all) > len(want) {
			break
		}
	}
	if f.BySalary {
		if !slices.IsSortedFunc(all, func(a, b int64) int { return -cmp.Compare(jobs[a].Salary, jobs[b].Salary) }) {
			t.Fatalf("not in the order of the salary: %v", all)
		}
		slices.SortFunc(all, func(a, b int64) int { return -cmp.Compare(a, b) })
	}
	if !slices.EqualFunc(all, want, func(id int64, job Job) bool { return id == job.ID }) {
		t.Fatalf("%+v: %v; want %v", f, all, want)
	}
}

func (f Filter) fits(job Job) bool {
	words := strings.Fields(strings.ToLower(job.Title))
	for _, word := range strings.Fields(strings.ToLower(f.Words)) {
		if !slices.Contains(words, word) {
			return false
		}
	}
	for _, tag := range f.Tags {
		if !slices.Contains(job.Tags, tag) {
			return false
		}
	}
	return (f.Company == "" || f.Company == job.Company) && (f.City == "" || f.City == job.City) &&
		(f.Level == "" || f.Level == job.Level) && (!f.Remote || job.Remote) && job.Salary >= f.Salary
}
