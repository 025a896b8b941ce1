package work

import "time"

// PollEveryHour makes an engine that has not been started poll for tasks once an hour.
func (e *Engine) PollEveryHour() { e.poll = time.Hour }

// NoPatience makes an engine treat a write as kept by the master alone as soon as replicas fail to
// acknowledge once.
func (e *Engine) NoPatience() { e.fence.patient = 0 }
