package moderation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("REPORT_TAKER"); url != "" {
		takeReports(url, os.Getenv("REPORT_HOLDER"))
		return
	}
	redistest.Main(m)
}

func store(t testing.TB, client rueidis.Client) *reportStore {
	t.Helper()
	s, err := newReportStore(client)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func everything(string) (bool, error) { return true, nil }

func add(t testing.TB, s *reportStore, target string, by int64) {
	t.Helper()
	if _, err := s.Add(t.Context(), newReport{target: target, about: 7, report: storedReport{By: by, Time: time.Now(), Reason: Reason{Kind: "spam", Text: "look  here"}}}); err != nil {
		t.Fatal(err)
	}
}

// A person can have one open report about a target, and reports by several people form one case.
func TestOneReportEach(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]rueidis.Client{"single": redistest.DB(t).Client(t), "cluster": redistest.Cluster(t, 3).Client(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ctx := store(t, client), t.Context()
			for _, by := range []int64{3, 4, 3, 3} {
				add(t, s, "user:7", by)
			}
			c, err := s.Take(ctx, "1", false, everything)
			if err != nil || c.Target != "user:7" || len(c.Reports) != 2 || c.Reports[0].Text != "look  here" || c.Reports[0].Kind != "spam" {
				t.Fatalf("taken: %+v, %v", c, err)
			}
			if _, err := s.Take(ctx, "2", false, everything); !errors.Is(err, ErrNoReport) {
				t.Errorf("another moderator: %v", err)
			}
			if _, err := s.TakeTarget(ctx, "user:7", "2"); !errors.Is(err, ErrReportHeld) {
				t.Errorf("another moderator: %v", err)
			}
			if _, err := s.Close(ctx, "user:7", "2"); !errors.Is(err, ErrReportNotHeld) {
				t.Errorf("another moderator decides: %v", err)
			}
			if reporters, err := s.Close(ctx, "user:7", "1"); err != nil || len(reporters) != 2 {
				t.Fatalf("closed: %v, %v", reporters, err)
			}
			if _, err := s.Case(ctx, "user:7"); !errors.Is(err, ErrNoReport) {
				t.Errorf("after the decision: %v", err)
			}
			add(t, s, "user:7", 3)
			if c, err = s.Take(ctx, "2", false, everything); err != nil || len(c.Reports) != 1 {
				t.Errorf("reported again: %+v, %v", c, err)
			}
		})
	}
}

