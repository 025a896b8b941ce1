// Package history records what simulated people did on a site, what they saw, and which
// faults the site had meanwhile.
package history

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Kind is what a person did.
type Kind string

// The kinds of operations. The first group changes something.
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
	Replies  Kind = "replies" // all replies of a person
	Session  Kind = "session" // whether a session is open
)

// Outcome is what the answer to an operation says.
type Outcome string

const (
	// OK is an acknowledged write, or a page.
	OK Outcome = "ok"
	// Refused is an answer that says that nothing was done.
	Refused Outcome = "refused"
	// Unknown is an error or no answer: a write may be done, now or later.
	Unknown Outcome = "unknown"
)

// Seen is a post on a page.
type Seen struct {
	ID     int64  `json:"id"`
	Text   string `json:"text"`
	Author string `json:"author"`
	Liked  bool   `json:"liked,omitempty"` // by the person who looks
	Likes  int    `json:"likes,omitempty"`
	Reply  bool   `json:"reply,omitempty"`
	Moved  bool   `json:"moved,omitempty"` // above a reply to it, which has this place on the page
}

// Op is one operation of one person. A person does one after the other. Times count from
// the beginning of the run.
type Op struct {
	Person  string        `json:"person"`
	Kind    Kind          `json:"kind"`
	Process int           `json:"process"`
	Start   time.Duration `json:"start"`
	End     time.Duration `json:"end"`
	Outcome Outcome       `json:"outcome"`
	Detail  string        `json:"detail,omitempty"` // of an outcome that is not ok
	Fresh   bool          `json:"fresh,omitempty"`  // the request had the cookie for fresh reads

	Other   string `json:"other,omitempty"`   // the person that it is about
	Text    string `json:"text,omitempty"`    // the post that it is about: each has a different text
	Parent  string `json:"parent,omitempty"`  // of a reply: the text that it replies to
	Session int    `json:"session,omitempty"` // of log-ins, log-outs and Session: which one

	Seen      []Seen `json:"seen,omitempty"`
	Complete  bool   `json:"complete,omitempty"`  // the list has no further page
	Folded    bool   `json:"folded,omitempty"`    // the list leaves out replies of a conversation that it shows
	Signed    bool   `json:"signed,omitempty"`    // the page was for a session
	Following bool   `json:"following,omitempty"` // of Profile: it has a button to unfollow
	Final     bool   `json:"final,omitempty"`     // read in the end, when the site had long been quiet
}

// Fault is something that was done to the site.
type Fault struct {
	Kind   string        `json:"kind"`
	Target string        `json:"target,omitempty"`
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"` // when the site was whole again
	// Data says that Redis itself was disturbed: reads may come from a master that was
	// replaced.
	Data bool `json:"data,omitempty"`
	// RiskFrom and RiskTo bound the writes that Redis may have lost although it
	// acknowledged them; both 0: none.
	RiskFrom time.Duration `json:"risk_from,omitempty"`
	RiskTo   time.Duration `json:"risk_to,omitempty"`
	// Killed is the web process that was killed, counted from 1; 0: none.
	Killed int `json:"killed,omitempty"`
}

// History is a whole run.
type History struct {
	Ops    []Op
	Faults []Fault
}

// Recorder collects a history while it happens.
type Recorder struct {
	began time.Time
	mu    sync.Mutex
	h     History
}

// NewRecorder begins a history.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

// Now is the time since the beginning.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Op adds an operation that ended.
func (r *Recorder) Op(op Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Ops = append(r.h.Ops, op)
}

// Len is the number of operations until now.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.h.Ops)
}

// Fault adds a fault that ended.
func (r *Recorder) Fault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Faults = append(r.h.Faults, f)
}

// History returns what is recorded until now.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return History{Ops: append([]Op(nil), r.h.Ops...), Faults: append([]Fault(nil), r.h.Faults...)}
}

// Write writes a history to a file.
func (h History) Write(path string) error {
	text, err := json.MarshalIndent(h, "", " ")
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return os.WriteFile(path, text, 0o600)
}

// Read reads a file that Write has written.
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
