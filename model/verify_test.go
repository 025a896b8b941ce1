package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// damager changes the keys of a model, bypassing the model.
type damager struct {
	t      testing.TB
	client rueidis.Client
	opt    model.Options
}

// do runs a command on a key.
func (d *damager) do(command ...string) rueidis.RedisResult {
	d.t.Helper()
	r := d.client.Do(d.t.Context(), d.client.B().Arbitrary(command[0]).Keys(command[1]).Args(command[2:]...).Build())
	if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
		d.t.Fatalf("%q: %v", command, err)
	}
	return r
}

// keyIn returns the key of a record, or another key in the partition of the record.
func (d *damager) keyIn(id, what string) string {
	for _, base := range d.bases() {
		there, err := d.client.Do(d.t.Context(), d.client.B().Zscore().Key(base+".all").Member(id).Build()).ToString()
		if err == nil && there != "" {
			if what == "" {
				return base + ":" + id
			}
			return base + "." + what
		}
	}
	d.t.Fatalf("no record %s", id)
	return ""
}

// bases returns the prefixes of the keys in each partition.
func (d *damager) bases() []string {
	if d.opt.Partitions < 2 {
		return []string{d.opt.Name}
	}
	var all []string
	for i := range d.opt.Partitions {
		all = append(all, fmt.Sprintf("{%s.%d}", d.opt.Name, i))
	}
	return all
}

// set changes a field of a record, bypassing the model.
func (d *damager) set(id, field, value string) {
	key := d.keyIn(id, "")
	d.do("HSET", key, field, value)
}

// unique returns the key of the hash that has a unique value.
func (d *damager) unique(index, value string) string {
	for _, base := range d.bases() {
		if _, err := d.do("HGET", base+".by."+index, value).ToString(); err == nil {
			return base + ".by." + index
		}
	}
	d.t.Fatalf("no hash has %q", value)
	return ""
}

// resident has an index of every kind, and a set.
type resident struct {
	ID      string    `redis:",id"`
	Name    string    `redis:"name,index"`
	Email   string    `redis:"email,unique,caseinsensitive"`
	Age     int       `redis:"age,range"`
	Notes   []int     `redis:"notes"`
	Friends model.Set `redis:"friends"`
	Expires time.Time `redis:"until,expires"`
}

func (resident) Indexes() []model.Index[resident] {
	return []model.Index[resident]{model.Computed("initial", func(r resident) string { return r.Name[:min(1, len(r.Name))] })}
}

// residents creates a model with residents 1 to n.
func residents(t testing.TB, client rueidis.Client, opt model.Options, n int) *model.Store[resident] {
	s := store[resident](t, client, opt)
	all := make([]resident, n)
	for i := range all {
		all[i] = resident{Name: fmt.Sprint("n", i%3), Email: fmt.Sprint("E", i+1), Age: i + 1, Notes: []int{i}}
		if i%2 == 0 {
			all[i].Expires = time.UnixMilli(4_000_000_000_000).UTC()
		}
	}
	_, err := s.CreateMany(t.Context(), all)
	checkErr(t, err)
	return s
}

