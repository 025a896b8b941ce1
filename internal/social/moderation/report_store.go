package moderation

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

var (
	//go:embed report_add.lua
	reportAddSource string
	reportAddScript = script.New(reportAddSource).Retryable()

	//go:embed report_close.lua
	reportCloseSource string
	reportCloseScript = script.New(reportCloseSource).Retryable()

	//go:embed report_kinds.lua
	reportKindsSource string
	reportKindsScript = script.New(reportKindsSource).Retryable()

	//go:embed report_withdraw.lua
	reportWithdrawSource string
	reportWithdrawScript = script.New(reportWithdrawSource).Retryable()
)

const (
	// ReportLease is how long a moderator holds a report without any activity.
	ReportLease = 15 * time.Minute
	// MaxReporters limits the stored reports about a target. Further reports are not stored.
	MaxReporters = 1000
	// maxReportedTexts limits how many texts of a post a case keeps: the first ones, and the
	// latest.
	maxReportedTexts = 5
)

// Errors that a caller can act on.
var (
	// ErrNoReport reports that there is no open report about the target, or that no report is
	// waiting.
	ErrNoReport = errors.New("report: no open report")
	// ErrReportHeld reports that another moderator holds the report.
	ErrReportHeld = errors.New("report: another moderator holds it")
	// ErrReportNotHeld reports that the moderator does not hold the report, or no longer holds it.
	ErrReportNotHeld = errors.New("report: not held")
)

// storedReport is the report of one person.
type storedReport struct {
	By   int64
	Time time.Time
	Reason
}

// pack encodes a report: the time, the kind and the text, separated by spaces. If the report is
// about a rule, the text starts with a line that has the number of the rule, a space, and the rule.
func (r storedReport) pack() string {
	text := r.Text
	if r.Kind == RuleKind {
		text = strconv.Itoa(r.Rule.Number) + " " + r.Rule.Text + "\n" + text
	}
	return storage.Seconds(r.Time) + " " + r.Kind + " " + text
}

// unpackReport decodes the result of pack, as far as a damaged value can be decoded.
func unpackReport(by int64, value string) storedReport {
	parts := append(strings.SplitN(value, " ", 3), "", "")
	r := storedReport{By: by, Time: storage.ParseTime(parts[0]), Reason: Reason{Kind: parts[1], Text: parts[2]}}
	if r.Kind == RuleKind {
		line, text, _ := strings.Cut(r.Text, "\n")
		number, rule, _ := strings.Cut(line, " ")
		r.Text, r.Rule.Text = text, rule
		r.Rule.Number, _ = strconv.Atoi(number)
	}
	return r
}

// storedCase is a target with its reports, earliest first.
type storedCase struct {
	Target  string // the key of a user or a post
	Staff   bool   // whether the target has a role: a moderator or above
	Texts   []ReportedText
	Reports []storedReport
}

// newReport is a report to be added.
type newReport struct {
	target string
	about  int64 // the person, or the author of the post
	staff  bool  // whether that person has a role
	text   ReportedText
	report storedReport
}

// waitingCase is an open case in a list.
type waitingCase struct {
	Target    string
	Texts     []ReportedText
	Since     time.Time
	Reporters int64
	Kinds     []kindCount // the reasons, most frequent first
	Holder    string      // who holds the case; empty if nobody does
	Until     time.Time   // the end of the lease
}

// kindCount is the number of reports of a kind in a case.
type kindCount struct {
	Name string
	N    int64
}

// reportStore stores the reports about each target, a post or a person, until a moderator has
// decided.
//
// Targets wait in rings (collection.Ring), which lease each target to one moderator at a time. One
// ring has the targets about people without a role, the other ring has the targets about moderators
// and above. A sorted set has all open targets and is written by the same script as the reports; if
// a process died before it added a target to its ring, the target is added again later. All keys
// are in one slot of a Cluster.
type reportStore struct {
	client rueidis.Client
	rings  [2]*collection.Ring // for people without and with a role
}

