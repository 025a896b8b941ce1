// Package report stores what people have reported: for each target, a post or a
// person, the reports of all who have reported it, until a moderator has decided.
//
// Targets wait in rings (collection.Ring), which lease each to one moderator at a time:
// those about people without a role in one, those about moderators and above in
// another. A sorted set has all open targets and is written by the same script as the
// reports; a target that the ring lacks, because a process died in between, is put
// there again. All keys are in one slot of a Cluster.
package report

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout"
)

var (
	//go:embed add.lua
	addSource string
	addScript = script.New(addSource).Retryable()

	//go:embed close.lua
	closeSource string
	closeScript = script.New(closeSource).Retryable()

	//go:embed kinds.lua
	kindsSource string
	kindsScript = script.New(kindsSource).Retryable()

	//go:embed withdraw.lua
	withdrawSource string
	withdrawScript = script.New(withdrawSource).Retryable()
)

const (
	// Lease is how long a moderator has a report without a sign of life.
	Lease = 15 * time.Minute
	// MaxReporters bounds the reports of a target that are stored. Further ones change
	// nothing.
	MaxReporters = 1000
)

// Errors that a caller can act on.
var (
	// ErrNone: there is no open report about the target, or none that waits.
	ErrNone = errors.New("report: no open report")
	// ErrHeld: another moderator has it.
	ErrHeld = errors.New("report: another moderator has it")
	// ErrNotHeld: the moderator does not have it, or no longer.
	ErrNotHeld = errors.New("report: not held")
)

// Report is what one person has reported.
type Report struct {
	By   int64
	Time time.Time
	Kind string
	Text string
}

// Case is a target with its reports, the earliest first.
type Case struct {
	Target  string // the key of a user or a post
	Staff   bool   // it is about a moderator or above
	Reports []Report
}

// Waiting is an open case in a list.
type Waiting struct {
	Target    string
	Since     time.Time
	Reporters int64
	Kinds     []Kind    // why, the most frequent first
	Holder    string    // who has it; empty for nobody
	Until     time.Time // for how long
}

// Kind is how many reports of a case are of a kind.
type Kind struct {
	Name string
	N    int64
}

// Store is the reports of a database.
type Store struct {
	client rueidis.Client
	rings  [2]*collection.Ring // without and with a role
}

