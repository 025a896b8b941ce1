//go:build long

package adopt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
)

// site2009 is a random database of 2009, damaged in places, and its content as the
// article defines it.
type site2009 struct {
	commands [][]string
	names    map[int64]string // of users who can be shown
	posts    map[int64][3]string
	follows  map[[2]int64]bool
	homes    map[int64][]int64
	timeline []int64
}

func draw2009(t *rapid.T) *site2009 {
	s := &site2009{names: map[int64]string{}, posts: map[int64][3]string{}, follows: map[[2]int64]bool{}, homes: map[int64][]int64{}}
	add := func(command ...string) { s.commands = append(s.commands, command) }
	const users, posts = 8, 30
	add("SET", "global:nextUserId", "8")
	for uid := int64(1); uid <= users; uid++ {
		key := fmt.Sprintf("uid:%d:", uid)
		name := fmt.Sprintf("%s%d", rapid.StringMatching(`[a-zA-Z _.é]{1,6}`).Draw(t, "name"), uid)
		switch rapid.IntRange(0, 9).Draw(t, "kind of user") {
		case 0: // nobody
		case 1:
			add("SET", key+"password", "without a name")
		case 2:
			add("SET", key+"username", "\x00")
		default:
			s.names[uid] = name
			add("SET", key+"username", name)
			add("SET", key+"password", "pw"+name)
			add("SET", "username:"+name+":"+rapid.SampledFrom([]string{"uid", "id", "none"}).Draw(t, "index"), strconv.FormatInt(uid, 10))
		}
	}
	for pid := int64(1); pid <= posts; pid++ {
		key := fmt.Sprintf("post:%d", pid)
		author := rapid.Int64Range(1, users).Draw(t, "author")
		body := rapid.StringMatching(`[a-z| ]{0,12}`).Draw(t, "body")
		when := fmt.Sprint(1_258_000_000 + pid)
		switch rapid.IntRange(0, 11).Draw(t, "kind of post") {
		case 0: // gone
		case 1:
			add("SET", key, "damaged")
		case 2:
			add("SET", key, fmt.Sprintf("%d|soon|%s", author, body))
		default:
			add("SET", key, fmt.Sprintf("%d|%s|%s", author, when, body))
			if s.names[author] != "" {
				s.posts[pid] = [3]string{strconv.FormatInt(author, 10), when, body}
			}
		}
	}
	list := func(key, label string) []int64 {
		ids := rapid.SliceOfN(rapid.Int64Range(1, posts+2), 0, 20).Draw(t, label)
		var seen []int64
		for _, id := range ids {
			add("RPUSH", key, strconv.FormatInt(id, 10))
			if _, ok := s.posts[id]; ok {
				seen = append(seen, id)
			}
		}
		slices.Sort(seen)
		seen = slices.Compact(seen)
		slices.Reverse(seen)
		return seen
	}
	for uid := int64(1); uid <= users; uid++ {
		if ids := list(fmt.Sprintf("uid:%d:posts", uid), "home"); s.names[uid] != "" {
			s.homes[uid] = ids
		}
		for _, other := range rapid.SliceOfN(rapid.Int64Range(1, users+1), 0, 6).Draw(t, "follows") {
			sides := rapid.IntRange(1, 3).Draw(t, "sides")
			if sides != 1 {
				add("SADD", fmt.Sprintf("uid:%d:following", uid), strconv.FormatInt(other, 10))
			}
			if sides != 2 {
				add("SADD", fmt.Sprintf("uid:%d:followers", other), strconv.FormatInt(uid, 10))
			}
			if uid != other && s.names[uid] != "" && s.names[other] != "" {
				s.follows[[2]int64{uid, other}] = true
			}
		}
	}
	s.timeline = list("global:timeline", "timeline")
	return s
}

// Random databases, converted with interruptions, have the content that the
// article's programs would have shown.
func TestAdopt2009Model(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	rapid.Check(t, func(rt *rapid.T) {
		b := on(t, client)
		defer b.Close()
		site := draw2009(rt)
		cmds := rueidis.Commands{b.DB.B().Flushdb().Build()}
		for _, command := range site.commands {
			cmds = append(cmds, b.DB.B().Arbitrary(command...).Build())
		}
		for _, res := range b.DB.DoMulti(b.Ctx, cmds...) {
			if err := res.Error(); err != nil {
				rt.Fatal(err)
			}
		}
		for range rapid.IntRange(0, 4).Draw(rt, "interruptions") {
			ctx, cancel := context.WithTimeout(b.Ctx, time.Duration(rapid.IntRange(50, 4000).Draw(rt, "microseconds"))*time.Microsecond)
			_ = b.Adoption().Adopt(ctx, nil)
			cancel()
		}
		if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
			rt.Fatal(err)
		}
		site.compare(rt, b)
	})
}

