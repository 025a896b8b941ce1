package model_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/require"
	"retwis/model"
)

// citizen has an index of every kind.
type citizen struct {
	ID      string             `redis:",id"`
	Name    string             `redis:"name,index"`
	Email   string             `redis:"email,unique,caseinsensitive"`
	Phone   *string            `redis:"phone,unique"`
	Age     int                `redis:"age,range"`
	City    string             `redis:"city,range,caseinsensitive"`
	Tags    []string           `redis:"tags,index"`
	Boss    model.Ref[citizen] `redis:"boss,index"`
	Notes   map[string]int     `redis:"notes"`
	Version int64              `redis:",version"`
	Expires time.Time          `redis:",expires"`
}

// Indexes declares the indexes that are not on a single field.
func (citizen) Indexes() []model.Index[citizen] {
	return []model.Index[citizen]{
		model.Computed("domain", func(c citizen) string { return c.Email[strings.IndexByte(c.Email, '@')+1:] }),
		model.Composite[citizen]("city", "age desc"),
	}
}

func lexInt(n int) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63)) }

func lexText(s string) string { return strings.ReplaceAll(s, "\x00", "\x00\xff") + "\x00\x01" }

// short returns a value as an equality index stores it: a long value is cut, and followed by a
// digest.
func short(s string) string {
	if len(s) <= 64 {
		return s
	}
	return fmt.Sprintf("%s…%x", s[:24], sha256.Sum256([]byte(s)))[:24+len("…")+32]
}

func inverted(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] ^= 0xff
	}
	return string(b)
}

// expected returns the expected content of the indexes: the members, prefixed with the value
// and a dash for sets of values, and for unique indexes the fields and ids.
func expected(all []citizen) (sorted map[string][]string, unique map[string]map[string]string) {
	sorted = map[string][]string{"name": nil, "age": nil, "city": nil, "tags": nil, "boss": nil, "domain": nil, "city,age desc": nil}
	unique = map[string]map[string]string{"email": {}, "phone": {}}
	for _, c := range all {
		add := func(index, value string) { sorted[index] = append(sorted[index], value+c.ID) }
		add("name", short(c.Name)+"-")
		add("age", lexInt(c.Age))
		add("city", lexText(strings.ToLower(c.City)))
		add("city,age desc", lexText(c.City)+inverted(lexInt(c.Age)))
		add("domain", lexText(c.Email[strings.IndexByte(c.Email, '@')+1:]))
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(c.Tags))) {
			add("tags", tag+"-")
		}
		if c.Boss.ID != "" {
			add("boss", c.Boss.ID+"-")
		}
		unique["email"][strings.ToLower(c.Email)] = c.ID
		if c.Phone != nil {
			unique["phone"][*c.Phone] = c.ID
		}
	}
	for _, members := range sorted {
		slices.Sort(members)
	}
	return sorted, unique
}