// New returns the reports of the database behind a client. It sends nothing.
func New(client rueidis.Client) (*Store, error) {
	s := &Store{client: client}
	for i, key := range []string{layout.Reports, layout.StaffReports} {
		var err error
		if s.rings[i], err = collection.NewRing(client, key); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	return s, nil
}

func (s *Store) ring(staff bool) *collection.Ring {
	if staff {
		return s.rings[1]
	}
	return s.rings[0]
}

// Add adds a report, unless the person has an open one about the target: added is
// false then. The reports are written first, then the ring: repeating it does no harm,
// and Take repairs what a crash leaves. Two round trips.
func (s *Store) Add(ctx context.Context, target string, staff bool, r Report) (added bool, err error) {
	value := layout.Seconds(r.Time) + " " + r.Kind + " " + r.Text
	n, err := addScript.Run(ctx, s.client, []string{layout.ReportKey(target), layout.OpenReports}, []string{
		target, layout.Itoa(r.By), value, strconv.FormatInt(r.Time.UnixMilli(), 10), flag(staff), strconv.Itoa(MaxReporters),
	}).AsInt64()
	if err != nil {
		return false, fmt.Errorf("report: %w", err)
	}
	if err := s.ring(staff).Put(ctx, target); err != nil {
		return false, fmt.Errorf("report: %w", err)
	}
	return n == 1, nil
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// Case returns an open case, or ErrNone. One round trip.
func (s *Store) Case(ctx context.Context, target string) (Case, error) {
	fields, err := s.client.Do(ctx, s.client.B().Hgetall().Key(layout.ReportKey(target)).Build()).AsStrMap()
	if err != nil {
		return Case{}, fmt.Errorf("report: %w", err)
	}
	if len(fields) == 0 {
		return Case{}, ErrNone
	}
	c := Case{Target: target, Staff: fields["staff"] == "1"}
	for field, value := range fields {
		by, ok := layout.ParseID(strings.TrimPrefix(field, "by:"))
		if !ok {
			continue
		}
		parts := append(strings.SplitN(value, " ", 3), "", "")
		c.Reports = append(c.Reports, Report{By: by, Time: layout.ParseTime(parts[0]), Kind: parts[1], Text: parts[2]})
	}
	slices.SortFunc(c.Reports, func(a, b Report) int {
		if d := a.Time.Compare(b.Time); d != 0 {
			return d
		}
		return int(a.By - b.By)
	})
	return c, nil
}

// Held returns the case that a holder has, the one that was taken last, and extends its
// lease; ErrNone for none. A few round trips.
func (s *Store) Held(ctx context.Context, holder string) (Case, error) {
	for _, ring := range s.rings {
		items, err := ring.Leased(ctx, holder)
		if err != nil {
			return Case{}, fmt.Errorf("report: %w", err)
		}
		for _, item := range slices.Backward(items) {
			c, err := s.open(ctx, ring.Lease(item.Item, item.LeaseID))
			if !errors.Is(err, ErrNone) {
				return c, err
			}
		}
	}
	return Case{}, ErrNone
}

// open extends a lease and returns its case. One that was decided meanwhile leaves the
// ring.
func (s *Store) open(ctx context.Context, lease *collection.Lease) (Case, error) {
	switch err := lease.Extend(ctx, Lease); {
	case errors.Is(err, collection.ErrLeaseOver):
		return Case{}, ErrNone
	case err != nil:
		return Case{}, fmt.Errorf("report: %w", err)
	}
	c, err := s.Case(ctx, lease.Item)
	if !errors.Is(err, ErrNone) {
		return c, err
	}
	if err := lease.Remove(ctx); err != nil && !errors.Is(err, collection.ErrLeaseOver) {
		return Case{}, fmt.Errorf("report: %w", err)
	}
	// A report that arrived before it left has to come back.
	if _, err := s.Case(ctx, lease.Item); err == nil {
		return Case{}, errors.Join(s.refill(ctx), ErrNone)
	}
	return Case{}, ErrNone
}

// maxTakes bounds how many entries without a case, or that a moderator may not decide,
// one Take passes over.
const maxTakes = 50

// Take leases the next case to a holder, also about staff if may says so, which is asked
// about each target; it returns ErrNone where none waits. Those that may refuses go back
// to the end of the ring. A few round trips.
func (s *Store) Take(ctx context.Context, holder string, staff bool, may func(target string) (bool, error)) (Case, error) {
	if err := s.refill(ctx); err != nil {
		return Case{}, err
	}
	for i, ring := range s.rings {
		if i == 1 && !staff {
			break
		}
		c, err := s.takeFrom(ctx, ring, holder, may)
		if !errors.Is(err, ErrNone) {
			return c, err
		}
	}
	return Case{}, ErrNone
}

func (s *Store) takeFrom(ctx context.Context, ring *collection.Ring, holder string, may func(target string) (bool, error)) (Case, error) {
	refused := map[string]bool{}
	for range maxTakes {
		lease, err := ring.TakeFor(ctx, holder, Lease)
		if errors.Is(err, collection.ErrNotFound) {
			return Case{}, ErrNone
		}
		if err != nil {
			return Case{}, fmt.Errorf("report: %w", err)
		}
		c, err := s.open(ctx, lease)
		if errors.Is(err, ErrNone) {
			continue
		}
		ok := false
		if err == nil {
			ok, err = may(lease.Item)
		}
		if err == nil && ok {
			return c, nil
		}
		if back := lease.Return(ctx); back != nil && !errors.Is(back, collection.ErrLeaseOver) {
			err = errors.Join(err, back)
		}
		if err != nil {
			return Case{}, err
		}
		if refused[lease.Item] {
			return Case{}, ErrNone
		}
		refused[lease.Item] = true
	}
	return Case{}, ErrNone
}

// TakeTarget leases one case to a holder, or returns ErrHeld or ErrNone. A few round
// trips.
func (s *Store) TakeTarget(ctx context.Context, target, holder string) (Case, error) {
	c, err := s.Case(ctx, target)
	if err != nil {
		return Case{}, err
	}
	if lease, err := s.lease(ctx, target, holder); err == nil {
		return s.open(ctx, lease)
	}
	ring := s.ring(c.Staff)
	if err := ring.Put(ctx, target); err != nil {
		return Case{}, fmt.Errorf("report: %w", err)
	}
	lease, err := ring.TakeItem(ctx, target, holder, Lease)
	switch {
	case errors.Is(err, collection.ErrLeased):
		return Case{}, ErrHeld
	case err != nil:
		return Case{}, fmt.Errorf("report: %w", err)
	}
	return s.open(ctx, lease)
}

// lease returns the lease that a holder has on a target, or ErrNotHeld.
func (s *Store) lease(ctx context.Context, target, holder string) (*collection.Lease, error) {
	for _, ring := range s.rings {
		items, err := ring.Leased(ctx, holder)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		for _, item := range items {
			if item.Item == target {
				return ring.Lease(target, item.LeaseID), nil
			}
		}
	}
	return nil, ErrNotHeld
}

// Keep extends the lease of a holder on a target, or returns ErrNotHeld.
func (s *Store) Keep(ctx context.Context, target, holder string) error {
	return s.with(ctx, target, holder, func(l *collection.Lease) error { return l.Extend(ctx, Lease) })
}

// Return puts a case back, for others; ErrNotHeld if the holder does not have it.
func (s *Store) Return(ctx context.Context, target, holder string) error {
	return s.with(ctx, target, holder, func(l *collection.Lease) error { return l.Return(ctx) })
}

func (s *Store) with(ctx context.Context, target, holder string, do func(*collection.Lease) error) error {
	lease, err := s.lease(ctx, target, holder)
	if err != nil {
		return err
	}
	err = do(lease)
	if errors.Is(err, collection.ErrLeaseOver) {
		return ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Close removes a decided case: its reports in one script, then it leaves the ring. A
// report that arrives in between opens another case, which Take puts into the ring
// again.
func (s *Store) Close(ctx context.Context, target, holder string) error {
	lease, err := s.lease(ctx, target, holder)
	if err != nil {
		return err
	}
	err = closeScript.Run(ctx, s.client, []string{layout.ReportKey(target), layout.OpenReports}, []string{target}).Error()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := lease.Remove(ctx); err != nil && !errors.Is(err, collection.ErrLeaseOver) {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// refill puts open cases into the rings that a crash has left out. One round trip while
// there are none.
func (s *Store) refill(ctx context.Context) error {
	missing, err := s.Missing(ctx)
	if err == nil && missing > 0 {
		_, err = s.Refill(ctx)
	}
	return err
}

// Missing returns by how many the open cases are more than the entries of the rings.
func (s *Store) Missing(ctx context.Context) (int64, error) {
	missing, err := s.client.Do(ctx, s.client.B().Zcard().Key(layout.OpenReports).Build()).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	for _, ring := range s.rings {
		n, err := ring.Len(ctx)
		if err != nil {
			return 0, fmt.Errorf("report: %w", err)
		}
		missing -= n
	}
	return max(missing, 0), nil
}

// refillBatch is how many cases one step of Refill looks at.
const refillBatch = 500

// Refill puts every open case into its ring that is not there, and returns how many
// that were. Repeating it does no harm.
func (s *Store) Refill(ctx context.Context) (added int, err error) {
	b := s.client.B()
	for from := 0; ; from += refillBatch {
		targets, err := s.client.Do(ctx, b.Zrange().Key(layout.OpenReports).Min(strconv.Itoa(from)).Max(strconv.Itoa(from+refillBatch-1)).Build()).AsStrSlice()
		if err != nil {
			return added, fmt.Errorf("report: %w", err)
		}
		if len(targets) == 0 {
			return added, nil
		}
		cmds := make(rueidis.Commands, len(targets))
		for i, target := range targets {
			cmds[i] = b.Hget().Key(layout.ReportKey(target)).Field("staff").Build()
		}
		var of [2][]string
		for i, res := range s.client.DoMulti(ctx, cmds...) {
			staff, err := res.ToString()
			if err != nil && !rueidis.IsRedisNil(err) {
				return added, fmt.Errorf("report: %w", err)
			}
			at := 0
			if staff == "1" {
				at = 1
			}
			of[at] = append(of[at], targets[i])
		}
		for i, some := range of {
			n, err := s.rings[i].PutMany(ctx, slices.Values(some))
			if added += n; err != nil {
				return added, fmt.Errorf("report: %w", err)
			}
		}
	}
}

// Forget removes the reports by a person, and about them. It costs O(n) of the open
// cases, and can be repeated.
func (s *Store) Forget(ctx context.Context, uid int64, about func(target string) (bool, error)) error {
	targets, err := s.client.Do(ctx, s.client.B().Zrange().Key(layout.OpenReports).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, target := range targets {
		drop, err := about(target)
		if err != nil {
			return err
		}
		run, args := withdrawScript, []string{target, layout.Itoa(uid)}
		if drop {
			run = closeScript
		}
		left, err := run.Run(ctx, s.client, []string{layout.ReportKey(target), layout.OpenReports}, args).AsInt64()
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if left > 0 {
			continue
		}
		for _, ring := range s.rings {
			if _, err := ring.Remove(ctx, target); err != nil {
				return fmt.Errorf("report: %w", err)
			}
		}
	}
	return nil
}
