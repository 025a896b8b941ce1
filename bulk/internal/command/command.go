// Package command describes the commands of Redis: where their keys are, whether a load can send
// them, and whether it can send them twice.
package command

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"retwis/bulk/resp"
)

// Spec describes a command.
type Spec struct {
	Name   string
	Kind   Kind
	keys   keyRule
	repeat repeatRule
}

// Kind is how a load treats a command.
type Kind uint8

// Kinds of commands.
const (
	Plain    Kind = iota
	Unknown       // unknown to Lookup: a command of a module or of a newer server
	AllNodes      // sent to all servers of a Cluster, in order with all other commands
	Select        // SELECT: like AllNodes, and repeated on each new connection
	Multi         // MULTI
	Exec          // EXEC, DISCARD
	Rejected      // not sent by a load
)

// keyRule determines which arguments of a command are its keys.
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

// repeatRule determines whether a command can be resent if the server may have executed it. A
// command can be resent if executing the end of a sequence of such commands, from any point on, and
// then the whole sequence has the same result as executing the sequence once. Commands that set a
// state regardless of the previous state have this property: SET, HSET, SADD, DEL, EXPIREAT. The
// property does not hold for commands that count (INCR), push (LPUSH), pop (SPOP), read another key
// (COPY, SUNIONSTORE), or depend on a value that a later command changes (SET … XX).
type repeatRule uint8

const (
	never    repeatRule = iota
	harmless            // always
	noXX                // unless it has XX or IFEQ, which depend on the current value
	noMore              // if nothing follows the third argument: EXPIRE key n, without NX, XX, GT or LT
	noIncr              // like noXX, and unless it has INCR
	replaces            // if it has REPLACE
)

