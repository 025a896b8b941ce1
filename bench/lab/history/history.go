// Package history records the operations of simulated people on a site, the pages they saw, and the
// faults that were injected.
package history

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Kind is the kind of an operation.
type Kind string

// The kinds of operations: writes, then reads.
const (
	Post     Kind = "post"
	Reply    Kind = "reply"
	Delete   Kind = "delete"
	Follow   Kind = "follow"
	Unfollow Kind = "unfollow"
	Block    Kind = "block"
	Unblock  Kind = "unblock"
	Like     Kind = "like"
	Unlike   Kind = "unlike"
	LogIn    Kind = "log-in"
	LogOut   Kind = "log-out"

	Home     Kind = "home"
	Profile  Kind = "profile"
	Timeline Kind = "timeline"
	Thread   Kind = "thread"
	Replies  Kind = "replies" // all replies by a person
	Session  Kind = "session" // whether a session is open
)

// Outcome is the outcome of an operation.
type Outcome string

const (
	// OK is an acknowledged write, or a page.
	OK Outcome = "ok"
	// Refused is a response that guarantees that nothing was written.
	Refused Outcome = "refused"
	// Unknown is an error or a missing response: a write may take effect, now or later.
	Unknown Outcome = "unknown"
)

// Seen is a post on a page.
type Seen struct {
	ID     int64  `json:"id"`
	Text   string `json:"text"`
	Author string `json:"author"`
	Liked  bool   `json:"liked,omitempty"` // by the viewer
	Likes  int    `json:"likes,omitempty"`
	Reply  bool   `json:"reply,omitempty"`
	Moved  bool   `json:"moved,omitempty"` // shown above a reply to it, at the position of the reply
}

// Op is an operation of a person. A person performs one operation at a time. Times are relative to
// the start of the run.
type Op struct {
	Person  string        `json:"person"`
	Kind    Kind          `json:"kind"`
	Process int           `json:"process"`
	Start   time.Duration `json:"start"`
	End     time.Duration `json:"end"`
	Outcome Outcome       `json:"outcome"`
	Detail  string        `json:"detail,omitempty"` // the reason for an outcome other than OK
	Fresh   bool          `json:"fresh,omitempty"`  // the request had the cookie for fresh reads

	Other   string `json:"other,omitempty"`   // the person that the operation is about
	Text    string `json:"text,omitempty"`    // the post that the operation is about; texts are unique
	Parent  string `json:"parent,omitempty"`  // for replies: the text of the parent post
	Session int    `json:"session,omitempty"` // for log-ins, log-outs and Session: the number of the session

	Seen      []Seen `json:"seen,omitempty"`
	Complete  bool   `json:"complete,omitempty"`  // the list has no further page
	Folded    bool   `json:"folded,omitempty"`    // the list omits replies of a conversation that it shows
	Signed    bool   `json:"signed,omitempty"`    // the page was for a logged-in user
	Following bool   `json:"following,omitempty"` // for Profile: the page has a button to unfollow
	Final     bool   `json:"final,omitempty"`     // read at the end, after the site had become quiet
}

// Fault is a fault of the site.
type Fault struct {
	Kind   string        `json:"kind"`
	Target string        `json:"target,omitempty"`
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"` // when the site was healthy again
	// Data reports whether Redis itself was disturbed: reads may come from a replaced master.
	Data bool `json:"data,omitempty"`
	// RiskFrom and RiskTo are the interval in which Redis may have lost acknowledged writes. Both
	// are 0 if there is none.
	RiskFrom time.Duration `json:"risk_from,omitempty"`
	RiskTo   time.Duration `json:"risk_to,omitempty"`
	// Killed is the number of the killed web process, starting at 1, or 0.
	Killed int `json:"killed,omitempty"`
}

// History is the history of a run.
type History struct {
	Ops    []Op
	Faults []Fault
}

// Recorder collects the history of a run.
type Recorder struct {
	began time.Time
	mu    sync.Mutex
	h     History
}

// NewRecorder starts a history.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

// Now returns the time since the start of the run.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Op adds a completed operation.
func (r *Recorder) Op(op Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Ops = append(r.h.Ops, op)
}

// Len returns the number of operations so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.h.Ops)
}

// Fault adds a fault that has ended.
func (r *Recorder) Fault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Faults = append(r.h.Faults, f)
}

// History returns a copy of the history so far.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return History{Ops: append([]Op(nil), r.h.Ops...), Faults: append([]Fault(nil), r.h.Faults...)}
}

// Write writes the history to a file.
func (h History) Write(path string) error {
	text, err := json.MarshalIndent(h, "", " ")
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return os.WriteFile(path, text, 0o600)
}

// Read reads a file that was written by Write.
func Read(path string) (h History, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return h, fmt.Errorf("read the history: %w", err)
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("read the history: %s: %w", path, err)
	}
	return h, nil
}
