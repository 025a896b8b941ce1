package store

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Config is what a URL says of a database.
type Config struct {
	Kind      Kind
	Dir       string   // Embedded: the directory, empty for the default
	Socket    string   // Single, on a unix socket
	Addresses []string // host:port of the server, the sentinels or some of the Cluster
	Master    string   // Sentinel: the name of the master
	Username  string
	Password  string
	DB        int
	TLS       bool
}

// Kind is how a database is reached.
type Kind string

// The kinds of databases.
const (
	Embedded Kind = "embedded" // a server of our own
	Single   Kind = "single"   // one server
	Sentinel Kind = "sentinel" // one server of several, as sentinels tell
	Cluster  Kind = "cluster"
)

// schemes are the URLs that are understood.
var schemes = []string{
	"embedded:[DIR]",
	"redis://[user:password@]host[:port][/db]",
	"unix://[user:password@]/path[?db=n]",
	"redis+sentinel://[user:password@]host[:port],…/master[/db]",
	"redis+cluster://[user:password@]host[:port],…",
}

const (
	redisPort    = "6379"
	sentinelPort = "26379"
)

// Parse reads the URL of a database. rediss:// and the like mean TLS. Its
// errors name what is wrong and never show the password.
func Parse(raw string) (Config, error) {
	config, err := parse(raw)
	if err != nil {
		return Config{}, fmt.Errorf("store: %s: %w", redact(raw), err)
	}
	return config, nil
}

func parse(raw string) (Config, error) {
	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok {
		return Config{}, fmt.Errorf("not a URL of a database; use one of %s", strings.Join(schemes, ", "))
	}
	scheme = strings.ToLower(scheme)
	if scheme == "embedded" {
		if strings.ContainsAny(rest, "\x00\n") {
			return Config{}, errors.New("the directory has characters that no path has")
		}
		return Config{Kind: Embedded, Dir: strings.TrimPrefix(rest, "//")}, nil
	}
	if !strings.HasPrefix(rest, "//") {
		return Config{}, fmt.Errorf("there is no // after %q", scheme+":")
	}
	var config Config
	base, kind, _ := strings.Cut(scheme, "+")
	switch {
	case base == "rediss":
		config.TLS = true
	case base != "redis" && scheme != "unix":
		return Config{}, unknownScheme(scheme)
	}
	var defaultPort string
	switch kind {
	case "":
		config.Kind, defaultPort = Single, redisPort
	case "sentinel":
		config.Kind, defaultPort = Sentinel, sentinelPort
	case "cluster":
		config.Kind, defaultPort = Cluster, redisPort
	default:
		return Config{}, unknownScheme(scheme)
	}
	authority, path, query, err := split(rest[2:])
	if err != nil {
		return Config{}, err
	}
	hosts, err := config.readUser(authority)
	if err != nil {
		return Config{}, err
	}
	if scheme == "unix" {
		config.Socket = hosts + path
		if config.Socket == "" {
			return Config{}, errors.New("the path of the socket is missing")
		}
		path = ""
	} else if config.Addresses, err = readHosts(hosts, defaultPort); err != nil {
		return Config{}, err
	}
	if config.Kind == Single && len(config.Addresses) > 1 {
		return Config{}, errors.New("several hosts; use redis+cluster:// or redis+sentinel://")
	}
	if err := config.readPath(path); err != nil {
		return Config{}, err
	}
	return config, config.readQuery(query)
}

func unknownScheme(scheme string) error {
	return fmt.Errorf("unknown scheme %q; use one of %s", scheme, strings.Join(schemes, ", "))
}

// split takes user@host,host/path?query apart. A password may hold anything
// percent-encoded, and @ and / as they are only in the last place of it.
func split(rest string) (authority, path string, query url.Values, err error) {
	if strings.ContainsRune(rest, '#') {
		return "", "", nil, errors.New("# has no meaning here; write it as %23")
	}
	rest, rawQuery, _ := strings.Cut(rest, "?")
	query, err = url.ParseQuery(rawQuery)
	if err != nil {
		return "", "", nil, errors.New("what follows the ? cannot be read")
	}
	at := strings.LastIndexByte(rest, '@')
	slash := strings.IndexByte(rest[at+1:], '/')
	if slash < 0 {
		return rest, "", query, nil
	}
	slash += at + 1
	path, err = url.PathUnescape(rest[slash:])
	if err != nil {
		return "", "", nil, errors.New("the path has a % that is not followed by two hex digits")
	}
	if strings.ContainsAny(path, "\x00\n") {
		return "", "", nil, errors.New("the path has characters that no path has")
	}
	return rest[:slash], path, query, nil
}