// A case that a crash left out of the ring is still handed out, and a ring entry without a case is
// not.
func TestCrashes(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s, ctx := store(t, client), t.Context()
	add(t, s, "user:7", 3)
	add(t, s, "user:8", 3)
	for _, key := range []string{storage.Reports, storage.Reports + ".content"} {
		if err := client.Do(ctx, client.B().Del().Key(key).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		c, err := s.Take(ctx, "1", false, everything)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Do(ctx, client.B().Del().Key(storage.ReportKey(c.Target)).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := s.Held(ctx, "1"); !errors.Is(err, ErrNoReport) {
		t.Errorf("held after the cases are gone: %+v, %v", c, err)
	}
}

// The person in a case gains or loses a role and is reported again: one moderator gets the case.
func TestRoleChanges(t *testing.T) {
	t.Parallel()
	for _, staff := range []bool{true, false} {
		client := redistest.DB(t).Client(t)
		s, ctx := store(t, client), t.Context()
		for i, now := range []bool{staff, !staff} {
			if _, err := s.Add(ctx, newReport{target: "user:7", about: 7, staff: now, report: storedReport{By: int64(3 + i), Time: time.Now(), Reason: Reason{Kind: "spam"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := s.Take(ctx, "1", true, everything); err != nil || len(c.Reports) != 2 || c.Staff != staff {
			t.Errorf("taken: %+v, %v", c, err)
		}
		if c, err := s.Take(ctx, "2", true, everything); !errors.Is(err, ErrNoReport) {
			t.Errorf("another moderator: %+v, %v", c, err)
		}
		// An entry in the other ring goes to nobody either.
		for range 2 {
			if err := s.ring(!staff).Put(ctx, "user:7"); err != nil {
				t.Fatal(err)
			}
			if c, err := s.Take(ctx, "2", true, everything); !errors.Is(err, ErrNoReport) {
				t.Errorf("another moderator from the other ring: %+v, %v", c, err)
			}
		}
		if err := s.ring(!staff).Put(ctx, "user:7"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Close(ctx, "user:7", "1"); err != nil {
			t.Fatal(err)
		}
		for _, ring := range s.rings {
			if n, err := ring.Len(ctx); err != nil || n != 0 {
				t.Errorf("a ring has %d after the decision: %v", n, err)
			}
		}
	}
}

// A report about somebody whom the moderator must not decide about stays for another moderator.
func TestRefusedStays(t *testing.T) {
	t.Parallel()
	s, ctx := store(t, redistest.DB(t).Client(t)), t.Context()
	add(t, s, "user:7", 3)
	if _, err := s.Take(ctx, "7", false, func(string) (bool, error) { return false, nil }); !errors.Is(err, ErrNoReport) {
		t.Fatal(err)
	}
	if c, err := s.Take(ctx, "8", false, everything); err != nil || c.Target != "user:7" {
		t.Errorf("the next moderator: %+v, %v", c, err)
	}
}

// Sixteen moderators in this process and three more processes, which are killed now and then, take
// reports concurrently: each report is held by one at a time, and every one is decided.
func TestNoneLostNoneTwice(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	client := db.Client(t)
	s, ctx := store(t, client), t.Context()
	const cases = 200
	for i := range cases {
		add(t, s, fmt.Sprintf("post:%d", i+1), 3)
	}
	var killers, takers sync.WaitGroup
	for i := range 3 {
		killers.Go(func() { killTaker(t, db.URL(), fmt.Sprintf("process%d", i)) })
	}
	var mu sync.Mutex
	holders, decided := map[string]string{}, map[string]int{}
	for i := range 16 {
		takers.Go(func() {
			holder := fmt.Sprintf("moderator%d", i)
			for {
				c, err := s.Take(ctx, holder, true, everything)
				if errors.Is(err, ErrNoReport) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if other, ok := holders[c.Target]; ok {
					t.Errorf("%s and %s hold %s", holder, other, c.Target)
				}
				holders[c.Target] = holder
				mu.Unlock()
				leave := c.Reports[0].By == 3 && len(c.Target)%3 == 0 && decidedOnce(&mu, decided, "left "+c.Target)
				mu.Lock()
				delete(holders, c.Target)
				mu.Unlock()
				if leave {
					err = s.Return(ctx, c.Target, holder)
				} else if _, err = s.Close(ctx, c.Target, holder); err == nil {
					mu.Lock()
					decided[c.Target]++
					mu.Unlock()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	takers.Wait()
	killers.Wait()
	// Reports held by the dead processes come back when their leases expire.
	held := 0
	for i := range 3 {
		for {
			c, err := s.Held(ctx, fmt.Sprintf("process%d", i))
			if errors.Is(err, ErrNoReport) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			held++
			decided[c.Target]++
			if _, err := s.Close(ctx, c.Target, fmt.Sprintf("process%d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range cases {
		if target := fmt.Sprintf("post:%d", i+1); decided[target] != 1 {
			t.Errorf("%s was decided %d times", target, decided[target])
		}
	}
	if n, err := s.Count(ctx); err != nil || n != 0 {
		t.Errorf("%d cases are left: %v", n, err)
	}
	t.Logf("%d were held by processes that were killed", held)
}

// decidedOnce records a name and reports whether this is the first time.
func decidedOnce(mu *sync.Mutex, noted map[string]int, name string) bool {
	mu.Lock()
	defer mu.Unlock()
	noted[name]++
	return noted[name] == 1
}

// killTaker runs a process that takes reports, and kills it when it has taken a few.
func killTaker(t *testing.T, url, holder string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REPORT_TAKER="+url, "REPORT_HOLDER="+holder)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	lines := bufio.NewScanner(out)
	for n := 0; n < 5 && lines.Scan(); n++ {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}

// takeReports takes reports until it is killed, or none are left.
func takeReports(url, holder string) {
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	client, err := rueidis.NewClient(opt)
	if err != nil {
		panic(err)
	}
	s, err := newReportStore(client)
	if err != nil {
		panic(err)
	}
	for {
		c, err := s.Take(context.Background(), holder, true, everything)
		if err != nil {
			return
		}
		fmt.Println(c.Target)
	}
}

// A report is read as it was written, even one about a rule with a text of several lines. A damaged
// rule is ignored.
func TestStoredReport(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0).UTC()
	for _, why := range []Reason{
		{Kind: "spam"},
		{Kind: "spam", Text: "two  words\nand a line"},
		{Kind: RuleKind, Rule: Rule{3, "Be kind, to  everyone."}},
		{Kind: RuleKind, Rule: Rule{12, "No advertising"}, Text: "every day\n\nthe same"},
	} {
		r := storedReport{By: 7, Time: at, Reason: why}
		if got := unpackReport(7, r.pack()); got != r {
			t.Errorf("%q is read as %+v", r.pack(), got)
		}
	}
	for _, damaged := range []string{"", "1", "1 rule", "1 rule x", "1 rule x y\nz"} {
		if got := unpackReport(7, damaged); got.Rule.String() != "" {
			t.Errorf("%q is rule %v", damaged, got.Rule)
		}
	}
}

// The oldest case is the one reported first. The other cases about a person are about them or their
// posts.
func TestOtherCases(t *testing.T) {
	t.Parallel()
	s, ctx := store(t, redistest.DB(t).Client(t)), t.Context()
	if at, err := s.Oldest(ctx); err != nil || !at.IsZero() {
		t.Errorf("the oldest of none: %v, %v", at, err)
	}
	first := time.Now().Add(-time.Hour).Truncate(time.Millisecond).UTC()
	for i, n := range []newReport{{target: "post:1", about: 7}, {target: "user:8", about: 8}, {target: "user:7", about: 7}, {target: "post:2", about: 7}} {
		n.report = storedReport{By: 3, Time: first.Add(time.Duration(i) * time.Minute), Reason: Reason{Kind: "spam"}}
		if _, err := s.Add(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := s.Oldest(ctx); err != nil || !at.Equal(first) {
		t.Errorf("the oldest: %v, %v, want %v", at, err, first)
	}
	others, err := s.Others(ctx, 7, "user:7")
	if err != nil || len(others) != 2 || others[0].Target != "post:1" || others[1].Target != "post:2" || !others[0].Since.Equal(first) {
		t.Errorf("the others: %+v, %v", others, err)
	}
}
