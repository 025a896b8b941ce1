// Package redisurl parses database URLs for every part of this module: the site, the command
// line, locks and mass insertion accept the same URLs. An unknown parameter is an error, so that
// no user relies on a certificate that is not checked.
package redisurl

import (
	"fmt"
	"strconv"
	"strings"
)

// Config is a parsed URL.
type Config struct {
	Kind      Kind
	Dir       string   // Embedded: the directory; empty means the default
	Socket    string   // Single, on a unix socket
	Addresses []string // host:port of the server, the sentinels or some nodes of the Cluster
	Master    string   // Sentinel: the name of the master
	Username  string
	Password  string
	DB        int
	TLS       bool

	// CA is a file with the root certificates for the server, instead of the system's; Cert
	// and Key are the files of the client certificate; ServerName is the name that the server's
	// certificate must have, instead of the host; SkipVerify accepts any certificate.
	CA, Cert, Key string
	ServerName    string
	SkipVerify    bool

	// SentinelUsername and SentinelPassword are for the sentinels; Username and Password are for
	// the servers that the sentinels name.
	SentinelUsername string
	SentinelPassword string
}

// Kind is the kind of a database.
type Kind string

// Kinds of databases.
const (
	Embedded Kind = "embedded" // a server that this program runs
	Single   Kind = "single"   // one server
	Sentinel Kind = "sentinel" // a master that sentinels name
	Cluster  Kind = "cluster"
)

func isScheme(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

func (c *Config) readDB(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a database number", text)
	}
	c.DB = n
	return nil
}
