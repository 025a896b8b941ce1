// Command byhand is the job board of examples/jobs without package model: each key, index
// and script is written by hand, for one server.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// Job is an advertisement. The salary is in thousands a year.
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

// Filter says which jobs are wanted; what is empty does not matter.
type Filter struct {
	Words, Company, City, Level string
	Tags                        []string
	Remote                      bool
	Salary                      int64 // at least
	BySalary                    bool  // the best paid first, not the newest
}

// Page is a part of what was found.
type Page struct {
	Jobs   []Job
	Next   string // where the next page begins
	Total  int64
	Facets map[string]map[string]int64 // how many of the jobs have a city, level or tag
}

var errUnknown = errors.New("unknown")

// Board keeps its data in Redis:
//
//	job:<id>                 hash: json, sets, salary
//	jobs.by.posted           sorted set: ids by themselves
//	jobs.by.salary           sorted set: ids by salary
//	jobs.by.<field>:<value>  set: ids
type Board struct{ client rueidis.Client }

// save: KEYS are the job and the two sorted sets, ARGV its id, JSON and salary, and the
// indexes that it should be in. It leaves those that it was in, which are in its hash.
var save = rueidis.NewLuaScript(`
for _, key in ipairs(cjson.decode(redis.call('HGET', KEYS[1], 'sets') or '[]')) do
	redis.call('SREM', key, ARGV[1])
end
for i = 4, #ARGV do
	redis.call('SADD', ARGV[i], ARGV[1])
end
redis.call('HSET', KEYS[1], 'json', ARGV[2], 'sets', cjson.encode({unpack(ARGV, 4)}))
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1])`)

// remove: KEYS are the job and the two sorted sets, ARGV its id.
var remove = rueidis.NewLuaScript(`
local sets = redis.call('HGET', KEYS[1], 'sets')
if not sets then
	return 0
end
for _, key in ipairs(cjson.decode(sets)) do
	redis.call('SREM', key, ARGV[1])
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return redis.call('DEL', KEYS[1])`)

// Post publishes a job and returns its id.
func (b *Board) Post(ctx context.Context, job Job) (id int64, err error) {
	if job.ID, err = b.client.Do(ctx, b.client.B().Incr().Key("next_job_id").Build()).AsInt64(); err != nil {
		return 0, err
	}
	return job.ID, b.save(ctx, job)
}

// Change changes a job.
func (b *Board) Change(ctx context.Context, job Job) error {
	n, err := b.client.Do(ctx, b.client.B().Exists().Key(key(job.ID)).Build()).AsInt64()
	if err != nil {
		return err
	}
	if n == 0 {
		return errUnknown
	}
	return b.save(ctx, job)
}

func (b *Board) save(ctx context.Context, job Job) error {
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	args := append([]string{number(job.ID), string(text), number(job.Salary)}, job.sets()...)
	err = save.Exec(ctx, b.client, []string{key(job.ID), "jobs.by.posted", "jobs.by.salary"}, args).Error()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return err
}

