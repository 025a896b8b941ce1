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

func acceptAll(string) (bool, error) { return true, nil }

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
			c, err := s.Take(ctx, "1", false, acceptAll)
			if err != nil || c.Target != "user:7" || len(c.Reports) != 2 || c.Reports[0].Text != "look  here" || c.Reports[0].Kind != "spam" {
				t.Fatalf("Take = %+v, %v; want 2 reports about user:7", c, err)
			}
			if _, err := s.Take(ctx, "2", false, acceptAll); !errors.Is(err, ErrNoReport) {
				t.Errorf("Take by another moderator: %v, want ErrNoReport", err)
			}
			if _, err := s.TakeTarget(ctx, "user:7", "2"); !errors.Is(err, ErrReportHeld) {
				t.Errorf("TakeTarget by another moderator: %v, want ErrReportHeld", err)
			}
			if _, err := s.Close(ctx, "user:7", "2"); !errors.Is(err, ErrReportNotHeld) {
				t.Errorf("Close by another moderator: %v, want ErrReportNotHeld", err)
			}
			if reporters, err := s.Close(ctx, "user:7", "1"); err != nil || len(reporters) != 2 {
				t.Fatalf("Close = %v, %v; want 2 reporters", reporters, err)
			}
			if _, err := s.Case(ctx, "user:7"); !errors.Is(err, ErrNoReport) {
				t.Errorf("Case after the decision: %v, want ErrNoReport", err)
			}
			add(t, s, "user:7", 3)
			if c, err = s.Take(ctx, "2", false, acceptAll); err != nil || len(c.Reports) != 1 {
				t.Errorf("Take after a new report = %+v, %v; want 1 report", c, err)
			}
		})
	}
}

// Take returns a case that a crash has left out of the ring, and skips a ring entry without a case.
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
		c, err := s.Take(ctx, "1", false, acceptAll)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Do(ctx, client.B().Del().Key(storage.ReportKey(c.Target)).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := s.Held(ctx, "1"); !errors.Is(err, ErrNoReport) {
		t.Errorf("Held after the cases were deleted = %+v, %v; want ErrNoReport", c, err)
	}
}

// If the person in a case gains or loses a role and is reported again, only one moderator gets the
// case.
func TestRoleChanges(t *testing.T) {
	t.Parallel()
	for _, staff := range []bool{true, false} {
		client := redistest.DB(t).Client(t)
		s, ctx := store(t, client), t.Context()
		for i, isStaff := range []bool{staff, !staff} {
			if _, err := s.Add(ctx, newReport{target: "user:7", about: 7, staff: isStaff, report: storedReport{By: int64(3 + i), Time: time.Now(), Reason: Reason{Kind: "spam"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := s.Take(ctx, "1", true, acceptAll); err != nil || len(c.Reports) != 2 || c.Staff != staff {
			t.Errorf("Take = %+v, %v; want 2 reports, staff %v", c, err, staff)
		}
		if c, err := s.Take(ctx, "2", true, acceptAll); !errors.Is(err, ErrNoReport) {
			t.Errorf("Take by another moderator = %+v, %v; want ErrNoReport", c, err)
		}
		// Take also returns no entry of the other ring.
		for range 2 {
			if err := s.ring(!staff).Put(ctx, "user:7"); err != nil {
				t.Fatal(err)
			}
			if c, err := s.Take(ctx, "2", true, acceptAll); !errors.Is(err, ErrNoReport) {
				t.Errorf("Take by another moderator with an entry in the other ring = %+v, %v; want ErrNoReport", c, err)
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
				t.Errorf("a ring has %d entries after the decision (%v), want 0", n, err)
			}
		}
	}
}

// A case that a moderator must not decide stays available for other moderators.
func TestRefusedStays(t *testing.T) {
	t.Parallel()
	s, ctx := store(t, redistest.DB(t).Client(t)), t.Context()
	add(t, s, "user:7", 3)
	if _, err := s.Take(ctx, "7", false, func(string) (bool, error) { return false, nil }); !errors.Is(err, ErrNoReport) {
		t.Fatal(err)
	}
	if c, err := s.Take(ctx, "8", false, acceptAll); err != nil || c.Target != "user:7" {
		t.Errorf("Take by the next moderator = %+v, %v; want user:7", c, err)
	}
}

// Sixteen moderators in this process and three processes that are killed take cases concurrently.
// Each case has at most one holder at a time and is decided exactly once.
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
				c, err := s.Take(ctx, holder, true, acceptAll)
				if errors.Is(err, ErrNoReport) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if other, ok := holders[c.Target]; ok {
					t.Errorf("both %s and %s hold %s", holder, other, c.Target)
				}
				holders[c.Target] = holder
				mu.Unlock()
				leave := c.Reports[0].By == 3 && len(c.Target)%3 == 0 && isFirst(&mu, decided, "left "+c.Target)
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
	// The killed processes still hold cases. Decide these cases.
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
			t.Errorf("%s was decided %d times, want 1", target, decided[target])
		}
	}
	if n, err := s.Count(ctx); err != nil || n != 0 {
		t.Errorf("Count = %d, %v; want 0", n, err)
	}
	t.Logf("killed processes held %d cases", held)
}

// isFirst counts a name and reports whether it is the first occurrence of the name.
func isFirst(mu *sync.Mutex, counts map[string]int, name string) bool {
	mu.Lock()
	defer mu.Unlock()
	counts[name]++
	return counts[name] == 1
}

// killTaker runs a process that takes cases, and kills the process after a few cases.
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
	_ = cmd.Wait() // the error reports the kill
}

// takeReports takes cases until the process is killed or no case is left.
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
		c, err := s.Take(context.Background(), holder, true, acceptAll)
		if err != nil {
			return
		}
		fmt.Println(c.Target)
	}
}

