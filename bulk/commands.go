package bulk

import (
	"bytes"
	"fmt"
	"strings"
)

// spec is what a load has to know of a command.
type spec struct {
	name  string
	kind  kind
	keys  keyRule
	again againRule
}

// kind is how a command is treated.
type kind uint8

const (
	plain      kind = iota
	unknown         // not in the list: a module's, or newer than it
	everywhere      // for all servers of a Cluster, in order with all else
	selects         // SELECT: the same, and to be repeated on a new connection
	begins          // MULTI
	executes        // EXEC, DISCARD
	refused         // makes no sense in a load
)

// keyRule is where a command has its keys.
type keyRule uint8

const (
	noKey        keyRule = iota
	firstKey             // SET key …
	secondKey            // XGROUP CREATE key …
	twoKeys              // RENAME key key
	allKeys              // DEL key…
	pairedKeys           // MSET key value …
	fromSecond           // BITOP op key key…
	counted              // ZUNION n key… …
	countedDest          // ZUNIONSTORE key n key… …
	countedThird         // EVAL script n key… …
	storeKey             // SORT key … STORE key
	streamKeys           // XREAD … STREAMS key… id…
)

// againRule is whether a command can be sent again when it is not known whether the
// server has executed it. It can, if executing a row of such commands from any point
// to the end, and then the whole row, leaves what executing it once leaves. That holds
// for commands that say what is to be, whatever was: SET, HSET, SADD, DEL, or EXPIREAT.
// It does not for those that count (INCR), push (LPUSH), take out (SPOP), read another
// key (COPY, SUNIONSTORE), or depend on a value that a later one changes (SET … XX).
type againRule uint8

const (
	never    againRule = iota
	harmless           // always
	noXX               // unless it has XX or IFEQ, which make it depend on what is there
	noMore             // if nothing follows the third argument: EXPIRE key n, without NX, XX, GT or LT
	noIncr             // as noXX, and not ZADD … INCR
	replaces           // if it has REPLACE
)

