package work

import "time"

// PollEveryHour makes an engine that is about to start look for tasks once an hour.
func (e *Engine) PollEveryHour() { e.poll = time.Hour }

// NoPatience makes an engine take what replicas have not acknowledged once as kept by the master alone.
func (e *Engine) NoPatience() { e.fence.patient = 0 }