// newReportStore returns the reportStore of the database of client. It sends no command.
func newReportStore(client rueidis.Client) (*reportStore, error) {
	s := &reportStore{client: client}
	for i, key := range []string{storage.Reports, storage.StaffReports} {
		var err error
		if s.rings[i], err = collection.NewRing(client, key); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	return s, nil
}

func (s *reportStore) ring(staff bool) *collection.Ring {
	if staff {
		return s.rings[1]
	}
	return s.rings[0]
}

// Add adds a report, unless the reporter has an open one about the target; then added is false. A
// case stays in the ring of its first report, even if the role of the person has changed since. The
// reports are written before the ring: Add can be repeated, and Take adds targets that a crash left
// out of the ring. Two round trips.
func (s *reportStore) Add(ctx context.Context, n newReport) (added bool, err error) {
	r, text := n.report, ""
	if n.text.Text != "" {
		text = storage.Seconds(n.text.Time) + " " + n.text.Text
	}
	got, err := reportAddScript.Run(ctx, s.client, []string{storage.ReportKey(n.target), storage.OpenReports}, []string{
		n.target, storage.Itoa(r.By), r.pack(), strconv.FormatInt(r.Time.UnixMilli(), 10), flag(n.staff), strconv.Itoa(MaxReporters),
		storage.Itoa(n.about), text, strconv.Itoa(maxReportedTexts),
	}).AsIntSlice()
	if err != nil {
		return false, fmt.Errorf("report: %w", err)
	}
	if err := s.ring(got[1] == 1).Put(ctx, n.target); err != nil {
		return false, fmt.Errorf("report: %w", err)
	}
	return got[0] == 1, nil
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// Case returns an open case, or ErrNoReport. One round trip.
func (s *reportStore) Case(ctx context.Context, target string) (storedCase, error) {
	fields, err := s.client.Do(ctx, s.client.B().Hgetall().Key(storage.ReportKey(target)).Build()).AsStrMap()
	if err != nil {
		return storedCase{}, fmt.Errorf("report: %w", err)
	}
	if len(fields) == 0 {
		return storedCase{}, ErrNoReport
	}
	c := storedCase{Target: target, Staff: fields["staff"] == "1", Texts: parseTexts(fields["texts"])}
	for field, value := range fields {
		by, ok := storage.ParseID(strings.TrimPrefix(field, "by:"))
		if !ok {
			continue
		}
		c.Reports = append(c.Reports, unpackReport(by, value))
	}
	slices.SortFunc(c.Reports, func(a, b storedReport) int {
		if d := a.Time.Compare(b.Time); d != 0 {
			return d
		}
		return int(a.By - b.By)
	})
	return c, nil
}

// HasReported reports whether a person has an open report about a target. One round trip.
func (s *reportStore) HasReported(ctx context.Context, target string, by int64) (bool, error) {
	found, err := s.client.Do(ctx, s.client.B().Hexists().Key(storage.ReportKey(target)).Field("by:"+storage.Itoa(by)).Build()).AsBool()
	if err != nil {
		return false, fmt.Errorf("report: %w", err)
	}
	return found, nil
}

// parseTexts parses the field `texts` of a case; it returns none if the field is damaged.
func parseTexts(field string) []ReportedText {
	var stored []string
	if field == "" || json.Unmarshal([]byte(field), &stored) != nil {
		return nil
	}
	texts := make([]ReportedText, len(stored))
	for i, t := range stored {
		since, text, _ := strings.Cut(t, " ")
		texts[i] = ReportedText{storage.ParseTime(since), text}
	}
	return texts
}

// Held returns the last case that a holder took and still holds, and extends its lease. It returns
// ErrNoReport if there is no such case. A few round trips.
func (s *reportStore) Held(ctx context.Context, holder string) (storedCase, error) {
	for _, ring := range s.rings {
		items, err := ring.Leased(ctx, holder)
		if err != nil {
			return storedCase{}, fmt.Errorf("report: %w", err)
		}
		for _, item := range slices.Backward(items) {
			c, err := s.open(ctx, ring, ring.Lease(item.Item, item.LeaseID))
			if !errors.Is(err, ErrNoReport) {
				return c, err
			}
		}
	}
	return storedCase{}, ErrNoReport
}

// open extends a lease and returns its case. A case that was decided in the meantime leaves the
// ring. So does a case that belongs in the other ring, because otherwise two moderators could get
// the same case.
func (s *reportStore) open(ctx context.Context, ring *collection.Ring, lease *collection.Lease) (storedCase, error) {
	switch err := lease.Extend(ctx, ReportLease); {
	case errors.Is(err, collection.ErrLeaseOver):
		return storedCase{}, ErrNoReport
	case err != nil:
		return storedCase{}, fmt.Errorf("report: %w", err)
	}
	c, err := s.Case(ctx, lease.Item)
	if err != nil && !errors.Is(err, ErrNoReport) || err == nil && s.ring(c.Staff) == ring {
		return c, err
	}
	if err := lease.Remove(ctx); err != nil && !errors.Is(err, collection.ErrLeaseOver) {
		return storedCase{}, fmt.Errorf("report: %w", err)
	}
	// If a report arrived before the target left the ring, the target has to come back.
	if c, err := s.Case(ctx, lease.Item); err == nil {
		return storedCase{}, errors.Join(s.ring(c.Staff).Put(ctx, lease.Item), ErrNoReport)
	}
	return storedCase{}, ErrNoReport
}

// maxReportTakes limits how many entries one Take skips: entries without a case, and entries that
// the moderator may not decide.
const maxReportTakes = 50

// Take leases the next case to a holder, including cases about staff if staff is set. It calls
// mayDecide for each target; refused targets go back to the end of the ring. It returns ErrNoReport
// if no case is waiting. A few round trips.
func (s *reportStore) Take(ctx context.Context, holder string, staff bool, mayDecide func(target string) (bool, error)) (storedCase, error) {
	if err := s.refill(ctx); err != nil {
		return storedCase{}, err
	}
	for i, ring := range s.rings {
		if i == 1 && !staff {
			break
		}
		c, err := s.takeFrom(ctx, ring, holder, mayDecide)
		if !errors.Is(err, ErrNoReport) {
			return c, err
		}
	}
	return storedCase{}, ErrNoReport
}

func (s *reportStore) takeFrom(ctx context.Context, ring *collection.Ring, holder string, mayDecide func(target string) (bool, error)) (storedCase, error) {
	refused := map[string]bool{}
	for range maxReportTakes {
		lease, err := ring.TakeFor(ctx, holder, ReportLease)
		if errors.Is(err, collection.ErrNotFound) {
			return storedCase{}, ErrNoReport
		}
		if err != nil {
			return storedCase{}, fmt.Errorf("report: %w", err)
		}
		c, err := s.open(ctx, ring, lease)
		if errors.Is(err, ErrNoReport) {
			continue
		}
		ok := false
		if err == nil {
			ok, err = mayDecide(lease.Item)
		}
		if err == nil && ok {
			return c, nil
		}
		if returnErr := lease.Return(ctx); returnErr != nil && !errors.Is(returnErr, collection.ErrLeaseOver) {
			err = errors.Join(err, returnErr)
		}
		if err != nil {
			return storedCase{}, err
		}
		if refused[lease.Item] {
			return storedCase{}, ErrNoReport
		}
		refused[lease.Item] = true
	}
	return storedCase{}, ErrNoReport
}

// TakeTarget leases one case to a holder, or returns ErrReportHeld or ErrNoReport. A few round
// trips.
func (s *reportStore) TakeTarget(ctx context.Context, target, holder string) (storedCase, error) {
	c, err := s.Case(ctx, target)
	if err != nil {
		return storedCase{}, err
	}
	ring := s.ring(c.Staff)
	if lease, leaseRing, err := s.lease(ctx, target, holder); err == nil && leaseRing == ring {
		return s.open(ctx, ring, lease)
	}
	if err := ring.Put(ctx, target); err != nil {
		return storedCase{}, fmt.Errorf("report: %w", err)
	}
	lease, err := ring.TakeItem(ctx, target, holder, ReportLease)
	switch {
	case errors.Is(err, collection.ErrLeased):
		return storedCase{}, ErrReportHeld
	case err != nil:
		return storedCase{}, fmt.Errorf("report: %w", err)
	}
	return s.open(ctx, ring, lease)
}

// lease returns the lease that a holder has on a target, and its ring, or ErrReportNotHeld.
func (s *reportStore) lease(ctx context.Context, target, holder string) (*collection.Lease, *collection.Ring, error) {
	for _, ring := range s.rings {
		items, err := ring.Leased(ctx, holder)
		if err != nil {
			return nil, nil, fmt.Errorf("report: %w", err)
		}
		for _, item := range items {
			if item.Item == target {
				return ring.Lease(target, item.LeaseID), ring, nil
			}
		}
	}
	return nil, nil, ErrReportNotHeld
}

// Keep extends a holder's lease on a target, or returns ErrReportNotHeld.
func (s *reportStore) Keep(ctx context.Context, target, holder string) error {
	return s.withLease(ctx, target, holder, func(l *collection.Lease) error { return l.Extend(ctx, ReportLease) })
}

// Return puts a case back for others. It returns ErrReportNotHeld if the holder does not have it.
func (s *reportStore) Return(ctx context.Context, target, holder string) error {
	return s.withLease(ctx, target, holder, func(l *collection.Lease) error { return l.Return(ctx) })
}

func (s *reportStore) withLease(ctx context.Context, target, holder string, do func(*collection.Lease) error) error {
	lease, _, err := s.lease(ctx, target, holder)
	if err != nil {
		return err
	}
	err = do(lease)
	if errors.Is(err, collection.ErrLeaseOver) {
		return ErrReportNotHeld
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Close removes a decided case: first its reports, in one script, then its ring entry. A report
// that arrives in between opens another case, which Take adds to the ring again. Close also removes
// the target from the other ring, which may still have it from an earlier case. If several callers
// close a case, only the one that removed the case gets the reporters.
func (s *reportStore) Close(ctx context.Context, target, holder string) (reporters []int64, err error) {
	lease, leaseRing, err := s.lease(ctx, target, holder)
	if err != nil {
		return nil, err
	}
	reporters, err = reportCloseScript.Run(ctx, s.client, []string{storage.ReportKey(target), storage.OpenReports}, []string{target}).AsIntSlice()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := lease.Remove(ctx); err != nil && !errors.Is(err, collection.ErrLeaseOver) {
		return reporters, fmt.Errorf("report: %w", err)
	}
	for _, ring := range s.rings {
		if ring == leaseRing {
			continue
		}
		if _, err := ring.Remove(ctx, target); err != nil {
			return reporters, fmt.Errorf("report: %w", err)
		}
	}
	return reporters, nil
}

// refill adds open cases that a crash has left out of the rings. Three round trips if no case is
// missing.
func (s *reportStore) refill(ctx context.Context) error {
	missing, err := s.Missing(ctx)
	if err == nil && missing > 0 {
		_, err = s.Refill(ctx)
	}
	return err
}

// Missing returns how many more open cases than ring entries there are.
func (s *reportStore) Missing(ctx context.Context) (int64, error) {
	missing, err := s.client.Do(ctx, s.client.B().Zcard().Key(storage.OpenReports).Build()).AsInt64()
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

// reportRefillBatch is how many cases one step of Refill examines.
const reportRefillBatch = 500

// Refill adds every open case that is missing from its ring, and returns how many it added. It can
// be repeated.
func (s *reportStore) Refill(ctx context.Context) (added int, err error) {
	b := s.client.B()
	for from := 0; ; from += reportRefillBatch {
		targets, err := s.client.Do(ctx, b.Zrange().Key(storage.OpenReports).Min(strconv.Itoa(from)).Max(strconv.Itoa(from+reportRefillBatch-1)).Build()).AsStrSlice()
		if err != nil {
			return added, fmt.Errorf("report: %w", err)
		}
		if len(targets) == 0 {
			return added, nil
		}
		cmds := make(rueidis.Commands, len(targets))
		for i, target := range targets {
			cmds[i] = b.Hget().Key(storage.ReportKey(target)).Field("staff").Build()
		}
		var byRing [2][]string
		for i, res := range s.client.DoMulti(ctx, cmds...) {
			staff, err := res.ToString()
			if err != nil && !rueidis.IsRedisNil(err) {
				return added, fmt.Errorf("report: %w", err)
			}
			ring := 0
			if staff == "1" {
				ring = 1
			}
			byRing[ring] = append(byRing[ring], targets[i])
		}
		for i, batch := range byRing {
			n, err := s.rings[i].PutMany(ctx, slices.Values(batch))
			if added += n; err != nil {
				return added, fmt.Errorf("report: %w", err)
			}
		}
	}
}

// Forget removes the reports by a person, and about them and their posts. It takes at least one
// round trip per open case, and can be repeated.
func (s *reportStore) Forget(ctx context.Context, uid int64) error {
	targets, err := s.client.Do(ctx, s.client.B().Zrange().Key(storage.OpenReports).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, target := range targets {
		left, err := reportWithdrawScript.Run(ctx, s.client,
			[]string{storage.ReportKey(target), storage.OpenReports}, []string{target, storage.Itoa(uid)}).AsInt64()
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