// find returns what is known of a command whose name is in upper case.
func find(name string) spec {
	s := spec{name: name}
	switch name {
	case "SETNX", "SETEX", "PSETEX", "GETSET", "SETRANGE", "SETBIT", "GETDEL", "HSET", "HMSET", "HSETNX", "HDEL", "SADD", "SREM",
		"ZREM", "ZREMRANGEBYSCORE", "ZREMRANGEBYLEX", "PERSIST", "PFADD", "XDEL", "LSET",
		"GET", "GETRANGE", "SUBSTR", "STRLEN", "GETBIT", "BITCOUNT", "BITPOS", "BITFIELD_RO", "TYPE", "TTL", "PTTL", "EXPIRETIME",
		"PEXPIRETIME", "DUMP", "HGET", "HMGET", "HGETALL", "HKEYS", "HVALS", "HLEN", "HEXISTS", "HSTRLEN", "HRANDFIELD", "HSCAN",
		"LLEN", "LRANGE", "LINDEX", "LPOS", "SCARD", "SISMEMBER", "SMISMEMBER", "SMEMBERS", "SRANDMEMBER", "SSCAN", "ZCARD", "ZCOUNT",
		"ZLEXCOUNT", "ZRANGE", "ZRANGEBYLEX", "ZRANGEBYSCORE", "ZREVRANGE", "ZREVRANGEBYSCORE", "ZREVRANGEBYLEX", "ZRANK", "ZREVRANK",
		"ZSCORE", "ZMSCORE", "ZRANDMEMBER", "ZSCAN", "GEODIST", "GEOHASH", "GEOPOS", "GEOSEARCH", "GEORADIUS_RO", "GEORADIUSBYMEMBER_RO",
		"XLEN", "XRANGE", "XREVRANGE", "XPENDING", "SORT_RO":
		s.keys, s.again = firstKey, harmless
	case "SET":
		s.keys, s.again = firstKey, noXX
	case "ZADD", "GEOADD":
		s.keys, s.again = firstKey, noIncr
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		s.keys, s.again = firstKey, noMore
	case "RESTORE":
		s.keys, s.again = firstKey, replaces
	case "INCR", "DECR", "INCRBY", "DECRBY", "INCRBYFLOAT", "APPEND", "GETEX", "LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "LPOP", "RPOP",
		"LTRIM", "LREM", "LINSERT", "SPOP", "HINCRBY", "HINCRBYFLOAT", "HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HPERSIST",
		"HGETDEL", "HGETEX", "HSETEX", "ZINCRBY", "ZPOPMIN", "ZPOPMAX", "ZREMRANGEBYRANK", "XADD", "XTRIM", "XACK", "XCLAIM",
		"XAUTOCLAIM", "XSETID", "XACKDEL", "XDELEX", "BITFIELD", "MOVE", "SPUBLISH", "DELIFEQ", "DELEX":
		s.keys = firstKey
	case "DEL", "UNLINK", "TOUCH", "EXISTS", "MGET", "PFCOUNT", "SINTER", "SUNION", "SDIFF":
		s.keys, s.again = allKeys, harmless
	case "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE", "PFMERGE":
		s.keys = allKeys
	case "MSET":
		s.keys, s.again = pairedKeys, harmless
	case "MSETNX":
		s.keys = pairedKeys
	case "BITOP":
		s.keys = fromSecond
	case "RENAME", "RENAMENX", "COPY", "SMOVE", "RPOPLPUSH", "LMOVE", "GEOSEARCHSTORE", "ZRANGESTORE":
		s.keys = twoKeys
	case "LCS":
		s.keys, s.again = twoKeys, harmless
	case "ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE":
		s.keys = countedDest
	case "ZUNION", "ZINTER", "ZDIFF", "SINTERCARD", "ZINTERCARD":
		s.keys, s.again = counted, harmless
	case "LMPOP", "ZMPOP":
		s.keys = counted
	case "EVAL", "EVALSHA", "FCALL":
		s.keys = countedThird
	case "EVAL_RO", "EVALSHA_RO", "FCALL_RO":
		s.keys, s.again = countedThird, harmless
	case "SORT", "GEORADIUS", "GEORADIUSBYMEMBER":
		s.keys = storeKey
	case "XGROUP":
		s.keys = secondKey
	case "XINFO", "OBJECT", "MEMORY":
		s.keys, s.again = secondKey, harmless
	case "XREAD", "XREADGROUP":
		s.keys = streamKeys
	case "FLUSHALL", "FLUSHDB", "SCRIPT", "CONFIG":
		s.kind, s.again = everywhere, harmless
	case "FUNCTION", "ACL":
		s.kind = everywhere
	case "SWAPDB":
		s.kind = everywhere
	case "SELECT":
		s.kind, s.again = selects, harmless
	case "MULTI":
		s.kind, s.again = begins, harmless
	case "EXEC", "DISCARD":
		s.kind, s.again = executes, harmless
	case "PING", "ECHO", "TIME", "DBSIZE", "LASTSAVE", "INFO", "COMMAND", "KEYS", "SCAN", "RANDOMKEY", "LOLWUT", "ROLE":
		s.again = harmless
	case "PUBLISH", "DEBUG", "SAVE", "BGSAVE", "BGREWRITEAOF", "LATENCY", "SLOWLOG", "MODULE", "PUBSUB":
	default:
		if why := nonsense(name); why != "" {
			s.kind = refused
			if name == "CLIENT" || name == "HELLO" { // what of them is not refused
				s.again = harmless
			}
		} else {
			s.kind = unknown
		}
	}
	return s
}

// nonsense says why a command makes no sense in a load.
func nonsense(name string) string {
	switch name {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "SYNC", "PSYNC":
		return "it turns the connection into one that only listens"
	case "BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "WAIT", "WAITAOF":
		return "it waits, and nothing else would be sent meanwhile"
	case "WATCH", "UNWATCH":
		return "nothing that is loaded depends on what was read"
	case "QUIT", "RESET", "SHUTDOWN":
		return "it ends the connection"
	case "AUTH":
		return "the user and the password belong into the URL of the server"
	case "HELLO", "CLIENT":
		return "it may change how the server answers; only HELLO 2 and CLIENT SETNAME, SETINFO, NO-EVICT, NO-TOUCH, GETNAME and ID are sent"
	case "READONLY", "READWRITE", "ASKING", "CLUSTER", "MIGRATE", "FAILOVER", "REPLICAOF", "SLAVEOF", "REPLCONF":
		return "it is for those who run the servers"
	}
	return ""
}