// Lookup returns the spec of a command, given its name in upper case.
func Lookup(name string) Spec {
	s := Spec{Name: name}
	switch name {
	case "SETNX", "SETEX", "PSETEX", "GETSET", "SETRANGE", "SETBIT", "GETDEL", "HSET", "HMSET", "HSETNX", "HDEL", "SADD", "SREM",
		"ZREM", "ZREMRANGEBYSCORE", "ZREMRANGEBYLEX", "PERSIST", "PFADD", "XDEL", "LSET",
		"GET", "GETRANGE", "SUBSTR", "STRLEN", "GETBIT", "BITCOUNT", "BITPOS", "BITFIELD_RO", "TYPE", "TTL", "PTTL", "EXPIRETIME",
		"PEXPIRETIME", "DUMP", "HGET", "HMGET", "HGETALL", "HKEYS", "HVALS", "HLEN", "HEXISTS", "HSTRLEN", "HRANDFIELD", "HSCAN",
		"LLEN", "LRANGE", "LINDEX", "LPOS", "SCARD", "SISMEMBER", "SMISMEMBER", "SMEMBERS", "SRANDMEMBER", "SSCAN", "ZCARD", "ZCOUNT",
		"ZLEXCOUNT", "ZRANGE", "ZRANGEBYLEX", "ZRANGEBYSCORE", "ZREVRANGE", "ZREVRANGEBYSCORE", "ZREVRANGEBYLEX", "ZRANK", "ZREVRANK",
		"ZSCORE", "ZMSCORE", "ZRANDMEMBER", "ZSCAN", "GEODIST", "GEOHASH", "GEOPOS", "GEOSEARCH", "GEORADIUS_RO", "GEORADIUSBYMEMBER_RO",
		"XLEN", "XRANGE", "XREVRANGE", "XPENDING", "SORT_RO":
		s.keys, s.repeat = firstKey, harmless
	case "SET":
		s.keys, s.repeat = firstKey, noXX
	case "ZADD", "GEOADD":
		s.keys, s.repeat = firstKey, noIncr
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		s.keys, s.repeat = firstKey, noMore
	case "RESTORE":
		s.keys, s.repeat = firstKey, replaces
	case "INCR", "DECR", "INCRBY", "DECRBY", "INCRBYFLOAT", "APPEND", "GETEX", "LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "LPOP", "RPOP",
		"LTRIM", "LREM", "LINSERT", "SPOP", "HINCRBY", "HINCRBYFLOAT", "HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HPERSIST",
		"HGETDEL", "HGETEX", "HSETEX", "ZINCRBY", "ZPOPMIN", "ZPOPMAX", "ZREMRANGEBYRANK", "XADD", "XTRIM", "XACK", "XCLAIM",
		"XAUTOCLAIM", "XSETID", "XACKDEL", "XDELEX", "BITFIELD", "MOVE", "SPUBLISH", "DELIFEQ", "DELEX":
		s.keys = firstKey
	case "DEL", "UNLINK", "TOUCH", "EXISTS", "MGET", "PFCOUNT", "SINTER", "SUNION", "SDIFF":
		s.keys, s.repeat = allKeys, harmless
	case "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE", "PFMERGE":
		s.keys = allKeys
	case "MSET":
		s.keys, s.repeat = pairedKeys, harmless
	case "MSETNX":
		s.keys = pairedKeys
	case "BITOP":
		s.keys = fromSecond
	case "RENAME", "RENAMENX", "COPY", "SMOVE", "RPOPLPUSH", "LMOVE", "GEOSEARCHSTORE", "ZRANGESTORE":
		s.keys = twoKeys
	case "LCS":
		s.keys, s.repeat = twoKeys, harmless
	case "ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE":
		s.keys = countedDest
	case "ZUNION", "ZINTER", "ZDIFF", "SINTERCARD", "ZINTERCARD":
		s.keys, s.repeat = counted, harmless
	case "LMPOP", "ZMPOP":
		s.keys = counted
	case "EVAL", "EVALSHA", "FCALL":
		s.keys = countedThird
	case "EVAL_RO", "EVALSHA_RO", "FCALL_RO":
		s.keys, s.repeat = countedThird, harmless
	case "SORT", "GEORADIUS", "GEORADIUSBYMEMBER":
		s.keys = storeKey
	case "XGROUP":
		s.keys = secondKey
	case "XINFO", "OBJECT", "MEMORY":
		s.keys, s.repeat = secondKey, harmless
	case "XREAD", "XREADGROUP":
		s.keys = streamKeys
	case "FLUSHALL", "FLUSHDB", "SCRIPT":
		s.Kind, s.repeat = AllNodes, harmless
	case "FUNCTION", "SWAPDB":
		s.Kind = AllNodes
	case "SELECT":
		s.Kind, s.repeat = Select, harmless
	case "MULTI":
		s.Kind, s.repeat = Multi, harmless
	case "EXEC", "DISCARD":
		s.Kind, s.repeat = Exec, harmless
	case "PING", "ECHO", "TIME", "DBSIZE", "LASTSAVE", "INFO", "COMMAND", "KEYS", "SCAN", "RANDOMKEY", "LOLWUT", "ROLE":
		s.repeat = harmless
	case "PUBLISH", "PUBSUB":
	default:
		if why := whyRejected(name); why != "" {
			s.Kind = Rejected
			if name == "CLIENT" || name == "HELLO" { // isHandshake accepts some of these
				s.repeat = harmless
			}
		} else {
			s.Kind = Unknown
		}
	}
	return s
}

// whyRejected returns why a command makes no sense in a load, or "".
func whyRejected(name string) string {
	switch name {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "SYNC", "PSYNC":
		return "after it, the connection only receives messages"
	case "BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "WAIT", "WAITAOF":
		return "it blocks, and the load would block with it"
	case "WATCH", "UNWATCH":
		return "it only reads, and a load ignores its result"
	case "QUIT", "RESET", "SHUTDOWN":
		return "it closes the connection"
	case "AUTH":
		return "put the user and the password into the URL of the server"
	case "HELLO", "CLIENT":
		return "it may change how the server answers; only HELLO 2 and CLIENT SETNAME, SETINFO, NO-EVICT, NO-TOUCH, GETNAME and ID are sent"
	case "READONLY", "READWRITE", "ASKING", "CLUSTER", "MIGRATE", "FAILOVER", "REPLICAOF", "SLAVEOF", "REPLCONF", "CONFIG", "ACL",
		"DEBUG", "SAVE", "BGSAVE", "BGREWRITEAOF", "LATENCY", "SLOWLOG", "COMMANDLOG", "MODULE":
		return "it administers servers"
	}
	return ""
}