// agree fails the test unless the index entries in Redis agree with the records, and returns the
// records. It reads the keys directly.
func agree(t testing.TB, client rueidis.Client, opt model.Options, citizens *model.Store[citizen]) map[string]citizen {
	t.Helper()
	bases := []string{opt.Name}
	if opt.Partitions > 1 {
		bases = nil
		for i := range opt.Partitions {
			bases = append(bases, fmt.Sprintf("{%s.%d}", opt.Name, i))
		}
	}
	records := map[string]citizen{}
	content, expiring := 0, 0
	for _, base := range bases {
		ids := zset(t, client, base+".all")
		found, err := citizens.GetMany(t.Context(), ids...)
		require.OK(t)(err)
		if len(found) != len(ids) {
			t.Fatalf("%s.all has %d ids, but only %d of the records exist", base, len(ids), len(found))
		}
		for _, c := range found {
			records[c.ID] = c
			if !c.Expires.IsZero() {
				expiring++
			}
		}
		n, err := client.Do(t.Context(), client.B().Hlen().Key(base+".content").Build()).AsInt64()
		require.OK(t)(err)
		content += int(n)
		expiring -= len(zset(t, client, base+".expires"))
	}
	if content != len(records) || expiring != 0 {
		t.Fatalf("%d records, but %d contents; %d expiring records are not in .expires", len(records), content, expiring)
	}
	sorted, unique := expected(slices.Collect(maps.Values(records)))
	keyNames := indexKeyNames(t, client, bases[0])
	for index, want := range sorted {
		var got []string
		for _, base := range bases {
			switch index {
			case "name", "tags", "boss":
				got = append(got, valueSets(t, client, base, keyNames[index])...)
			default:
				got = append(got, zset(t, client, base+".by."+keyNames[index])...)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("index %s holds\n%q, want\n%q", index, got, want)
		}
	}
	for index, want := range unique {
		got := map[string]string{}
		for _, base := range bases {
			fields, err := client.Do(t.Context(), client.B().Hgetall().Key(base+".by."+keyNames[index]).Build()).AsStrMap()
			require.OK(t)(err)
			for value, text := range fields {
				id, token, hasToken := strings.Cut(text, "\x00")
				if _, duplicate := got[value]; duplicate || strings.Contains(token, "\x00") || hasToken != (opt.Partitions > 1) {
					t.Fatalf("unique index %s: malformed or duplicate entry %q for %q", index, text, value)
				}
				got[value] = id
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("unique index %s holds\n%v, want\n%v", index, got, want)
		}
	}
	return records
}

// valueSets returns the ids in the sets of the values of an index, each prefixed with the value
// and a dash. It fails the test unless the directory of the index has exactly these values, and
// each id has its creation time as score.
func valueSets(t testing.TB, client rueidis.Client, base, keyName string) []string {
	t.Helper()
	prefix := base + ".by." + keyName + ":"
	keys := map[string]bool{} // a set, because the replicas of a Cluster list the same keys
	for _, node := range client.Nodes() {
		nodeKeys, err := node.Do(t.Context(), node.B().Keys().Pattern("*").Build()).AsStrSlice()
		require.OK(t)(err)
		for _, key := range nodeKeys {
			keys[key] = true
		}
	}
	var all, values []string
	var reads rueidis.Commands
	for key := range keys {
		if value, ok := strings.CutPrefix(key, prefix); ok {
			values = append(values, value)
			reads = append(reads, client.B().Zrange().Key(key).Min("0").Max("-1").Withscores().Build())
		}
	}
	created := map[string]float64{}
	scores, err := client.Do(t.Context(), client.B().Zrange().Key(base+".all").Min("0").Max("-1").Withscores().Build()).AsZScores()
	require.OK(t)(err)
	for _, z := range scores {
		created[z.Member] = z.Score
	}
	for i, reply := range client.DoMulti(t.Context(), reads...) {
		members, err := reply.AsZScores()
		require.OK(t)(err)
		for _, m := range members {
			if score, ok := created[m.Member]; !ok || score != m.Score {
				t.Errorf("%s%s has %s with score %v; want %v (record exists: %v)", prefix, values[i], m.Member, m.Score, score, ok)
			}
			all = append(all, values[i]+"-"+m.Member)
		}
	}
	slices.Sort(values)
	if directory := zset(t, client, base+".by."+keyName); !slices.Equal(directory, values) {
		t.Errorf("directory %s.by.%s lists %q, but the sets are of %q", base, keyName, directory, values)
	}
	return all
}

// zset returns the members of a sorted set.
func zset(t testing.TB, client rueidis.Client, key string) []string {
	t.Helper()
	members, err := client.Do(t.Context(), client.B().Zrange().Key(key).Min("0").Max("-1").Build()).AsStrSlice()
	require.OK(t)(err)
	return members
}

// indexKeyNames returns, for each built index of a model, the name of the index in its keys.
func indexKeyNames(t testing.TB, client rueidis.Client, base string) map[string]string {
	t.Helper()
	meta, err := client.Do(t.Context(), client.B().Hgetall().Key(base+".meta").Build()).AsStrMap()
	require.OK(t)(err)
	keyNames := map[string]string{}
	for field, value := range meta {
		identity, ok := strings.CutPrefix(field, "index:")
		if ok && meta["built:"+identity] != "" {
			name, _, _ := strings.Cut(identity, "=")
			_, keyNames[name], _ = strings.Cut(value, " ")
		}
	}
	return keyNames
}
