// Package partition implements the layout in Redis that all kinds of index share: an index
// consists of one or more partitions. Each partition is in one hash slot, has its declaration
// next to it, and is changed by scripts that compare that declaration with the caller's.
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

	"retwis/internal/redis/keys"
	"retwis/internal/redis/script"
)

// Errors that package index exports.
var (
	ErrNotFound = errors.New("not found")
	ErrDeclared = errors.New("the key has another declaration")
	ErrCorrupt  = errors.New("the index is damaged")
	ErrForeign  = errors.New("the key holds other data")
)

//go:embed declare.lua
var declareLua string

// defaultLease is the Lease set by New.
const defaultLease = time.Minute

// maxKey limits the name of an index, in bytes.
const maxKey = 1024

// Declaration describes how an index was created, as stored in its metadata.
type Declaration struct {
	Kind       string // the type of index
	Text       string // its columns, dimensions or options; may be empty
	Partitions int
}

// Set is the partitions of an index.
type Set struct {
	Client rueidis.Client
	Key    string
	Keys   []Keys
	// Lease is how long a repair or rebuild lasts unless it is renewed.
	Lease time.Duration
	// Explain, if set, returns the error for a different declaration, or nil for the general
	// error.
	Explain func(Declaration) error

	declaration Declaration
	known       atomic.Bool // the index is known to have this declaration
}

// New returns the partitions of an index; if d.Partitions is 0, there is one. It sends no commands.
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
		return nil, fmt.Errorf("%d partitions: from 1 to %d are allowed", d.Partitions, keys.MaxPartitions)
	case d.Partitions > 1 && !keys.Spreadable(key):
		return nil, fmt.Errorf("the key %q has a brace but no hash tag: it cannot be divided into partitions", key)
	case d.Partitions == 1 && keys.Tag(key) == "" && client.Mode() == rueidis.ClientModeCluster:
		return nil, fmt.Errorf("the key %q has no hash tag, which keeps an index in one slot of a Cluster: call it %q", key, "{"+key+"}")
	}
	s := &Set{Client: client, Key: key, Lease: defaultLease, declaration: d}
	for _, name := range keys.Spread(key, d.Partitions) {
		s.Keys = append(s.Keys, keysOf(name))
	}
	return s, nil
}

// Read returns the declaration of the index at a key, or ErrNotFound, in one round trip.
func Read(ctx context.Context, client rueidis.Client, key string) (Declaration, error) {
	if client == nil {
		return Declaration{}, errors.New("the client is nil")
	}
	found, err := client.Do(ctx, client.B().Hmget().Key(key+".meta").Field("kind", "declaration", "partitions").Build()).ToArray()
	if err != nil {
		return Declaration{}, err
	}
	if found[0].IsNil() {
		return Declaration{}, fmt.Errorf("%w: %q does not exist", ErrNotFound, key)
	}
	var d Declaration
	d.Kind, _ = found[0].ToString()
	d.Text, _ = found[1].ToString()
	n, _ := found[2].ToString()
	if d.Partitions, err = strconv.Atoi(n); err != nil || d.Partitions < 1 || d.Partitions > keys.MaxPartitions {
		return Declaration{}, Corrupt(key, fmt.Errorf("invalid number of partitions: %q", n))
	}
	return d, nil
}

// ReadKind is Read for one kind of index. It returns ErrDeclared if the key has another kind.
func ReadKind(ctx context.Context, client rueidis.Client, key, kind string) (Declaration, error) {
	d, err := Read(ctx, client, key)
	if err == nil && d.Kind != kind {
		err = fmt.Errorf("%w: %q is %s, not %s", ErrDeclared, key, d, kind)
	}
	return d, err
}

// Corrupt returns ErrCorrupt for a declaration that cannot be parsed.
func Corrupt(key string, err error) error {
	return fmt.Errorf("%w: %s.meta: %w", ErrCorrupt, key, err)
}

// Of returns the keys of the partition that holds an ID.
func (s *Set) Of(id string) *Keys { return &s.Keys[s.Index(id)] }

// Index returns the number of the partition that holds an ID.
func (s *Set) Index(id string) int { return keys.Partition(id, len(s.Keys)) }

// Declaration returns the declaration of the caller.
func (s *Set) Declaration() Declaration { return s.declaration }

// Args returns the first arguments of every script: kind, declaration, partitions.
func (s *Set) Args() []string {
	return []string{s.declaration.Kind, s.declaration.Text, strconv.Itoa(s.declaration.Partitions)}
}

// Check returns ErrDeclared if the key has a different declaration, and nil if the index does not
// exist yet. It takes one round trip until the declaration is known to match.
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
		return s.declaredError(d)
	}
	s.known.Store(true)
	return nil
}

// Forget makes Check and Declare read the declaration again, after it was removed.
func (s *Set) Forget() { s.known.Store(false) }