// isHandshake reports whether clients send a command when they connect, and the command does not
// change the format of the replies.
func isHandshake(name string, f *resp.Frame) bool {
	if f.Len() < 2 {
		return false
	}
	switch name {
	case "HELLO":
		return string(f.Arg(1)) == "2" && f.Len() == 2
	case "CLIENT":
		for _, word := range []string{"SETNAME", "SETINFO", "NO-EVICT", "NO-TOUCH", "GETNAME", "ID"} {
			if Is(f.Arg(1), word) {
				return true
			}
		}
	}
	return false
}

// cache keeps command specs, because loads repeat a few commands many times.
type cache struct {
	known map[string]*Spec
	last  *Spec
	name  []byte
}

// Spec returns the spec of a command.
func (c *cache) Spec(f *resp.Frame) *Spec {
	given := f.Arg(0)
	if c.last != nil && bytes.Equal(given, c.name) {
		return c.last
	}
	c.name = append(c.name[:0], given...)
	c.last = c.known[string(given)]
	if c.last == nil {
		if c.known == nil || len(c.known) > 1000 { // names may be random
			c.known = make(map[string]*Spec)
		}
		s := Lookup(strings.ToUpper(string(given)))
		c.known[string(given)], c.last = &s, &s
	}
	return c.last
}

// AppendKeys appends the keys of a command to dst, or returns why it cannot find them.
func (s *Spec) AppendKeys(dst [][]byte, f *resp.Frame) ([][]byte, error) {
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
			return dst, fmt.Errorf("%s: the number of keys is missing", s.Name)
		}
		keys, ok := Atoi(f.Arg(at))
		if !ok || keys > n-at-1 {
			return dst, fmt.Errorf("%s: %q is not a valid number of keys", s.Name, resp.Shorten(f.Arg(at), 20))
		}
		if s.keys == countedDest {
			dst = append(dst, f.Arg(1))
		}
		from, to = at+1, at+1+keys
	case storeKey:
		to = 2
		for i := 2; i+1 < n; i++ {
			if Is(f.Arg(i), "STORE") || Is(f.Arg(i), "STOREDIST") {
				dst = append(dst, f.Arg(i+1))
			}
		}
	case streamKeys:
		for i := 1; i < n; i++ {
			if Is(f.Arg(i), "BLOCK") {
				return dst, fmt.Errorf("%s with BLOCK makes no sense in a load: it blocks, and the load would block with it", s.Name)
			}
			if Is(f.Arg(i), "STREAMS") {
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

// Repeatable reports whether a command can be resent without harm; see repeatRule.
func (s *Spec) Repeatable(f *resp.Frame) bool {
	switch s.repeat {
	case harmless:
		return true
	case noXX, noIncr:
		for i := 2; i < f.Len(); i++ {
			if i == 2 && s.repeat == noXX { // the value of SET
				continue
			}
			if Is(f.Arg(i), "XX") || Is(f.Arg(i), "IFEQ") || s.repeat == noIncr && Is(f.Arg(i), "INCR") {
				return false
			}
		}
		return true
	case noMore:
		return f.Len() <= 3
	case replaces:
		for i := 4; i < f.Len(); i++ {
			if Is(f.Arg(i), "REPLACE") {
				return true
			}
		}
	case never:
	}
	return false
}

// Is reports whether an argument equals an upper-case word, ignoring case.
func Is(arg []byte, word string) bool {
	return len(arg) == len(word) && strings.EqualFold(string(arg), word)
}

// Atoi parses an unsigned decimal number up to 2^31+1.
func Atoi(digits []byte) (n int, ok bool) {
	for _, d := range digits {
		if d < '0' || d > '9' || n > math.MaxInt32/10 {
			return 0, false
		}
		n = n*10 + int(d-'0')
	}
	return n, len(digits) > 0
}
