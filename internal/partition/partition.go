// Package partition is the layout in Redis that all kinds of index share: an index
// consists of one or more partitions, each in one hash slot, each with its declaration
// next to it, and changed by scripts that compare that declaration with the caller's.
package partition

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/keys"
	"retwis/internal/script"
)

// Errors that package index gives to its users.
var (
	ErrNotFound = errors.New("not found")
	ErrDeclared = errors.New("the index is declared otherwise")
	ErrForeign  = errors.New("no index made what the key holds")
)

//go:embed declare.lua
var declareLua string

// defaultLease is the Lease of New.
const defaultLease = time.Minute

// maxKey bounds the name of an index, in bytes.
const maxKey = 1024

// Declaration is what an index remembers of how it was made.
type Declaration struct {
	Kind       string // which type of index it is
	Text       string // its columns, dimensions or options; may be empty
	Partitions int
}

// Set are the partitions of an index.
type Set struct {
	Client rueidis.Client
	Key    string
	Keys   []Keys
	// Lease is after how long a repair or rebuild that is not heard of has ended.
	Lease time.Duration
	// Explain returns an error that says more of another declaration than that it
	// is another one, or nil. It may be nil.
	Explain func(Declaration) error

	declaration Declaration
	known       atomic.Bool // the declaration was found to be that of the index
}

// New returns the partitions of an index; none are one. It asks no server.
func New(client rueidis.Client, key string, d Declaration) (*Set, error) {
	if d.Partitions == 0 {
		d.Partitions = 1
	}
	switch {
	case client == nil:
		return nil, errors.New("the client is nil")
	case key == "" || len(key) > maxKey:
		return nil, fmt.Errorf("the key has %d bytes: it must have from 1 to %d", len(key), maxKey)
	case d.Partitions < 1 || d.Partitions > keys.MaxPartitions:
		return nil, fmt.Errorf("there are %d partitions: from 1 to %d are allowed", d.Partitions, keys.MaxPartitions)
	case d.Partitions > 1 && !keys.Spreadable(key):
		return nil, fmt.Errorf("the key %q has a brace but no hash tag, and cannot be spread over partitions", key)
	case d.Partitions == 1 && keys.Tag(key) == "" && client.Mode() == rueidis.ClientModeCluster:
		return nil, fmt.Errorf("the key %q has no hash tag, which a Cluster needs to keep an index in one slot: call it %q", key, "{"+key+"}")
	}
	s := &Set{Client: client, Key: key, Lease: defaultLease, declaration: d}
	for _, name := range keys.Spread(key, d.Partitions) {
		s.Keys = append(s.Keys, keysOf(name))
	}
	return s, nil
}

// Read returns what the index at a key remembers, or ErrNotFound.
func Read(ctx context.Context, client rueidis.Client, key string) (Declaration, error) {
	if client == nil {
		return Declaration{}, errors.New("the client is nil")
	}
	found, err := client.Do(ctx, client.B().Hmget().Key(key+".meta").Field("kind", "declaration", "partitions").Build()).ToArray()
	if err != nil {
		return Declaration{}, err
	}
	if found[0].IsNil() {
		return Declaration{}, fmt.Errorf("%w: there is no index %q", ErrNotFound, key)
	}
	var d Declaration
	d.Kind, _ = found[0].ToString()
	d.Text, _ = found[1].ToString()
	n, _ := found[2].ToString()
	if d.Partitions, err = strconv.Atoi(n); err != nil || d.Partitions < 1 || d.Partitions > keys.MaxPartitions {
		return Declaration{}, fmt.Errorf("%s.meta says that there are %q partitions", key, n)
	}
	return d, nil
}

// Of returns the keys of the partition that has an id.
func (s *Set) Of(id string) *Keys { return &s.Keys[s.Index(id)] }

// Index returns which partition has an id.
func (s *Set) Index(id string) int { return keys.Partition(id, len(s.Keys)) }

// Declaration is what the index was made with.
func (s *Set) Declaration() Declaration { return s.declaration }

// Args are the arguments that the function declared of declare.lua takes behind
// the key: kind, declaration, partitions.
func (s *Set) Args() []string {
	return []string{s.declaration.Kind, s.declaration.Text, strconv.Itoa(s.declaration.Partitions)}
}

// Check fails with ErrDeclared where the index remembers another declaration. It
// asks once: one round trip. An index that does not exist yet is all right.
func (s *Set) Check(ctx context.Context) error {
	if s.known.Load() {
		return nil
	}
	d, err := Read(ctx, s.Client, s.Key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case d != s.declaration:
		return s.otherwise(d)
	}
	s.known.Store(true)
	return nil
}

// Declare writes the declaration down where there is none yet, and is Check
// otherwise. An index in one partition does not need it: its scripts do.
func (s *Set) Declare(ctx context.Context) error {
	if s.known.Load() {
		return nil
	}
	meta := s.Key + ".meta"
	r := declareScript().Run(ctx, s.Client, []string{meta}, s.Args())
	if err := s.Error(ctx, r.Error()); err != nil {
		return err
	}
	s.known.Store(true)
	return nil
}

// NewScript returns a script that may use the functions of declare.lua.
func NewScript(sources ...string) script.Script {
	return script.New(append([]string{declareLua}, sources...)...)
}

func declareScript() script.Script {
	return NewScript("return declared(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) or 0\n")
}

// Adopt writes the declaration down in every partition of what somebody made by
// hand.
func (s *Set) Adopt(ctx context.Context) error {
	for _, k := range s.Keys {
		if err := s.Error(ctx, declareScript().Run(ctx, s.Client, []string{k.Meta}, s.Args()).Error()); err != nil {
			return err
		}
	}
	return s.Declare(ctx)
}

// Error words what a script replied: with what is declared, where it was refused
// for that, and what to do where nothing is.
func (s *Set) Error(ctx context.Context, err error) error {
	e, ok := rueidis.IsRedisErr(err)
	switch {
	case ok && strings.HasPrefix(e.Error(), "FOREIGN"):
		return s.foreign()
	case !ok || !strings.HasPrefix(e.Error(), "DECLARED"):
		return err
	}
	d, err := Read(ctx, s.Client, s.Key)
	if err != nil {
		return errors.Join(ErrDeclared, err)
	}
	return s.otherwise(d)
}

// foreign says how what no index made can become one.
func (s *Set) foreign() error {
	how := "use another key"
	switch s.declaration.Kind {
	case "composite", "numeric":
		how = fmt.Sprintf("take it over by Adopt or %q", "retwis index adopt "+s.Key)
	case "space", "suggest":
		how = fmt.Sprintf("take it over by Adopt or %q", "retwis "+s.declaration.Kind+" adopt "+s.Key)
	case "lexical", "recent":
		how = "take it over by Adopt"
	}
	return fmt.Errorf("%w: %q has no %s.meta: %s", ErrForeign, s.Key, s.Key, how)
}

func (s *Set) otherwise(d Declaration) error {
	if s.Explain != nil {
		if err := s.Explain(d); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %q is %s, not %s", ErrDeclared, s.Key, d, s.declaration)
}

func (d Declaration) String() string {
	text := d.Kind
	if d.Text != "" {
		text += " " + d.Text
	}
	if d.Partitions > 1 {
		text += fmt.Sprintf(" in %d partitions", d.Partitions)
	}
	return text
}