// unpackReport restores what pack has written, even a rule and a text of several lines, and ignores
// a damaged rule.
func TestStoredReport(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0).UTC()
	for _, reason := range []Reason{
		{Kind: "spam"},
		{Kind: "spam", Text: "two  words\nand a line"},
		{Kind: RuleKind, Rule: Rule{3, "Be kind, to  everyone."}},
		{Kind: RuleKind, Rule: Rule{12, "No advertising"}, Text: "every day\n\nthe same"},
	} {
		r := storedReport{By: 7, Time: at, Reason: reason}
		if got := unpackReport(7, r.pack()); got != r {
			t.Errorf("unpackReport(%q) = %+v, want %+v", r.pack(), got, r)
		}
	}
	for _, damaged := range []string{"", "1", "1 rule", "1 rule x", "1 rule x y\nz"} {
		if got := unpackReport(7, damaged); got.Rule.String() != "" {
			t.Errorf("unpackReport(%q) has the rule %v, want none", damaged, got.Rule)
		}
	}
}

// Oldest returns the time of the earliest report. Others returns the other cases about a person and
// about the person's posts.
func TestOtherCases(t *testing.T) {
	t.Parallel()
	s, ctx := store(t, redistest.DB(t).Client(t)), t.Context()
	if at, err := s.Oldest(ctx); err != nil || !at.IsZero() {
		t.Errorf("Oldest without cases = %v, %v; want the zero time", at, err)
	}
	first := time.Now().Add(-time.Hour).Truncate(time.Millisecond).UTC()
	for i, n := range []newReport{{target: "post:1", about: 7}, {target: "user:8", about: 8}, {target: "user:7", about: 7}, {target: "post:2", about: 7}} {
		n.report = storedReport{By: 3, Time: first.Add(time.Duration(i) * time.Minute), Reason: Reason{Kind: "spam"}}
		if _, err := s.Add(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := s.Oldest(ctx); err != nil || !at.Equal(first) {
		t.Errorf("Oldest = %v, %v; want %v", at, err, first)
	}
	others, err := s.Others(ctx, 7, "user:7")
	if err != nil || len(others) != 2 || others[0].Target != "post:1" || others[1].Target != "post:2" || !others[0].Since.Equal(first) {
		t.Errorf("Others = %+v, %v; want post:1 and post:2", others, err)
	}
}