// damages returns changes to a model of residents 1 to 20, with the kind and number of problems
// that Verify must report. An empty kind means any kind, and -1 any number above 0.
func damages() map[string]struct {
	do   func(d *damager)
	kind string
	n    int64
} {
	type damage = struct {
		do   func(d *damager)
		kind string
		n    int64
	}
	age := func(n int, id string) string { return lexInt(n) + id }
	return map[string]damage{
		"a record is gone":                {func(d *damager) { d.do("DEL", d.keyIn("1", "")) }, "dangling", 1},
		"a record that expires is gone":   {func(d *damager) { d.do("DEL", d.keyIn("3", "")) }, "dangling", 1},
		"no content":                      {func(d *damager) { d.do("HDEL", d.keyIn("1", "content"), "1") }, "missing", 1},
		"no content at all":               {func(d *damager) { d.do("DEL", d.keyIn("1", "content")) }, "missing", -1},
		"bad content":                     {func(d *damager) { d.do("HSET", d.keyIn("1", "content"), "1", "\x93\x00") }, "", -1},
		"content of strings":              {func(d *damager) { d.do("HSET", d.keyIn("1", "content"), "1", "\x93\x00\xa1a\xa1b") }, "", -1},
		"content that is empty":           {func(d *damager) { d.do("HSET", d.keyIn("1", "content"), "1", "") }, "", -1},
		"content of an unknown record":    {func(d *damager) { d.do("HSET", d.keyIn("1", "content"), d.idInPartitionOf("1", "77"), "\x91\x00") }, "dangling", 1},
		"not in the order of creation":    {func(d *damager) { d.do("ZREM", d.keyIn("1", "all"), "1") }, "missing", 1},
		"an unknown record in the order":  {func(d *damager) { d.do("ZADD", d.keyIn("1", "all"), "7", "nobody") }, "dangling", 1},
		"not in what expires":             {func(d *damager) { d.do("ZREM", d.keyIn("1", "expires"), "1") }, "stale", 1},
		"expires at another time":         {func(d *damager) { d.do("ZADD", d.keyIn("1", "expires"), "1", "1") }, "stale", 1},
		"listed to expire":                {func(d *damager) { d.do("ZADD", d.keyIn("2", "expires"), "4000000000000", "2") }, "stale", 1},
		"an unknown record that expires":  {func(d *damager) { d.do("ZADD", d.keyIn("1", "expires"), "4000000000000", "nobody") }, "dangling", 1},
		"never expires":                   {func(d *damager) { d.do("PERSIST", d.keyIn("1", "")) }, "stale", 1},
		"dies before its time":            {func(d *damager) { d.do("EXPIRE", d.keyIn("1", ""), "1000") }, "stale", 1},
		"lives for a while":               {func(d *damager) { d.do("EXPIRE", d.keyIn("2", ""), "1000") }, "stale", 1},
		"an entry is gone":                {func(d *damager) { d.do("ZREM", d.keyIn("1", "by.age"), age(1, "1")) }, "missing", 1},
		"an entry has a score":            {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.age"), "1", age(1, "1")) }, "missing", 1},
		"an index is gone":                {func(d *damager) { d.do("DEL", d.keyIn("1", "by.age")) }, "missing", -1},
		"rubbish in an index":             {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.age"), "0", "?") }, "dangling", 1},
		"an entry of nobody":              {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.age"), "0", age(1, "nobody")) }, "dangling", 1},
		"an entry of another value":       {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.age"), "0", age(2, "1")) }, "dangling", 1},
		"a value that no record has":      {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.name"), "0", "\x00") }, "dangling", 1},
		"a set has lost a record":         {func(d *damager) { d.do("ZREM", d.keyIn("1", "by.name:n0"), "1") }, "missing", 1},
		"a set is gone":                   {func(d *damager) { d.do("DEL", d.keyIn("1", "by.name:n0")) }, "missing", -1},
		"a set and its value are gone":    {func(d *damager) { d.do("DEL", d.keyIn("1", "by.name:n0"), d.keyIn("1", "by.name")) }, "missing", -1},
		"a record at another place":       {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.name:n0"), "0.5", "1") }, "missing", 1},
		"a set has an unknown record":     {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.name:n0"), "0", "nobody") }, "dangling", 1},
		"a set has another record":        {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.name:n1"), "1", "1") }, "dangling", 1},
		"a set that is not listed":        {func(d *damager) { d.do("ZADD", d.keyIn("1", "by.name:more"), "1", "1", "2", "nobody") }, "dangling", 2},
		"a value is not listed":           {func(d *damager) { d.do("ZREM", d.keyIn("1", "by.name"), "n0") }, "missing", -1},
		"no value is listed":              {func(d *damager) { d.do("DEL", d.keyIn("1", "by.name")) }, "missing", -1},
		"a field was changed":             {func(d *damager) { d.set("1", "age", "99") }, "stale", 1},
		"a field of a computed index":     {func(d *damager) { d.set("1", "name", "zzz") }, "stale", 1},
		"a unique field was changed":      {func(d *damager) { d.set("1", "email", "other") }, "stale", -1},
		"a unique value is gone":          {func(d *damager) { d.do("HDEL", d.unique("email", "e1"), "e1") }, "missing", 1},
		"a unique value of another":       {func(d *damager) { d.do("HSET", d.unique("email", "e1"), "e1", d.owner("2")) }, "", -1},
		"a unique value of nobody":        {func(d *damager) { d.do("HSET", d.unique("email", "e1"), "e1", d.owner("nobody")) }, "", -1},
		"an unknown unique value":         {func(d *damager) { d.do("HSET", d.unique("email", "e1"), "e99", d.owner("1")) }, "dangling", 1},
		"a set of nobody":                 {func(d *damager) { d.do("SADD", d.keyIn("1", "of.friends:")+d.idInPartitionOf("1", "77"), "x") }, "dangling", 1},
		"a record of another program":     {func(d *damager) { d.add("77", "age", "9", "email", "new") }, "missing", 1},
		"one of them without indexes":     {func(d *damager) { d.add("77", "colour", "blue") }, "missing", 1},
		"one of them that is damaged":     {func(d *damager) { d.add("77", "age", "old") }, "invalid", 1},
		"a field that cannot be read":     {func(d *damager) { d.set("1", "age", "young") }, "invalid", 1},
		"an unindexed one":                {func(d *damager) { d.set("1", "notes", "?") }, "invalid", 1},
		"a value that another record has": {func(d *damager) { d.set("1", "email", "E2") }, "", -1},
		"one that another program added":  {func(d *damager) { d.add("77", "email", "e2") }, "", -1},
		"one of them is in the index": {func(d *damager) {
			d.add("77", "email", "e77")
			d.do("HSET", d.unique("email", "e1"), "e77", d.owner("77"))
		}, "", -1},
	}
}

// owner returns the value of a hash field of a unique index that belongs to a record.
func (d *damager) owner(id string) string {
	if d.opt.Partitions > 1 {
		return id + "\x00token"
	}
	return id
}

// idInPartitionOf returns an id with a prefix in the partition of another id.
func (d *damager) idInPartitionOf(id, prefix string) string {
	if d.opt.Partitions < 2 {
		return prefix
	}
	probe := store[resident](d.t, d.client, model.Options{Name: "probe", Partitions: d.opt.Partitions, IDs: model.ClientAssigned})
	want := strings.TrimSuffix(strings.TrimPrefix(d.keyIn(id, ""), "{"+d.opt.Name+"."), "}:"+id)
	for i := range 1000 {
		other := fmt.Sprint(prefix, i)
		_, err := probe.Create(d.t.Context(), resident{ID: other, Email: other})
		if err != nil && !errors.Is(err, model.ErrTaken) {
			d.t.Fatal(err)
		}
		if n, _ := d.do("EXISTS", "{probe."+want+"}:"+other).AsInt64(); n == 1 {
			return other
		}
	}
	return prefix
}

// add writes a record as another program would.
func (d *damager) add(prefix string, fields ...string) {
	id := d.idInPartitionOf("1", prefix)
	key := strings.TrimSuffix(d.keyIn("1", ""), "1") + id
	d.do(append([]string{"HSET", key}, fields...)...)
}

// Verify finds all damage and its kind, and Repair repairs the damage, except invalid records.
func TestDamage(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "resident", func(t *testing.T, client rueidis.Client, opt model.Options) {
		for i, name := range slices.Sorted(maps.Keys(damages())) {
			damage := damages()[name]
			require.OK(t)(client.Do(t.Context(), client.B().Flushdb().Build()).Error())
			opt.Adopt = adoptAll
			s := residents(t, client, opt, 20)
			model.SetPatience(s, time.Millisecond) // no concurrent writers
			if r, err := s.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() != 0 || r.Checked < 100 {
				t.Fatalf("%s: Verify before the damage: %+v, %v", name, r, err)
			}
			damage.do(&damager{t, client, opt})
			found, err := s.Verify(t.Context(), maintain.Options{})
			if err != nil || found.Problems() == 0 || damage.n > 0 && found.Problems() != damage.n || found.Repaired != 0 {
				t.Errorf("%s: Verify: %+v, %v; want %d problems", name, found, err, damage.n)
			}
			if damage.kind != "" && string(found.Examples[0].Kind) != damage.kind {
				t.Errorf("%s: found %+v, want kind %s", name, found.Examples, damage.kind)
			}
			if opt.Partitions > 1 {
				// Confirming a unique value in another partition takes a moment.
			} else if again, err := s.Verify(t.Context(), maintain.Options{}); err != nil || again.Problems() != found.Problems() {
				t.Errorf("%s: second Verify: %+v, %v; want the same number of problems", name, again, err)
			}
			repaired, err := s.Repair(t.Context(), maintain.Options{})
			if err != nil || repaired.Repaired != repaired.Problems()-repaired.Invalid {
				t.Errorf("%s: Repair: %+v, %v; want all problems repaired except invalid records", name, repaired, err)
			}
			after, err := s.Verify(t.Context(), maintain.Options{})
			if err != nil || after.Problems() != repaired.Invalid {
				t.Errorf("%s: Verify after Repair reported %+v: %+v, %v", name, repaired, after, err)
			}
			if repaired.Invalid == 0 && !strings.Contains(name, "of them") && !strings.Contains(name, "another program") && i%redistest.Cases(3, 1) == 0 {
				checkRecreated(t, client, opt, s, name)
			}
		}
	})
}

// checkRecreated fails the test unless the indexes equal those of a model with the same records
// that was never damaged.
func checkRecreated(t testing.TB, client rueidis.Client, opt model.Options, s *model.Store[resident], name string) {
	t.Helper()
	d := damager{t, client, opt}
	before := d.entries()
	for _, base := range d.bases() {
		for _, id := range zset(t, client, base+".all") {
			r, err := s.Get(t.Context(), id)
			if err != nil {
				t.Fatal(name, err)
			}
			copied := opt
			copied.Name, copied.IDs = "copy", model.ClientAssigned
			if _, err := store[resident](t, client, copied).Create(t.Context(), r); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	d.opt.Name = "copy"
	if after := d.entries(); !slices.Equal(before, after) {
		t.Errorf("%s: the indexes hold\n%q, want\n%q", name, before, after)
	}
}

// entries returns the content of all indexes.
func (d *damager) entries() []string {
	var all []string
	for i, base := range d.bases() {
		for _, m := range slices.Sorted(slices.Values(valueSets(d.t, d.client, base, "name"))) {
			all = append(all, fmt.Sprint(i, "name", m))
		}
		for _, index := range []string{"age", "initial"} {
			for _, m := range zset(d.t, d.client, base+".by."+index) {
				all = append(all, fmt.Sprint(i, index, m))
			}
		}
		emails, err := d.do("HGETALL", base+".by.email").AsStrMap()
		if err != nil {
			d.t.Fatal(err)
		}
		for email, text := range emails {
			id, _, _ := strings.Cut(text, "\x00")
			all = append(all, fmt.Sprint(i, email, id))
		}
		for _, key := range []string{base + ".all", base + ".expires"} {
			all = append(all, fmt.Sprint(i, key[len(base):], slices.Sorted(slices.Values(zset(d.t, d.client, key)))))
		}
	}
	slices.Sort(all)
	return all
}

// Verify finds nothing during writes, and Repair corrects damage without affecting concurrent
// writes.
func TestRepairDuringWrites(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		e := editionOf[citizen](t, client, opt)
		var done atomic.Bool
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(w), 5))
				for n := 0; !done.Load() || n < 50; n++ {
					if err := e.randomWrite(t.Context(), random, 50); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 5 {
			checkVerify(t, citizens)
		}
		d := damager{t, client, opt}
		for i, base := range d.bases() {
			d.do("DEL", base+".by.age")
			d.do("ZADD", base+".by.city", "0", "rubbish")
			d.do("HSET", base+".by.email", fmt.Sprint("nobody", i), d.owner("nobody"))
			d.do("ZADD", base+".all", "0", "nobody")
		}
		if r, err := citizens.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired == 0 {
			t.Errorf("Repair: %+v, %v; want repaired problems", r, err)
		}
		done.Store(true)
		wg.Wait()
		checkVerify(t, citizens)
		agree(t, client, opt, citizens)
	})
}

// A claim whose record may still be written is not a problem; an abandoned claim is.
func TestVerifyClaims(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "resident", Partitions: 2}
	s := residents(t, client, opt, 2)
	d := damager{t, client, opt}
	claim := d.unique("email", "e1")
	model.SetPatience(s, time.Millisecond)
	for age, want := range map[time.Duration]int64{-time.Hour: 0, time.Minute: 1} {
		d.do("HSET", claim, "e1", fmt.Sprintf("9\x00token\x00%d", time.Now().Add(-age).UnixMilli()))
		d.do("HDEL", d.keyIn("1", "content"), "1") // else the value would be missing
		if r, err := s.Verify(t.Context(), maintain.Options{}); err != nil || r.Dangling != want {
			t.Errorf("claim that expired %v ago: %+v, %v; want %d dangling", age, r, err, want)
		}
	}
}

// looking is a client that calls before at each pipeline that reads a value and its record.
type looking struct {
	rueidis.Client
	key    string
	before func()
}

func (l *looking) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	if len(multi) == 3 && multi[0].Commands()[1] == l.key && multi[1].Commands()[0] == "EXISTS" {
		l.before()
	}
	return l.Client.DoMulti(ctx, multi...)
}

// Verify waits for a writer that has written its record but not yet released an old value.
func TestVerifyWaitsForSlowWriters(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	residents(t, client, model.Options{Name: "resident", Partitions: 2}, 2)
	d := damager{t, client, model.Options{Name: "resident", Partitions: 2}}
	claim := d.unique("email", "e1")
	d.do("HSET", claim, "e1", "9\x00token")
	looks := 0
	slow := &looking{Client: client, key: claim, before: func() {
		if looks++; looks == 3 {
			d.do("HDEL", claim, "e1")
		}
	}}
	s := store[resident](t, slow, d.opt)
	if r, err := s.Verify(t.Context(), maintain.Options{}); err != nil || r.Dangling != 0 || looks < 3 {
		t.Errorf("Verify read the claim %d times: %+v, %v; want at least 3 times, and no problem", looks, r, err)
	}
}

// revoking is a client that revokes the first claim of an email address, like another process that
// considers the claim abandoned.
type revoking struct {
	rueidis.Client
	d    *damager
	done atomic.Bool
}

func (r *revoking) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	r.revoke()
	return r.Client.Do(ctx, cmd)
}

func (r *revoking) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	r.revoke()
	return r.Client.DoMulti(ctx, multi...)
}

func (r *revoking) revoke() {
	for _, base := range r.d.bases() {
		claims, err := r.d.do("HGETALL", base+".by.email").AsStrMap()
		checkErr(r.d.t, err)
		for _, text := range claims {
			words := strings.Split(text, "\x00")
			if len(words) < 3 || r.done.Load() {
				continue
			}
			r.done.Store(true)
			for _, base := range r.d.bases() {
				r.d.do("ZADD", base+".voids", words[2], words[1])
			}
		}
	}
}

// A slow Repair whose claim was revoked claims the value again.
func TestRepairClaimsAgain(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	d := &damager{t, client, model.Options{Name: "resident", Partitions: 2}}
	residents(t, client, d.opt, 2)
	d.do("HDEL", d.unique("email", "e1"), "e1")
	d.do("HDEL", d.keyIn("1", "content"), "1")
	slow := &revoking{Client: client, d: d}
	s := store[resident](t, slow, d.opt)
	if r, err := s.Repair(t.Context(), maintain.Options{}); err != nil || r.Problems() == 0 || !slow.done.Load() {
		t.Errorf("Repair: %+v, %v; revoked: %v; want problems and a revoked claim", r, err, slow.done.Load())
	}
	checkVerify(t, s)
	if got, err := s.GetBy(t.Context(), "email", "E1"); err != nil || got.ID != "1" {
		t.Errorf("GetBy: %+v, %v; want record 1", got, err)
	}
}

// Expired records are not problems, and Repair sweeps them.
func TestRepairSweeps(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[resident](t, client, model.Options{Name: "resident"})
	until := time.Now().Add(50 * time.Millisecond)
	for i := range 5 {
		mustCreate(t, s, resident{Email: fmt.Sprint(i), Expires: until})
	}
	waitUntil(t, client, until)
	checkVerify(t, s)
	if r, err := s.Repair(t.Context(), maintain.Options{}); err != nil || r.Problems() != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if n := len(zset(t, client, "resident.all")); n != 0 {
		t.Errorf("%d records are left, want none", n)
	}
}

// Verify reports its progress after each step, and ends when its context is canceled.
func TestVerifyProgress(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for _, partitions := range []int{1, 3} {
		s := residents(t, client, model.Options{Name: fmt.Sprint("resident", partitions), Partitions: partitions}, 700)
		var all []maintain.Progress
		report, err := s.Verify(t.Context(), maintain.Options{Rate: 1e6, Progress: func(p maintain.Progress) { all = append(all, p) }})
		if err != nil || report.Problems() != 0 || len(all) < 20 {
			t.Fatalf("Verify: %+v, %v after %d steps; want no problems after at least 20", report, err, len(all))
		}
		for i, p := range all {
			if p.Total == 0 || i > 0 && p.Checked < all[i-1].Checked {
				t.Errorf("step %d: %+v", i, p)
			}
		}
		if last := all[len(all)-1]; last.Checked != report.Checked {
			t.Errorf("the last progress has %d checks, the report %d", last.Checked, report.Checked)
		}
		stopped, cancel := context.WithCancel(t.Context())
		require.Fails(t, context.Canceled)(s.Verify(stopped, maintain.Options{Progress: func(maintain.Progress) { cancel() }}))
	}
}

// Verify, Repair and Migrate report a key of the model that has another type, and do not change
// the key.
func TestKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := residents(t, client, model.Options{Name: "resident"}, 3)
	d := damager{t, client, model.Options{Name: "resident"}}
	for _, key := range []string{"resident.by.age", "resident.by.email", "resident.all", "resident.content"} {
		dump, err := d.do("DUMP", key).ToString()
		require.OK(t)(err)
		d.do("SET", key, "mine")
		for _, f := range []func(context.Context, maintain.Options) (model.Report, error){s.Verify, s.Repair, s.Migrate} {
			if _, err := f(t.Context(), maintain.Options{}); !errors.Is(err, model.ErrCorrupt) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v; want ErrCorrupt that names the key", key, err)
			}
		}
		if text, err := d.do("GET", key).ToString(); err != nil || text != "mine" {
			t.Errorf("%s holds %q, %v; want mine", key, text, err)
		}
		d.do("RESTORE", key, "0", dump, "REPLACE")
	}
	// A record whose key has another type is invalid.
	d.do("DEL", "resident:1")
	d.do("SET", "resident:1", "mine")
	if r, err := s.Repair(t.Context(), maintain.Options{}); err != nil || r.Invalid != 1 || r.Problems() != 1 {
		t.Errorf("Repair: %+v, %v; want 1 invalid record", r, err)
	}
}