func (s *site2009) compare(t *rapid.T, b *bundle) {
	for uid := int64(1); uid <= 10; uid++ {
		name := s.names[uid]
		if got := b.Redis("HGET", fmt.Sprintf("user:%d", uid), "username"); got != name {
			t.Errorf("user %d is %q, want %q", uid, got, name)
		}
		if name == "" {
			continue
		}
		if got := b.Redis("HGET", fmt.Sprintf("user:%d", uid), "password"); got != "pw"+name {
			t.Errorf("the password of %d is %q", uid, got)
		}
		if user, err := b.Users.UserByName(b.Ctx, name); err != nil || user.ID != uid {
			t.Errorf("%q is %+v (%v), want user %d", name, user, err, uid)
		}
		if home, err := b.Timelines.Home(b.Ctx, uid, 0, 50); err != nil || !slices.Equal(home.IDs, s.homes[uid]) {
			t.Errorf("home of %d = %v (%v), want %v", uid, home.IDs, err, s.homes[uid])
		}
		var own []int64
		for pid, post := range s.posts {
			if post[0] == strconv.FormatInt(uid, 10) {
				own = append(own, pid)
			}
		}
		slices.Sort(own)
		slices.Reverse(own)
		if profile, err := b.Timelines.Profile(b.Ctx, uid, 0, 50); err != nil || !slices.Equal(profile.IDs, own) {
			t.Errorf("profile of %d = %v (%v), want %v", uid, profile.IDs, err, own)
		}
	}
	for from := int64(1); from <= 10; from++ {
		for to := int64(1); to <= 10; to++ {
			want := s.follows[[2]int64{from, to}]
			if got, err := b.Follows.IsFollowing(b.Ctx, from, to); err != nil || got != want {
				t.Errorf("%d follows %d: %t (%v), want %t", from, to, got, err, want)
			}
			if got := b.Redis("ZSCORE", fmt.Sprintf("followers:%d", to), strconv.FormatInt(from, 10)) != ""; got != want {
				t.Errorf("%d is followed by %d: %t, want %t", to, from, got, want)
			}
		}
	}
	if all, err := b.Timelines.Everybody(b.Ctx, 0, 50); err != nil || !slices.Equal(all.IDs, s.timeline) {
		t.Errorf("timeline = %v (%v), want %v", all.IDs, err, s.timeline)
	}
	for pid, post := range s.posts {
		if got := b.Redis("HMGET", fmt.Sprintf("post:%d", pid), "user_id", "time", "body"); got != strings.Join(post[:], " ") {
			t.Errorf("post %d = %q, want %q", pid, got, post)
		}
	}
}

// Two processes convert at once and are killed repeatedly, a little later each
// time: in the end everything is converted.
func TestKilledWhileAdopting2009(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	b := on(t, server.Client(t))
	article(b)
	const posts = 4000
	var filler rueidis.Commands
	for i := range posts {
		filler = append(filler, b.DB.B().Set().Key(fmt.Sprintf("post:%d", 20000+i)).Value(fmt.Sprintf("1000|1258000000|filler %d", i)).Build())
	}
	for uid := 2000; uid < 3000; uid++ {
		filler = append(filler,
			b.DB.B().Set().Key(fmt.Sprintf("uid:%d:username", uid)).Value(fmt.Sprintf("user%d", uid)).Build(),
			b.DB.B().Sadd().Key(fmt.Sprintf("uid:%d:following", uid)).Member("1000").Build(),
			b.DB.B().Sadd().Key("uid:1000:followers").Member(strconv.Itoa(uid)).Build())
	}
	for _, res := range b.DB.DoMulti(b.Ctx, filler...) {
		if err := res.Error(); err != nil {
			t.Fatal(err)
		}
	}
	finished := false
	for steps := 1; !finished; steps += 4 {
		finished = killedAfter(t, server.URL(), steps)
	}
	if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
		t.Error(err)
	}
	b.wantArticle()
	result := b.WantHealthy()
	if result.Posts != posts+2 || result.Users != 1002 || result.Follows != 1001 {
		t.Errorf("check = %+v", result)
	}
	for i := range posts {
		if got := b.Redis("HGET", fmt.Sprintf("post:%d", 20000+i), "body"); got != fmt.Sprintf("filler %d", i) {
			t.Fatalf("post %d = %q", 20000+i, got)
		}
		if got := b.Redis("GET", fmt.Sprintf("legacy:post:%d", 20000+i)); got != fmt.Sprintf("1000|1258000000|filler %d", i) {
			t.Fatalf("the string of post %d = %q", 20000+i, got)
		}
	}
}

// killedAfter runs two adopters and kills each after some steps. It reports
// whether one of them finished.
func killedAfter(t *testing.T, url string, steps int) (finished bool) {
	t.Helper()
	var programs []*exec.Cmd
	var lines []*bufio.Scanner
	for range 2 {
		program := exec.CommandContext(t.Context(), os.Args[0])
		program.Env = append(os.Environ(), adopterEnv+"="+url)
		out, err := program.StdoutPipe()
		if err == nil {
			err = program.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		programs, lines = append(programs, program), append(lines, bufio.NewScanner(out))
	}
	for i, program := range programs {
		for range steps {
			if !lines[i].Scan() {
				break
			}
			finished = finished || lines[i].Text() == "done"
		}
		_ = program.Process.Kill()
		err := program.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if exit != nil && exit.ExitCode() > 0 {
			t.Fatalf("an adopter failed: %v", err)
		}
	}
	return finished
}
