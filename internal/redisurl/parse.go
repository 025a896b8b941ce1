// Package redisurl parses the URL of a database, for every part of this module: the
// site, the command line, locks and mass insertion accept the same URLs. An unknown
// parameter is an error, so that no user relies on a certificate that is not checked.
package redisurl

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Config is a parsed URL.
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

	// CA is a file with the root certificates for the server, instead of those of
	// the system; Cert and Key are the files of the client certificate; ServerName
	// is the name that the server's certificate must have, instead of the host;
	// SkipVerify accepts any certificate.
	CA, Cert, Key string
	ServerName    string
	SkipVerify    bool

	// SentinelUsername and SentinelPassword are for the sentinels; Username and
	// Password are for the servers that they name.
	SentinelUsername string
	SentinelPassword string
}

// Kind is how a database is reached.
type Kind string

// The kinds of databases.
const (
	Embedded Kind = "embedded" // a server that this program runs
	Single   Kind = "single"   // one server
	Sentinel Kind = "sentinel" // a master that sentinels name
	Cluster  Kind = "cluster"
)

// schemes lists the accepted URLs for messages.
const schemes = "embedded:[DIR], redis://[user:password@]host[:port][/db], unix://[user:password@]/path[?db=n], " +
	"redis+sentinel://[user:password@]host[:port],…/master[/db] or redis+cluster://[user:password@]host[:port],… " +
	"(rediss for redis means TLS; valkey and valkeys mean the same as redis and rediss)"

const (
	redisPort    = "6379"
	sentinelPort = "26379"
)

// Parse reads the URL of a database:
//
//	embedded:[DIR]
//	redis://[user:password@]host[:port][/db]
//	unix://[user:password@]/path/of/socket[?db=n]
//	redis+sentinel://[user:password@]host[:port],…/master[/db]
//	redis+cluster://[user:password@]host[:port],…
//
// valkey means the same as redis. rediss (or valkeys) means TLS, and takes the parameters ca, cert and key
// (files in PEM), servername, and skip_verify=true. redis+sentinel also takes
// sentinel_username and sentinel_password, for sentinels that ask for them.
// Characters with a meaning in URLs are percent-encoded, such as %3F for a ? in a
// password.
//
// Errors name the mistake and never show a password. Parse opens neither a file nor
// a connection.
func Parse(raw string) (Config, error) {
	config, err := parse(raw)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", redact(raw), err)
	}
	return config, nil
}

func parse(raw string) (Config, error) {
	scheme, rest, ok := strings.Cut(raw, ":")
	scheme = strings.ToLower(scheme)
	if !ok || !isScheme(scheme) {
		return Config{}, errors.New("not a URL of a database; use " + schemes)
	}
	if scheme == "embedded" {
		if strings.ContainsAny(rest, "\x00\n") {
			return Config{}, errors.New("the directory has characters that are invalid in a path")
		}
		return Config{Kind: Embedded, Dir: strings.TrimPrefix(rest, "//")}, nil
	}
	if !strings.HasPrefix(rest, "//") {
		return Config{}, fmt.Errorf("there is no // after %q", scheme+":")
	}
	var config Config
	base, kind, _ := strings.Cut(scheme, "+")
	switch {
	case base == "rediss", base == "valkeys":
		config.TLS = true
	case base != "redis" && base != "valkey" && scheme != "unix":
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
		if hosts != "" || strings.Trim(path, "/") == "" {
			return Config{}, errors.New("the path of the socket is missing; it begins with a /: unix:///path")
		}
		config.Socket, path = path, ""
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

func isScheme(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

func unknownScheme(scheme string) error {
	return fmt.Errorf("unknown scheme %q; use %s", scheme, schemes)
}

// split splits user@host,host/path?query. A password may contain any character
// percent-encoded; a plain @ in it must be the last one.
func split(rest string) (authority, path string, query url.Values, err error) {
	if strings.ContainsRune(rest, '#') {
		return "", "", nil, errors.New("# has no meaning here; write it as %23")
	}
	rest, rawQuery, _ := strings.Cut(rest, "?")
	if strings.ContainsRune(rawQuery, '@') { // more likely a password with a ? in it
		return "", "", nil, errors.New("@ follows a ?; write a ? in the password as %3F, and an @ in a parameter as %40")
	}
	query, err = url.ParseQuery(rawQuery)
	if err != nil {
		return "", "", nil, errors.New("the parameters after the ? are malformed")
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
		return "", "", nil, errors.New("the path has characters that are invalid in a path")
	}
	return rest[:slash], path, query, nil
}

// readUser removes the user and the password from the authority.
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

// errNotPort does not show the port: it may be a password if the host is missing.
var errNotPort = errors.New("the port is not a number from 1 to 65535")

func readHosts(hosts, defaultPort string) ([]string, error) {
	var addresses []string
	for _, one := range strings.Split(hosts, ",") {
		host, port, err := net.SplitHostPort(one)
		if err != nil { // no port
			port = defaultPort
			bracketed := strings.HasPrefix(one, "[") && strings.HasSuffix(one, "]")
			if host = one; bracketed {
				host = one[1 : len(one)-1]
			}
			if strings.Contains(host, ":") != bracketed {
				return nil, errors.New("a host is not host:port (an IPv6 address needs brackets)")
			}
		}
		if err := checkHost(host); err != nil {
			return nil, err
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, errNotPort
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	return addresses, nil
}

func checkHost(host string) error {
	if host == "" {
		return errors.New("the host is missing")
	}
	if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil {
			return errors.New("the host in brackets is not an IPv6 address")
		}
		return nil
	}
	odd := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`[]/\%"`, r) }
	if strings.ContainsFunc(host, odd) {
		return errors.New("the host has characters that are invalid in a host")
	}
	return nil
}

// readPath reads the path: the name of the master, the number of the database.
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
