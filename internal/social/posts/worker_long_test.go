//go:build long

package posts_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// startWorker starts a process that runs background jobs.
func startWorker(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), workerEnv+"="+url)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	return program
}

// If a worker is killed in the middle of a segment, another worker finishes the segment, and each
// follower has the post once.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	b := on(t, server.Client(t), noJobs)
	const followers = 130_000
	author := b.NewUser("author")
	b.addFans(author, followers)
	post := b.Publish(author, "to all of you")
	if n := b.Redis("ZCARD", "tasks"); n != "2" {
		t.Fatalf("%s segments are queued, want 2", n)
	}
	first := startWorker(t, server.URL())
	// Segments begin with the latest follower, so this follower is in the middle of the first
	// segment.
	middle := fmt.Sprintf("posts:%d", 1001+followers-50_000)
	b.Eventually("the middle of a segment", func() bool { return b.Redis("EXISTS", middle) == "1" })
	_ = first.Process.Kill()
	_ = first.Wait()
	if b.countMissing(followers, post) < 30_000 {
		t.Fatal("the worker was killed too late, so the test proves nothing")
	}
	killed := time.Now()
	startWorker(t, server.URL())
	b.Eventually("the other process to finish", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if missing := b.countMissing(followers, post); missing > 0 {
		t.Errorf("%d followers do not have the post", missing)
	}
	for uid := 1001; uid < 1001+followers; uid += 997 {
		if n := b.Redis("LLEN", fmt.Sprintf("posts:%d", uid)); n != "1" {
			t.Fatalf("user %d has %s posts, want 1", uid, n)
		}
	}
	t.Logf("%d followers had the post %v after a worker was killed", followers, time.Since(killed).Round(100*time.Millisecond))
}