// Len returns the number of entries, in one round trip.
func (s *Set) Len(ctx context.Context) (int64, error) {
	if err := s.Check(ctx); err != nil {
		return 0, err
	}
	return s.Sum(ctx, func(k *Keys) rueidis.Completed { return s.Client.B().Zcard().Key(k.Index).Build() })
}

// Sum adds up the replies of a command in every partition, in one round trip.
func (s *Set) Sum(ctx context.Context, command func(*Keys) rueidis.Completed) (int64, error) {
	commands := make(rueidis.Commands, len(s.Keys))
	for i := range s.Keys {
		commands[i] = command(&s.Keys[i])
	}
	var total int64
	for _, r := range s.Client.DoMulti(ctx, commands...) {
		n, err := r.AsInt64()
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// Declare stores the declaration if there is none yet; otherwise it is like Check. An index in one
// partition does not need Declare, because its scripts store the declaration. Declare returns the
// error of a write script if a partition is declared differently, or holds other data.
func (s *Set) Declare(ctx context.Context) error {
	if err := s.Check(ctx); err != nil || s.known.Load() {
		return err
	}
	calls := make([]script.Call, len(s.Keys))
	for i := range s.Keys {
		calls[i] = script.Call{Keys: s.Keys[i].All(), Args: s.Args()}
	}
	for _, r := range permitScript().RunMany(ctx, s.Client, calls) {
		if err := s.Error(ctx, r.Error()); err != nil {
			return err
		}
	}
	if err := s.store(ctx, s.Key+".meta"); err != nil {
		return err
	}
	s.known.Store(true)
	return nil
}

// store stores the declaration in a hash, unless the hash has one.
func (s *Set) store(ctx context.Context, meta string) error {
	return s.Error(ctx, declareScript().Run(ctx, s.Client, []string{meta}, s.Args()).Error())
}

// NewScript returns a script that may use the functions of declare.lua.
func NewScript(sources ...string) script.Script {
	return script.New(append([]string{declareLua}, sources...)...)
}

func declareScript() script.Script {
	return NewScript("return storeDeclaration(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) or 0\n")
}

func permitScript() script.Script {
	return NewScript("local _, refusal = checkDeclaration(ARGV[1], ARGV[2], ARGV[3])\nreturn refusal or 0\n")
}

// Adopt stores the declaration in every partition of data that was created by hand.
func (s *Set) Adopt(ctx context.Context) error {
	for _, k := range s.Keys {
		if err := s.store(ctx, k.Meta); err != nil {
			return err
		}
	}
	return s.Declare(ctx)
}

// Error returns the error for the reply of a script: with the stored declaration if it differs,
// and with advice if there is none.
func (s *Set) Error(ctx context.Context, err error) error {
	e, ok := rueidis.IsRedisErr(err)
	switch {
	case ok && strings.HasPrefix(e.Error(), "FOREIGN"):
		if _, held, other := strings.Cut(e.Error(), "FOREIGN "); other {
			return fmt.Errorf("%w: %s: use another key", ErrForeign, held)
		}
		return s.foreignError()
	case !ok || !strings.HasPrefix(e.Error(), "DECLARED"):
		return err
	}
	names := []string{s.Key}
	for i := range s.Keys {
		names = append(names, s.Keys[i].Index)
	}
	for _, name := range names { // a partition can differ from the others
		var d Declaration
		if d, err = Read(ctx, s.Client, name); err == nil && d != s.declaration {
			return s.declaredError(d)
		}
	}
	return errors.Join(ErrDeclared, err)
}

// foreignError returns the error for data that no index created, with advice on adopting the data.
func (s *Set) foreignError() error {
	d := s.declaration
	command, advice := "", "use another key"
	switch d.Kind {
	case "composite", "numeric":
		command = "retwis index adopt " + s.Key
	case "space", "suggest", "graph":
		command = "retwis " + d.Kind + " adopt " + s.Key
	case "recent":
		command = "retwis recent adopt " + s.Key + " --max " + d.Text
	case "lexical":
		advice = "adopt it with Adopt"
	}
	problem := fmt.Sprintf("%q has no %s.meta", s.Key, s.Key)
	if d.Kind == "graph" && d.Text != "" {
		command += " --" + d.Text
	}
	if d.Partitions > 1 {
		problem = fmt.Sprintf("a partition of %q has no declaration", s.Key)
	}
	if command != "" && d.Partitions > 1 {
		command += fmt.Sprint(" --partitions ", d.Partitions)
	}
	if command != "" {
		advice = fmt.Sprintf("adopt it with Adopt or %q", command)
	}
	return fmt.Errorf("%w: %s: %s", ErrForeign, problem, advice)
}

// declaredError returns the error for a stored declaration that differs from the caller's.
func (s *Set) declaredError(d Declaration) error {
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
