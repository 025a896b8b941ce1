package bulk

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
)

// contents describes the data of a server, one fact per line. Lines that begin with a word and a
// colon are facts that not all servers report.
func contents(t *testing.T, s *redistest.Server) []string {
	t.Helper()
	c := s.Client(t)
	do := func(args ...string) rueidis.RedisResult {
		return c.Do(context.Background(), c.B().Arbitrary(args...).Build())
	}
	var facts []string
	add := func(format string, args ...any) {
		fact := fmt.Sprintf(format, args...)
		if len(fact) > 200 {
			fact = fmt.Sprintf("%s… %x", fact[:100], sha256.Sum256([]byte(fact)))
		}
		facts = append(facts, fact)
	}
	const script = `redis.call('SELECT', ARGV[1])
		local out = {}
		local now = redis.call('TIME')
		for _, key in ipairs(redis.call('KEYS', '*')) do
			local kind, ttl = redis.call('TYPE', key).ok, redis.call('PTTL', key)
			local value
			if kind == 'string' then value = redis.call('GET', key)
			elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
			elseif kind == 'set' then value = redis.call('SMEMBERS', key) table.sort(value)
			elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
			elseif kind == 'hash' then value = redis.call('HGETALL', key)
			elseif kind == 'stream' then value = redis.call('XRANGE', key, '-', '+') end
			if ttl >= 0 then ttl = string.format('%.0f', (tonumber(now[1]) + ttl / 1000) / 10) end
			out[#out + 1] = {key, kind, ttl, value}
		end
		return out`
	for db := range 16 {
		keys, err := do("EVAL", script, "0", strconv.Itoa(db)).ToArray()
		require.OK(t)(err)
		for _, k := range keys {
			entry, err := k.ToArray()
			require.OK(t)(err)
			key, _ := entry[0].ToString()
			kind, _ := entry[1].ToString()
			value := plain(entry[3])
			switch kind {
			case "hash":
				value = sortPairs(value)
			case "zset":
				value = scores(value)
			}
			add("%d %q %s %v %s", db, key, kind, plain(entry[2]), quoted(value))
			if db > 0 {
				continue
			}
			switch kind {
			case "stream":
				streamFacts(t, do, key, add)
			case "hash":
				if fieldsExpire(t) {
					fieldFacts(t, do, key, add)
				}
			}
		}
	}
	if !before7(t) {
		libraries, err := do("FUNCTION", "LIST", "WITHCODE").ToArray()
		require.OK(t)(err)
		for _, l := range libraries {
			m, _ := l.AsMap()
			code := m["library_code"]
			add("functions: %q", plain(code))
		}
	}
	slices.Sort(facts)
	return facts
}

// fieldFacts adds the field expiries of a hash.
func fieldFacts(t *testing.T, do func(...string) rueidis.RedisResult, key string, add func(string, ...any)) {
	t.Helper()
	fields, err := do("HKEYS", key).AsStrSlice()
	require.OK(t)(err)
	for _, field := range fields {
		expiry, err := do("HPEXPIRETIME", key, "FIELDS", "1", field).AsIntSlice()
		require.OK(t)(err)
		if expiry[0] > 0 {
			add("expiry: %q %q %d", key, field, expiry[0])
		}
	}
}

// streamFacts adds the metadata and consumer groups of a stream.
func streamFacts(t *testing.T, do func(...string) rueidis.RedisResult, key string, add func(string, ...any)) {
	t.Helper()
	info, err := do("XINFO", "STREAM", key, "FULL", "COUNT", "0").AsMap()
	require.OK(t)(err)
	field := func(m map[string]rueidis.RedisMessage, name string) any {
		v, ok := m[name]
		if !ok {
			t.Fatalf("XINFO STREAM has no %s", name)
		}
		return plain(v)
	}
	add("0 %q stream %q", key, field(info, "last-generated-id"))
	for _, name := range []string{"entries-added", "max-deleted-entry-id", "recorded-first-entry-id"} {
		if v, ok := info[name]; ok {
			add("redis7: %q %s %q", key, name, plain(v))
		}
	}
	all := info["groups"]
	groups, err := all.ToArray()
	require.OK(t)(err)
	for _, g := range groups {
		group, err := g.AsMap()
		require.OK(t)(err)
		name := field(group, "name")
		add("0 %q group %q %q %s", key, name, field(group, "last-delivered-id"), quoted(field(group, "pending")))
		if _, ok := group["entries-read"]; ok {
			add("redis7: %q group %q %q", key, name, field(group, "entries-read"))
		}
		list := group["consumers"]
		consumers, err := list.ToArray()
		require.OK(t)(err)
		for _, c := range consumers {
			consumer, err := c.AsMap()
			require.OK(t)(err)
			add("0 %q group %q consumer %q %s", key, name, field(consumer, "name"), quoted(field(consumer, "pending")))
		}
	}
}

// plain returns a reply as text, or as nested lists of text.
func plain(m rueidis.RedisMessage) any {
	if m.IsNil() {
		return "nil"
	}
	if m.IsInt64() {
		n, _ := m.AsInt64()
		return strconv.FormatInt(n, 10)
	}
	if list, err := m.ToArray(); err == nil {
		texts := []any{}
		for _, element := range list {
			texts = append(texts, plain(element))
		}
		return texts
	}
	text, err := m.ToString()
	if err != nil {
		return err.Error()
	}
	return text
}

// sortPairs returns the sorted field-value pairs of a hash.
func sortPairs(list any) any {
	flat := list.([]any)
	var pairs []string
	for i := 0; i+1 < len(flat); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%q=%q", flat[i], flat[i+1]))
	}
	slices.Sort(pairs)
	return pairs
}

// scores normalizes the format of scores, which differs between servers.
func scores(list any) any {
	flat := list.([]any)
	for i := 1; i < len(flat); i += 2 {
		if n, err := strconv.ParseFloat(fmt.Sprint(flat[i]), 64); err == nil {
			flat[i] = n
		}
	}
	return flat
}

// same reports an error for each difference between the contents of two servers.
func same(t *testing.T, got, want []string) {
	t.Helper()
	for _, line := range got {
		if _, ok := slices.BinarySearch(want, line); !ok {
			t.Errorf("unexpected: %.300s", line)
		}
	}
	for _, line := range want {
		if _, ok := slices.BinarySearch(got, line); !ok {
			t.Errorf("missing: %.300s", line)
		}
	}
}