// sets returns the keys of the sets that a job is in.
func (job Job) sets() []string {
	all := []string{set("company", job.Company), set("city", job.City), set("level", job.Level)}
	if job.Remote {
		all = append(all, "jobs.by.remote")
	}
	for _, tag := range job.Tags {
		all = append(all, set("tag", tag))
	}
	for _, word := range words(job.Title) {
		all = append(all, set("word", word))
	}
	return all
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func key(id int64) string { return "job:" + number(id) }

func set(field, value string) string { return "jobs.by." + field + ":" + value }

func words(text string) []string { return strings.Fields(strings.ToLower(text)) }

// Remove takes a job off the board.
func (b *Board) Remove(ctx context.Context, id int64) error {
	n, err := remove.Exec(ctx, b.client, []string{key(id), "jobs.by.posted", "jobs.by.salary"}, []string{number(id)}).AsInt64()
	if err == nil && n == 0 {
		err = errUnknown
	}
	return err
}

// search: KEYS are two temporary keys, the index of the order, that of the salary and the
// sets of the conditions, ARGV the least salary, after which id, and how many jobs.
var search = rueidis.NewLuaScript(`
local inter = {'ZINTERSTORE', KEYS[1], #KEYS - 2, unpack(KEYS, 3)}
inter[#inter + 1] = 'WEIGHTS'
for i = 3, #KEYS do
	inter[#inter + 1] = i == 4 and 1 or 0
end
redis.call(unpack(inter))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1])
redis.call('ZINTERSTORE', KEYS[2], 2, KEYS[1], KEYS[3], 'WEIGHTS', 0, 1)
local total, facets, jobs = redis.call('ZCARD', KEYS[2]), {}, {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
	for _, key in ipairs(cjson.decode(redis.call('HGET', 'job:' .. id, 'sets'))) do
		facets[key] = (facets[key] or 0) + 1
	end
end
local from = ARGV[2] ~= '' and redis.call('ZREVRANK', KEYS[2], ARGV[2]) + 1 or 0
for i, id in ipairs(redis.call('ZREVRANGE', KEYS[2], from, from + ARGV[3] - 1)) do
	jobs[i] = redis.call('HGET', 'job:' .. id, 'json')
end
redis.call('DEL', KEYS[1], KEYS[2])
local flat = {}
for key, n in pairs(facets) do
	flat[#flat + 1] = key
	flat[#flat + 1] = tostring(n)
end
return {total, jobs, flat}`)

// Search returns a page of the jobs that fit a filter, after the one that was the last on
// the page before, and counts all of them.
func (b *Board) Search(ctx context.Context, f Filter, after string, n int) (Page, error) {
	order := "jobs.by.posted"
	if f.BySalary {
		order = "jobs.by.salary"
	}
	keys := []string{"jobs.tmp.1", "jobs.tmp.2", order, "jobs.by.salary"}
	for field, value := range map[string]string{"company": f.Company, "city": f.City, "level": f.Level} {
		if value != "" {
			keys = append(keys, set(field, value))
		}
	}
	for _, tag := range f.Tags {
		keys = append(keys, set("tag", tag))
	}
	for _, word := range words(f.Words) {
		keys = append(keys, set("word", word))
	}
	if f.Remote {
		keys = append(keys, "jobs.by.remote")
	}
	reply, err := search.Exec(ctx, b.client, keys, []string{number(f.Salary), after, strconv.Itoa(n + 1)}).ToArray()
	if err != nil {
		return Page{}, err
	}
	return page(reply, n)
}

// page reads the reply of a search for one job more than a page has.
func page(reply []rueidis.RedisMessage, n int) (p Page, err error) {
	if p.Total, err = reply[0].AsInt64(); err != nil {
		return p, err
	}
	jobs, err := reply[1].AsStrSlice()
	if err != nil {
		return p, err
	}
	more := len(jobs) > n
	for _, text := range jobs[:min(n, len(jobs))] {
		var job Job
		if err := json.Unmarshal([]byte(text), &job); err != nil {
			return p, err
		}
		p.Jobs = append(p.Jobs, job)
	}
	if more {
		p.Next = number(p.Jobs[n-1].ID)
	}
	facets, err := reply[2].AsStrSlice()
	p.Facets = map[string]map[string]int64{"city": {}, "level": {}, "tag": {}}
	for pair := range slices.Chunk(facets, 2) {
		field, value, _ := strings.Cut(strings.TrimPrefix(pair[0], "jobs.by."), ":")
		if counts := p.Facets[field]; counts != nil {
			if counts[value], err = strconv.ParseInt(pair[1], 10, 64); err != nil {
				return p, err
			}
		}
	}
	return p, err
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

func open(client rueidis.Client) (*Board, error) { return &Board{client}, nil }

func run(ctx context.Context, client rueidis.Client, out io.Writer) error {
	board, err := open(client)
	if err != nil {
		return err
	}
	for _, job := range []Job{
		{Title: "Go developer", Company: "Acme", City: "Berlin", Level: "senior", Tags: []string{"go", "redis"}, Salary: 80},
		{Title: "Database developer", Company: "Acme", City: "Paris", Level: "junior", Tags: []string{"redis"}, Remote: true, Salary: 55},
		{Title: "Gardener", Company: "Flora", City: "Berlin", Level: "junior", Salary: 30},
	} {
		if _, err := board.Post(ctx, job); err != nil {
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