// ofConnection reports whether a command is one that clients send when they connect, and
// that changes nothing that matters here.
func ofConnection(name string, f *Frame) bool {
	if f.Len() < 2 {
		return false
	}
	switch name {
	case "HELLO":
		return string(f.Arg(1)) == "2" && f.Len() == 2
	case "CLIENT":
		for _, word := range []string{"SETNAME", "SETINFO", "NO-EVICT", "NO-TOUCH", "GETNAME", "ID"} {
			if is(f.Arg(1), word) {
				return true
			}
		}
	}
	return false
}

// finder finds the spec of a frame. Loads have few commands, many times.
type finder struct {
	known map[string]*spec
	last  *spec
	name  []byte
}

func (c *finder) find(f *Frame) *spec {
	given := f.Arg(0)
	if c.last != nil && bytes.Equal(given, c.name) {
		return c.last
	}
	c.name = append(c.name[:0], given...)
	c.last = c.known[string(given)]
	if c.last == nil {
		if c.known == nil || len(c.known) > 1000 { // names may be made up
			c.known = make(map[string]*spec)
		}
		s := find(strings.ToUpper(string(given)))
		c.known[string(given)], c.last = &s, &s
	}
	return c.last
}

// findKeys appends the keys of a command, or returns why they cannot be told.
func (s *spec) findKeys(dst [][]byte, f *Frame) ([][]byte, error) {
	n := f.Len()
	from, to, step := 1, n, 1
	switch s.keys {
	case noKey:
		return dst, nil
	case firstKey:
		to = 2
	case secondKey:
		from, to = 2, 3
	case twoKeys:
		to = 3
	case allKeys:
	case pairedKeys:
		step = 2
	case fromSecond:
		from = 2
	case counted, countedDest, countedThird:
		at := 1
		if s.keys != counted {
			at = 2
		}
		if n <= at {
			return dst, fmt.Errorf("%s has no number of keys", s.name)
		}
		keys, ok := atoi(f.Arg(at))
		if !ok || keys > n-at-1 {
			return dst, fmt.Errorf("%s: %q is not the number of its keys", s.name, shorten(f.Arg(at), 20))
		}
		if s.keys == countedDest {
			dst = append(dst, f.Arg(1))
		}
		from, to = at+1, at+1+keys
	case storeKey:
		to = 2
		for i := 2; i+1 < n; i++ {
			if is(f.Arg(i), "STORE") || is(f.Arg(i), "STOREDIST") {
				dst = append(dst, f.Arg(i+1))
			}
		}
	case streamKeys:
		for i := 1; i < n; i++ {
			if is(f.Arg(i), "BLOCK") {
				return dst, fmt.Errorf("%s with BLOCK makes no sense in a load: it waits, and nothing else would be sent meanwhile", s.name)
			}
			if is(f.Arg(i), "STREAMS") {
				from, to = i+1, i+1+(n-i-1)/2
				break
			}
		}
	}
	for i := from; i < min(to, n); i += step {
		dst = append(dst, f.Arg(i))
	}
	return dst, nil
}

// repeatable tells whether a command can be sent again without harm; see againRule.
func (s *spec) repeatable(f *Frame) bool {
	switch s.again {
	case harmless:
		return true
	case noXX, noIncr:
		for i := 2; i < f.Len(); i++ {
			if i == 2 && s.again == noXX { // the value of SET
				continue
			}
			if is(f.Arg(i), "XX") || is(f.Arg(i), "IFEQ") || s.again == noIncr && is(f.Arg(i), "INCR") {
				return false
			}
		}
		return true
	case noMore:
		return f.Len() <= 3
	case replaces:
		for i := 4; i < f.Len(); i++ {
			if is(f.Arg(i), "REPLACE") {
				return true
			}
		}
	case never:
	}
	return false
}

// is compares an argument with a word in upper case.
func is(arg []byte, word string) bool {
	return len(arg) == len(word) && strings.EqualFold(string(arg), word)
}

func atoi(digits []byte) (n int, ok bool) {
	for _, d := range digits {
		if d < '0' || d > '9' || n > maxArgs/10 {
			return 0, false
		}
		n = n*10 + int(d-'0')
	}
	return n, len(digits) > 0
}