// readUser takes the user and the password off the authority.
func (c *Config) readUser(authority string) (hosts string, err error) {
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return authority, nil
	}
	user, password, _ := strings.Cut(authority[:at], ":")
	if c.Username, err = url.PathUnescape(user); err != nil {
		return "", errors.New("the user has a % that is not followed by two hex digits")
	}
	if c.Password, err = url.PathUnescape(password); err != nil {
		return "", errors.New("the password has a % that is not followed by two hex digits")
	}
	return authority[at+1:], nil
}

func readHosts(hosts, defaultPort string) ([]string, error) {
	var addresses []string
	for _, one := range strings.Split(hosts, ",") {
		host, port, err := net.SplitHostPort(one)
		if err != nil { // no port
			host, port = strings.TrimSuffix(strings.TrimPrefix(one, "["), "]"), defaultPort
			if strings.Contains(host, ":") && !strings.HasPrefix(one, "[") {
				return nil, fmt.Errorf("%q is not host:port", one)
			}
		}
		if host == "" {
			return nil, errors.New("the host is missing")
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("%q is not a port", port)
		}
		if strings.ContainsAny(host, " \x00\n/\\") {
			return nil, fmt.Errorf("%q is not a host", host)
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	return addresses, nil
}

// readPath reads what follows the hosts: the master of sentinels, the database.
func (c *Config) readPath(path string) error {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if c.Kind == Sentinel {
		if c.Master, parts = parts[0], parts[1:]; c.Master == "" {
			return errors.New("the name of the master is missing: redis+sentinel://host,host/master")
		}
	}
	if len(parts) == 0 || len(parts) == 1 && parts[0] == "" {
		return nil
	}
	if len(parts) > 1 || c.Kind == Cluster {
		return fmt.Errorf("%q has no meaning here", path)
	}
	return c.readDB(parts[0])
}

func (c *Config) readDB(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not the number of a database", text)
	}
	c.DB = n
	return nil
}

func (c *Config) readQuery(query url.Values) error {
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name != "db" || c.Kind == Cluster {
			return fmt.Errorf("unknown parameter %q", name)
		}
		if len(query[name]) > 1 {
			return fmt.Errorf("parameter %q is given twice", name)
		}
		if err := c.readDB(query.Get(name)); err != nil {
			return err
		}
	}
	return nil
}

// redact returns a URL as it may be shown: without user and password, and
// short.
func redact(raw string) string {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = "…@" + rest[at+1:]
	}
	if rest, _, found = strings.Cut(rest, "?"); found {
		rest += "?…"
	}
	if scheme != "" {
		rest = scheme + "://" + rest
	}
	const longest = 200
	if runes := []rune(rest); len(runes) > longest {
		rest = string(runes[:longest]) + "…"
	}
	return strconv.Quote(rest)
}

// String names the database without its secrets.
func (c Config) String() string {
	scheme := "redis"
	if c.TLS {
		scheme = "rediss"
	}
	db := ""
	if c.DB != 0 {
		db = "/" + strconv.Itoa(c.DB)
	}
	hosts := strings.Join(c.Addresses, ",")
	switch {
	case c.Kind == Embedded:
		return c.Dir
	case c.Socket != "" && c.DB != 0:
		return "unix://" + c.Socket + "?db=" + strconv.Itoa(c.DB)
	case c.Socket != "":
		return "unix://" + c.Socket
	case c.Kind == Sentinel:
		return scheme + "+sentinel://" + hosts + "/" + c.Master + db
	case c.Kind == Cluster:
		return scheme + "+cluster://" + hosts
	}
	return scheme + "://" + hosts + db
}
