package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/examples/internal/exampletest"
	"retwis/model"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

func TestUsage(t *testing.T) {
	t.Parallel()
	exampletest.Usage(t)
}

const output = `Database developer Paris 55
Go developer Berlin 80
2 map[city:map[Berlin:1 Paris:1] level:map[junior:1 senior:1] tag:map[go:1 redis:2]]
`

func TestProgram(t *testing.T) {
	t.Parallel()
	exampletest.Output(t, output)
}

// TestBoard compares searches with a list in memory.
func TestBoard(t *testing.T) {
	t.Parallel()
	client := exampletest.Client(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		if err := client.Do(ctx, client.B().Flushdb().Build()).Error(); err != nil {
			t.Fatal(err)
		}
		b := exampletest.Must[Board](t)(open(t.Context(), client))
		jobs := map[int64]Job{}
		for range rapid.IntRange(0, 40).Draw(t, "jobs") {
			job := exampletest.Must[Job](t)(b.Store.Create(ctx, drawJob(t)))
			jobs[job.ID] = job
		}
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				job := exampletest.Must[Job](t)(b.Store.Create(ctx, drawJob(t)))
				jobs[job.ID] = job
			},
			"change": func(t *rapid.T) {
				job := drawJob(t)
				job.ID = rapid.Int64Range(1, int64(len(jobs)+2)).Draw(t, "id")
				_, exists := jobs[job.ID]
				if _, err := b.Store.Save(ctx, job); exists && err != nil || !exists && !errors.Is(err, model.ErrNotFound) {
					t.Fatalf("change %d: %v", job.ID, err)
				}
				if exists {
					jobs[job.ID] = job
				}
			},
			"remove": func(t *rapid.T) {
				id := rapid.Int64Range(1, int64(len(jobs)+2)).Draw(t, "id")
				_, exists := jobs[id]
				if err := b.Store.Delete(ctx, strconv.FormatInt(id, 10)); exists && err != nil || !exists && !errors.Is(err, model.ErrNotFound) {
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

// drawJob returns a random job.
func drawJob(t *rapid.T) Job {
	return Job{
		Title: rapid.SampledFrom(titles).Draw(t, "title"), Company: rapid.SampledFrom(companies).Draw(t, "company"),
		City: rapid.SampledFrom(cities).Draw(t, "city"), Level: rapid.SampledFrom(levels).Draw(t, "level"),
		Tags:   rapid.SliceOfNDistinct(rapid.SampledFrom(tags), 0, 3, rapid.ID).Draw(t, "tags"),
		Remote: rapid.Bool().Draw(t, "remote"), Salary: rapid.Int64Range(0, 5).Draw(t, "salary") * 10,
	}
}

// drawFilter returns a random filter.
func drawFilter(t *rapid.T) Filter {
	optional := func(values []string) *rapid.Generator[string] {
		return rapid.SampledFrom(append([]string{"", "", ""}, values...))
	}
	return Filter{
		Words:   optional([]string{"go", "developer", "GO Developer", "nothing"}).Draw(t, "words"),
		Company: optional(companies).Draw(t, "company"), City: optional(cities).Draw(t, "city"), Level: optional(levels).Draw(t, "level"),
		Tags:   rapid.SliceOfNDistinct(rapid.SampledFrom(tags), 0, 2, rapid.ID).Draw(t, "tags"),
		Remote: rapid.IntRange(0, 3).Draw(t, "remote") == 0, Salary: rapid.Int64Range(0, 6).Draw(t, "salary") * 10,
		BySalary: rapid.Bool().Draw(t, "by salary"),
	}
}

// checkSearch compares all pages of a random search with the jobs in memory.
func checkSearch(t *rapid.T, ctx context.Context, b Board, jobs map[int64]Job) {
	f := drawFilter(t)
	var want []Job
	facets := map[string]map[string]int64{"city": {}, "level": {}, "tag": {}}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(jobs))) {
		job := jobs[id]
		if !f.matches(job) {
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
	var got []int64
	for next, more := "", true; more; more = next != "" {
		page, err := b.Search(ctx, f, next, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Jobs {
			got = append(got, job.ID)
		}
		next = page.Next
		if len(page.Jobs) > n || next != "" && len(page.Jobs) < n {
			t.Fatalf("a page has %d jobs, want %d", len(page.Jobs), n)
		}
		if page.Total != int64(len(want)) || fmt.Sprint(page.Facets) != fmt.Sprint(facets) {
			t.Fatalf("%+v: %d jobs, %v; want %d, %v", f, page.Total, page.Facets, len(want), facets)
		}
		if len(got) > len(want) {
			break
		}
	}
	if f.BySalary {
		if !slices.IsSortedFunc(got, func(a, b int64) int { return -cmp.Compare(jobs[a].Salary, jobs[b].Salary) }) {
			t.Fatalf("the jobs %v are not sorted by salary", got)
		}
		slices.SortFunc(got, func(a, b int64) int { return -cmp.Compare(a, b) })
	}
	if !slices.EqualFunc(got, want, func(id int64, job Job) bool { return id == job.ID }) {
		t.Fatalf("%+v: %v; want %v", f, got, want)
	}
}

// matches reports whether the filter selects a job.
func (f Filter) matches(job Job) bool {
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
